// What a member knows of its group's health: when the group last answered, what is wrong if it does not, and
// whether the client is doing anything at all. kafkajs has been seen to fall silent without an error; only a
// watchdog finds that out.

import type { Clock } from "../../runtime/clock.ts";

/** Even a client without a broker gives signs of life more often: it tries, fails and says so. */
const SILENT_SESSIONS = 12;

export class GroupPulse {
  readonly #clock: Clock;
  readonly #sessionTimeoutMs: number;
  readonly #waiting = new Set<() => void>();
  #trouble: string | null = null;
  #answeredMs: number;
  #activeMs: number;

  constructor(clock: Clock, sessionTimeoutMs: number) {
    this.#clock = clock;
    this.#sessionTimeoutMs = sessionTimeoutMs;
    this.#answeredMs = clock.nowMs();
    this.#activeMs = this.#answeredMs;
  }

  /** The group has confirmed this member. */
  answered(): void {
    this.#answeredMs = this.#clock.nowMs();
    this.#trouble = null;
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  /** Something did not work and is being tried again. */
  troubled(reason: string): void {
    this.#trouble = reason;
  }

  /** The client did something, whatever came of it. */
  stirred(): void {
    this.#activeMs = this.#clock.nowMs();
  }

  /** Resolves when the group confirms this member, after the call. */
  nextAnswer(): Promise<void> {
    return new Promise((resolve) => this.#waiting.add(resolve));
  }

  /** Null while the group answers; otherwise why it does not. */
  get outage(): string | null {
    if (this.#trouble !== null) return this.#trouble;
    const silentMs = this.#clock.nowMs() - this.#answeredMs;
    return silentMs > this.#sessionTimeoutMs ? `no heartbeat for ${silentMs} ms` : null;
  }

  get isStuck(): boolean {
    return this.#clock.nowMs() - this.#activeMs > SILENT_SESSIONS * this.#sessionTimeoutMs;
  }
}
