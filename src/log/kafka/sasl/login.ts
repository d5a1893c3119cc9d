// Logs in to a cluster: with a password, which the client does by itself, or with a bearer token (SASL/OAUTHBEARER,
// RFC 7628), which we do over the client's connection. The client's own OAUTHBEARER takes a refusal for a success: the
// broker refuses a token with a JSON text in an answer without an error code and expects one byte in return before it
// reports the failure. The client reads neither and only sees the connection close.

import type { KafkaConfig } from "kafkajs";
import kafkajs, { type AuthenticationProviderArgs, type Authenticator } from "kafkajs";
import type { Clock } from "../../../runtime/clock.ts";

interface PasswordLogin {
  readonly mechanism: "plain" | "scram-sha-256" | "scram-sha-512";
  readonly username: string;
  readonly password: string;
}

export type KafkaLogin = PasswordLogin | BearerLogin;

/** The login in kafkajs' form. */
export function clientLogin(login: KafkaLogin): NonNullable<KafkaConfig["sasl"]> {
  if (login.mechanism !== "oauthbearer") return login as NonNullable<KafkaConfig["sasl"]>;
  return { mechanism: login.mechanism, authenticationProvider: bearerAuthentication(login) };
}

export interface BearerLogin {
  readonly mechanism: "oauthbearer";
  /** Called for every connection and every renewal of a session. Throws a LoginFailure. */
  token(): Promise<string>;
  /** Called when the broker refused a token. Returns whether another token may be accepted. */
  refused(): boolean;
  /** SASL extensions sent with the token. */
  readonly extensions: Readonly<Record<string, string>>;
}

/** Separates and ends the fields of RFC 7628. Sent alone, it answers a refusal. */
const separator = "\x01";

export function bearerAuthentication(
  login: BearerLogin,
): (args: AuthenticationProviderArgs) => Authenticator {
  return ({ host, port, saslAuthenticate }) => ({
    async authenticate() {
      const broker = `${host}:${port}`;
      const token = await login.token().catch((error: unknown) => {
        throw toClientError(error, broker);
      });
      const exchange = (text: string) =>
        saslAuthenticate({ request: { encode: () => framed(text) }, response: answerText });
      let refusal: string | undefined;
      try {
        refusal = (await exchange(firstMessage(token, login.extensions))) || undefined;
        if (refusal !== undefined) await exchange(separator);
      } catch (error) {
        // After a refusal, the way the broker ends the exchange adds nothing.
        if (refusal === undefined && isConnectionLoss(error)) throw error;
        refusal ??= (error as Error).message;
      }
      if (refusal === undefined) return;
      const message = `the broker ${broker} refused the token (OAUTHBEARER): ${refusal.slice(0, 500)}`;
      throw toClientError(new LoginFailure(message, login.refused()), broker);
    },
  });
}

function firstMessage(token: string, extensions: Readonly<Record<string, string>>): string {
  const fields = Object.entries({ auth: `Bearer ${token}`, ...extensions });
  const text = fields.map(([name, value]) => `${name}=${value}${separator}`).join("");
  return `n,,${separator}${text}${separator}`;
}

/** kafkajs expects a length prefix. */
function framed(text: string): Buffer {
  const bytes = Buffer.from(text);
  const frame = Buffer.alloc(4 + bytes.length);
  frame.writeInt32BE(bytes.length);
  bytes.copy(frame, 4);
  return frame;
}

const answerText = {
  decode: (frame: Buffer) => frame.subarray(4),
  parse: (bytes: Buffer) => bytes.toString("utf8"),
};

function isConnectionLoss(error: unknown): boolean {
  return error instanceof kafkajs.KafkaJSConnectionError || !(error instanceof kafkajs.KafkaJSProtocolError);
}

/** Of these errors, the client retries only after a connection error, over a new connection. */
function toClientError(error: unknown, broker: string): Error {
  if (!(error instanceof LoginFailure)) return error as Error;
  if (error.isRetriable) return new kafkajs.KafkaJSConnectionError(error.message, { broker });
  return new kafkajs.KafkaJSNonRetriableError(error.message);
}

/** Why there is no token or credential to log in with. Never contains a secret. */
export class LoginFailure extends Error {
  /** True if the same login may succeed later, as when an endpoint is down or a file is about to be replaced. */
  readonly isRetriable: boolean;

  constructor(message: string, isRetriable: boolean, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "LoginFailure";
    this.isRetriable = isRetriable;
  }
}

export interface Expiring<T> {
  readonly value: T;
  readonly expiresMs: number;
}

/**
 * How long a value is used before it is renewed: until a fifth of its life or a minute is left, whichever is more,
 * but at least for half its life. A broker ends a session when the token it started with expires, and lets a client
 * renew a session at most once a second, so a token must not be used to its last moment.
 */
function renewalMs(lifeMs: number): number {
  return lifeMs - Math.max(lifeMs / 5, Math.min(60_000, lifeMs / 2));
}

/** How long the old value is used after a failed renewal before the next attempt. */
const retryMs = 10_000;

/**
 * A value that expires. It is fetched when first needed, shared by all callers and renewed in time. While the old
 * value is valid, a failed renewal is retried later and affects no caller.
 */
export class Renewed<T> {
  readonly #fetch: () => Promise<Expiring<T>>;
  readonly #clock: Clock;
  #held: (Expiring<T> & { readonly renewMs: number }) | null = null;
  #underway: Promise<T> | null = null;

  constructor(fetch: () => Promise<Expiring<T>>, clock: Clock) {
    this.#fetch = fetch;
    this.#clock = clock;
  }

  async get(): Promise<T> {
    if (this.#held !== null && this.#clock.nowMs() < this.#held.renewMs) return this.#held.value;
    this.#underway ??= this.#renew().finally(() => {
      this.#underway = null;
    });
    return this.#underway;
  }

  /** The next `get` fetches a new value. */
  drop(): void {
    this.#held = null;
  }

  async #renew(): Promise<T> {
    try {
      const fetched = await this.#fetch();
      const nowMs = this.#clock.nowMs();
      this.#held = { ...fetched, renewMs: nowMs + renewalMs(fetched.expiresMs - nowMs) };
      return fetched.value;
    } catch (error) {
      const nowMs = this.#clock.nowMs();
      if (this.#held === null || nowMs >= this.#held.expiresMs) throw error;
      this.#held = { ...this.#held, renewMs: Math.min(nowMs + retryMs, this.#held.expiresMs) };
      return this.#held.value;
    }
  }
}
