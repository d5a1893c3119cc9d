// The schemas of a Confluent-compatible registry by id, and the HTTP client that fetches them. We do not use the
// client made for kafkajs: it decodes one record per promise, and its current release needs Node 22. Decoding here is
// synchronous: `load` fetches the schemas of a batch in advance, and `get` answers from memory.

import { setTimeout as delay } from "node:timers/promises";
import { type Clock, systemClock } from "../../runtime/clock.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import { sendHttp } from "../../runtime/http-request.ts";
import type { AvroSchema } from "./avro-schema.ts";

/** Length of the Confluent frame: the magic byte 0 and the schema id. */
export const confluentHeaderBytes = 5;

/** The Confluent format needs a registry; the cross-field rules of the configuration guarantee one. */
export function requireRegistry(registry: SchemaRegistry | null): SchemaRegistry {
  if (registry === null) throw new Error("the format confluent needs a schema registry: set registry.url");
  return registry;
}

/** What the registry has under an id: a schema, or why we cannot use it. */
type RegisteredSchema = { readonly schema: AvroSchema } | { readonly schema: null; readonly problem: string };

/** When a missing schema is requested again: it may be registered just after its first record. */
const missingForMs = 60_000;
const maxRequestsAtOnce = 8;
/** The registry's code for an unknown id. Any other 404 means that the URL is wrong. */
const schemaNotFound = 40403;

export class SchemaRegistry {
  readonly #client: RegistryClient;
  readonly #clock: Clock;
  readonly #schemaById = new Map<number, RegisteredSchema>();
  /** When to request a missing id again; oldest first, because all wait equally long. */
  readonly #askAgainMsById = new Map<number, number>();
  readonly #loadById = new Map<number, Promise<void>>();

  constructor(settings: RegistrySettings, clock: Clock = systemClock) {
    this.#client = new RegistryClient(settings, clock);
    this.#clock = clock;
  }

  /** Why the registry does not answer; null while it does. */
  get outage(): string | null {
    return this.#client.outage;
  }

  /** Ends every wait with REGISTRY_UNREACHABLE. */
  close(): void {
    this.#client.close();
  }

  /** Whether `get` has an answer that is recent enough. */
  has(id: number): boolean {
    if (!this.#schemaById.has(id)) return false;
    const askAgainMs = this.#askAgainMsById.get(id);
    return askAgainMs === undefined || this.#clock.nowMs() < askAgainMs;
  }

  /** The result of `load` for the id. */
  get(id: number): RegisteredSchema {
    const found = this.#schemaById.get(id);
    if (found === undefined) throw new Error(`schema ${id} was not loaded: await prepare() before decode()`);
    return found;
  }

  /** Fetches these schemas, never the same one twice at a time. Rejects with REGISTRY_UNREACHABLE. */
  async load(ids: Iterable<number>): Promise<void> {
    this.#forgetMissing();
    const queue = [...ids];
    while (queue.length > 0) {
      await Promise.all(queue.splice(0, maxRequestsAtOnce).map((id) => this.#loadOnce(id)));
    }
  }

  /** Registers a schema under a subject unless it is registered already. Returns its id. */
  async register(subject: string, schema: AvroSchema): Promise<number> {
    const path = `/subjects/${encodeURIComponent(subject)}/versions`;
    const answer = await this.#client.request("POST", path, { schema: JSON.stringify(schema) });
    const { id } = answer.body;
    if (answer.status >= 300 || typeof id !== "number") throw this.#refusal("POST", path, answer);
    return id;
  }

  /** Bounds the memory that forged ids can use. */
  #forgetMissing(): void {
    const nowMs = this.#clock.nowMs();
    for (const [id, askAgainMs] of this.#askAgainMsById) {
      if (askAgainMs > nowMs) return;
      this.#askAgainMsById.delete(id);
      this.#schemaById.delete(id);
    }
  }

  #loadOnce(id: number): Promise<void> {
    const underway = this.#loadById.get(id);
    if (underway !== undefined) return underway;
    const load = this.#fetchSchema(id).finally(() => this.#loadById.delete(id));
    this.#loadById.set(id, load);
    return load;
  }

  async #fetchSchema(id: number): Promise<void> {
    const path = `/schemas/ids/${id}`;
    const answer = await this.#client.request("GET", path);
    if (answer.status === 404 && answer.body.error_code === schemaNotFound) {
      this.#askAgainMsById.set(id, this.#clock.nowMs() + missingForMs);
      this.#schemaById.set(id, { schema: null, problem: `the registry knows no schema ${id}` });
      return;
    }
    if (answer.status >= 300) throw this.#refusal("GET", path, answer);
    this.#schemaById.set(id, readSchema(id, answer.body));
  }

  #refusal(method: string, path: string, { status, body }: RegistryAnswer): Error {
    const why = `it answered ${status}: ${JSON.stringify(body.message ?? body)}`;
    return this.#client.failure("REGISTRY_REFUSED", `${method} ${path}`, why);
  }
}

