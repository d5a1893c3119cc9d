// The time of day, and timers. The only file that reads the wall clock. Everything that needs the time takes a Clock,
// and everything that wants to be called later takes Timers, so that a replay can move time by hand.

import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

export interface Clock {
  nowMs(): number;
}

/** Cancels a timer; does nothing once the timer has fired. */
export type Cancel = () => void;

/** A clock that also calls back. */
export interface Timers extends Clock {
  /** Calls `act` once, `ms` from now. */
  after(ms: number, act: () => void): Cancel;
  /** Calls `act` every `ms`. Turns that were missed are dropped, not made up for. Keeps no process alive. */
  every(ms: number, act: () => void): Cancel;
  /** Resolves after `ms`, or as soon as the signal fires. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** For durations below a millisecond, counted from any moment. Wall clocks may be set back; this one is not. */
export function monotonicMs(): number {
  return performance.now();
}

/**
 * Processor time of the calling thread in seconds. Outside Linux, that of the whole process: an upper bound.
 */
export function cpuSeconds(): number {
  try {
    return Number(readFileSync("/proc/thread-self/schedstat", "latin1").split(" ", 1)[0]) / 1e9;
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  }
}

export const systemClock: Timers = {
  nowMs: () => Date.now(),
  after: (ms, act) => {
    const timer = setTimeout(act, ms);
    return () => clearTimeout(timer);
  },
  every: (ms, act) => {
    const timer = setInterval(act, ms).unref();
    return () => clearInterval(timer);
  },
  sleep: (ms, signal) =>
    delay(ms, undefined, { signal }).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    }),
};
