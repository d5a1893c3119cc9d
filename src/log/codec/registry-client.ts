// HTTP to a Confluent-compatible schema registry: one request at a time, tried again while the failure is of
// the kind that passes (no connection, no answer in time, 408, 429, 5xx). Knows no schemas.

import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "../../runtime/clock.ts";
import { ForecastnetError } from "../../runtime/errors.ts";

export interface RegistrySettings {
  readonly url: string;
  /** Read for every request: a getter may give what is new. */
  readonly credentials: { readonly username: string; readonly password: string } | null;
  /** How long one try may take. */
  readonly timeoutMs: number;
  /** How long to keep trying while the registry cannot be reached; Infinity to wait for it. */
  readonly patienceMs: number;
  /** The first pause between tries; each next one is twice as long, up to `maxBackoffMs`. */
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

export interface RegistryAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export class RegistryClient {
  readonly #settings: RegistrySettings;
  readonly #clock: Clock;
  readonly #closed = new AbortController();
  #outage: string | null = null;

  constructor(settings: RegistrySettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
  }

  /** Null while the registry answers; otherwise why it does not. */
  get outage(): string | null {
    return this.#outage;
  }

  /** Ends every wait; whoever waits gets REGISTRY_UNREACHABLE. */
  close(): void {
    this.#closed.abort(new Error("the registry client was closed"));
  }

  /** Resolves with the first answer that is final, good or bad. */
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

  /** One try. A failure that may pass is returned, so that the caller can weigh it. */
  async #try(method: string, path: string, payload: unknown): Promise<RegistryAnswer | Error> {
    const json = { "content-type": "application/vnd.schemaregistry.v1+json" };
    try {
      const response = await fetch(`${this.#settings.url.replace(/\/+$/, "")}${path}`, {
        method,
        headers: payload === undefined ? this.#headers() : { ...this.#headers(), ...json },
        ...(payload === undefined ? {} : { body: JSON.stringify(payload) }),
        signal: AbortSignal.any([this.#closed.signal, AbortSignal.timeout(this.#settings.timeoutMs)]),
      });
      const text = await response.text();
      const { status } = response;
      if (status === 408 || status === 429 || status >= 500) return new Error(`it answered ${status}`);
      return { status, body: parseObject(text) };
    } catch (error) {
      // fetch says only "fetch failed"; its cause says what did.
      const { message, cause } = error as Error;
      return new Error(cause instanceof Error ? cause.message || cause.name : message, { cause: error });
    }
  }

  async #pause(ms: number): Promise<void> {
    try {
      await delay(ms, undefined, { signal: this.#closed.signal });
    } catch (error) {
      if (!this.#closed.signal.aborted) throw error;
      // Closed: the next try fails at once and ends the request.
    }
  }
}

/** An answer that is not a JSON object tells as much as an empty one. */
function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === "object" && body !== null ? { ...body } : {};
  } catch {
    return { message: text.slice(0, 200) };
  }
}
