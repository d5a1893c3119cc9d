// The schemas of a Confluent-compatible registry, by id. Our own because the client made for kafkajs decodes
// one record per promise and its current release needs Node 22. Decoding here is synchronous: `load` fetches
// the schemas of a batch beforehand, `get` answers from memory.

import { type Clock, systemClock } from "../../runtime/clock.ts";
import type { AvroSchema } from "./avro-schema.ts";
import { type RegistryAnswer, RegistryClient, type RegistrySettings } from "./registry-client.ts";

/** What the registry holds under an id: a schema, or why it is of no use to us. */
export type RegisteredSchema =
  | { readonly schema: AvroSchema }
  | { readonly schema: null; readonly problem: string };

/** A missing schema is asked for again after this: it may be registered just after its first record. */
const missingForMs = 60_000;
const maxRequestsAtOnce = 8;
/** The registry's code for an id it does not know. Any other 404 means that the URL is wrong. */
const schemaNotFound = 40403;

export class SchemaRegistry {
  readonly #client: RegistryClient;
  readonly #clock: Clock;
  readonly #schemaById = new Map<number, RegisteredSchema>();
  /** When to ask again for a missing id; oldest first, because all wait equally long. */
  readonly #askAgainMsById = new Map<number, number>();
  readonly #loadById = new Map<number, Promise<void>>();

  constructor(settings: RegistrySettings, clock: Clock = systemClock) {
    this.#client = new RegistryClient(settings, clock);
    this.#clock = clock;
  }

  /** Null while the registry answers; otherwise why it does not. */
  get outage(): string | null {
    return this.#client.outage;
  }

  /** Ends every wait; whoever waits gets REGISTRY_UNREACHABLE. */
  close(): void {
    this.#client.close();
  }

  /** Whether `get` can answer, and the answer is fresh enough. */
  has(id: number): boolean {
    if (!this.#schemaById.has(id)) return false;
    const askAgainMs = this.#askAgainMsById.get(id);
    return askAgainMs === undefined || this.#clock.nowMs() < askAgainMs;
  }

  /** What `load` found under the id. */
  get(id: number): RegisteredSchema {
    const found = this.#schemaById.get(id);
    if (found === undefined) throw new Error(`schema ${id} was not loaded: await prepare() before decode()`);
    return found;
  }

  /** Fetches these schemas, each with one request at a time. Rejects with REGISTRY_UNREACHABLE. */
  async load(ids: Iterable<number>): Promise<void> {
    this.#forgetMissing();
    const queue = [...ids];
    while (queue.length > 0) {
      await Promise.all(queue.splice(0, maxRequestsAtOnce).map((id) => this.#loadOnce(id)));
    }
  }

  /** Registers a schema under a subject, or finds it there, and returns its id. */
  async register(subject: string, schema: AvroSchema): Promise<number> {
    const path = `/subjects/${encodeURIComponent(subject)}/versions`;
    const answer = await this.#client.request("POST", path, { schema: JSON.stringify(schema) });
    const { id } = answer.body;
    if (answer.status >= 300 || typeof id !== "number") throw this.#refusal("POST", path, answer);
    return id;
  }

  /** Bounds the memory that forged ids can take. */
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