function readSchema(id: number, body: RegistryAnswer["body"]): RegisteredSchema {
  const { schema, schemaType = "AVRO", references = [] } = body;
  if (schemaType !== "AVRO") return { schema: null, problem: `schema ${id} is ${schemaType}, not Avro` };
  if (Array.isArray(references) && references.length > 0) {
    return { schema: null, problem: `schema ${id} refers to other subjects, which is not supported` };
  }
  try {
    return { schema: JSON.parse(String(schema)) as AvroSchema };
  } catch (error) {
    return { schema: null, problem: `schema ${id} is not JSON: ${(error as Error).message}` };
  }
}

export interface RegistrySettings {
  readonly url: string;
  /** Read for every request, so a getter can supply rotated secrets. */
  readonly credentials: { readonly username: string; readonly password: string } | null;
  /** Certificate authority (PEM), if the system does not trust it. Read for every request, too. */
  readonly ca?: string | undefined;
  /** Timeout of one attempt. */
  readonly timeoutMs: number;
  /** How long to retry while the registry cannot be reached; Infinity to wait forever. */
  readonly patienceMs: number;
  /** The first pause between attempts. Each further pause is twice as long, up to `maxBackoffMs`. */
  readonly initialBackoffMs: number;
  readonly maxBackoffMs: number;
}

export const defaultRegistrySettings: Omit<RegistrySettings, "url"> = {
  credentials: null,
  timeoutMs: 10_000,
  patienceMs: 60_000,
  initialBackoffMs: 100,
  maxBackoffMs: 5_000,
};

interface RegistryAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** HTTP to the registry. Retries failures that a retry may fix: no connection, a timeout, 408, 429, 5xx. */
class RegistryClient {
  readonly #settings: RegistrySettings;
  readonly #clock: Clock;
  readonly #closed = new AbortController();
  #outage: string | null = null;

  constructor(settings: RegistrySettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
  }

  /** Why the registry does not answer; null while it does. */
  get outage(): string | null {
    return this.#outage;
  }

  /** Ends every wait with REGISTRY_UNREACHABLE. */
  close(): void {
    this.#closed.abort(new Error("the registry client was closed"));
  }

  /** Resolves with the first answer that a retry would not change, good or bad. */
  async request(method: "GET" | "POST", path: string, payload?: unknown): Promise<RegistryAnswer> {
    const giveUpMs = this.#clock.nowMs() + this.#settings.patienceMs;
    for (let pauseMs = this.#settings.initialBackoffMs; ; pauseMs *= 2) {
      const outcome = await this.#try(method, path, payload);
      if (!(outcome instanceof Error)) {
        this.#outage = null;
        return outcome;
      }
      this.#outage = outcome.message;
      if (this.#closed.signal.aborted || this.#clock.nowMs() >= giveUpMs) {
        throw this.failure("REGISTRY_UNREACHABLE", `${method} ${path}`, outcome.message, outcome);
      }
      await this.#pause(Math.min(pauseMs, this.#settings.maxBackoffMs));
    }
  }

  failure(
    code: "REGISTRY_UNREACHABLE" | "REGISTRY_REFUSED",
    request: string,
    why: string,
    cause?: unknown,
  ): ForecastnetError {
    const message = `schema registry ${this.#settings.url}: ${request} failed: ${why}`;
    return new ForecastnetError(code, message, { cause });
  }

  #headers(): Record<string, string> {
    const accept = "application/vnd.schemaregistry.v1+json, application/json";
    if (this.#settings.credentials === null) return { accept };
    const { username, password } = this.#settings.credentials;
    return { accept, authorization: `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}` };
  }

  /** One attempt. Returns a failure that a retry may fix. */
  async #try(method: "GET" | "POST", path: string, payload: unknown): Promise<RegistryAnswer | Error> {
    const json = { "content-type": "application/vnd.schemaregistry.v1+json" };
    try {
      const { status, body } = await sendHttp({
        method,
        url: `${this.#settings.url.replace(/\/+$/, "")}${path}`,
        headers: payload === undefined ? this.#headers() : { ...this.#headers(), ...json },
        ...(payload === undefined ? {} : { body: JSON.stringify(payload) }),
        ca: this.#settings.ca,
        timeoutMs: this.#settings.timeoutMs,
        signal: this.#closed.signal,
      });
      if (status === 408 || status === 429 || status >= 500) return new Error(`it answered ${status}`);
      return { status, body: parseObject(body) };
    } catch (error) {
      return error as Error;
    }
  }

  async #pause(ms: number): Promise<void> {
    try {
      await delay(ms, undefined, { signal: this.#closed.signal });
    } catch (error) {
      if (!this.#closed.signal.aborted) throw error;
      // If closed, the next attempt fails at once and ends the request.
    }
  }
}

/** An answer that is not a JSON object counts as empty. */
function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === "object" && body !== null ? { ...body } : {};
  } catch {
    return { message: text.slice(0, 200) };
  }
}
