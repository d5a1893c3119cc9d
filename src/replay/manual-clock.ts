// A clock that stands still until it is moved. Its timers fire in the order of their due times as it passes them, and
// timers due at the same time fire in the order in which they were set.

import type { Cancel, Timers } from "../runtime/clock.ts";

interface Timer {
  dueMs: number;
  /** Null for a timer that fires once. */
  readonly everyMs: number | null;
  readonly act: () => void;
}

export class ManualClock implements Timers {
  #nowMs: number;
  /** Sorted by due time. */
  readonly #timers: Timer[] = [];

  constructor(startMs: number) {
    this.#nowMs = startMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  /** A timer that is due at once fires in the next turn of the event loop, without a move. */
  after(ms: number, act: () => void): Cancel {
    if (ms > 0) return this.#add({ dueMs: this.#nowMs + ms, everyMs: null, act });
    const immediate = setImmediate(act);
    return () => clearImmediate(immediate);
  }

  /** Fires at most once per move, as an interval of a process that was busy or suspended meanwhile. */
  every(ms: number, act: () => void): Cancel {
    return this.#add({ dueMs: this.#nowMs + ms, everyMs: ms, act });
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) {
        resolve();
        return;
      }
      const wake = () => {
        cancel();
        signal.removeEventListener("abort", wake);
        resolve();
      };
      const cancel = this.after(ms, wake);
      signal.addEventListener("abort", wake);
    });
  }

  /** Moves to the given time and fires every timer due by then, without waiting for what the timers start. */
  moveTo(ms: number): void {
    while (this.step(ms));
  }

  moveBy(ms: number): void {
    this.moveTo(this.#nowMs + ms);
  }

  /**
   * Part of a move to `endMs`: moves to the next timer due by then and fires it. Returns false, and has moved to
   * `endMs`, when there is none. A caller can so let each timer's consequences happen at the timer's own time.
   */
  step(endMs: number): boolean {
    const [timer] = this.#timers;
    if (timer === undefined || timer.dueMs > endMs) {
      this.#nowMs = Math.max(this.#nowMs, endMs);
      return false;
    }
    this.#timers.shift();
    this.#nowMs = Math.max(this.#nowMs, timer.dueMs);
    if (timer.everyMs !== null) {
      timer.dueMs += timer.everyMs * (1 + Math.floor((endMs - timer.dueMs) / timer.everyMs));
      this.#insert(timer);
    }
    timer.act();
    return true;
  }

  #add(timer: Timer): Cancel {
    this.#insert(timer);
    return () => {
      const index = this.#timers.indexOf(timer);
      if (index >= 0) this.#timers.splice(index, 1);
    };
  }

  #insert(timer: Timer): void {
    const index = this.#timers.findLastIndex(({ dueMs }) => dueMs <= timer.dueMs);
    this.#timers.splice(index + 1, 0, timer);
  }
}
