// Two ways to ask for something again and again: at an even pace that does not wait for answers, which shows how long
// one waits; and as fast as answers come, which shows how much there is to be had.

import { setTimeout as wait } from "node:timers/promises";

export interface Ticker {
  nowMs(): number;
  /** Resolves at that moment, or at once when it has passed. */
  until(ms: number): Promise<void>;
}

export const realTicker: Ticker = {
  nowMs: () => performance.now(),
  async until(ms) {
    for (let leftMs = ms - performance.now(); leftMs > 0; leftMs = ms - performance.now()) {
      await wait(Math.ceil(leftMs));
    }
  },
};

export interface Pace {
  readonly everyMs: number;
  readonly times: number;
}

/**
 * How long each answer took from the moment its question was due. What an event loop that came late adds is part of it,
 * and a slow answer holds up no later question.
 */
export async function askSteadily(
  ask: (time: number) => Promise<void>,
  { everyMs, times }: Pace,
  ticker: Ticker = realTicker,
): Promise<readonly number[]> {
  const startMs = ticker.nowMs();
  const waits: Promise<number>[] = [];
  for (let time = 0; time < times; time++) {
    const dueMs = startMs + time * everyMs;
    await ticker.until(dueMs);
    const waited = ask(time).then(() => ticker.nowMs() - dueMs);
    waited.catch(() => undefined); // Told below, when all have been asked.
    waits.push(waited);
  }
  return Promise.all(waits);
}

export interface Rush {
  /** Questions under way at any time. */
  readonly atOnce: number;
  readonly forMs: number;
}

/** Answers per second. */
export async function askWithoutPause(
  ask: (time: number) => Promise<void>,
  { atOnce, forMs }: Rush,
  ticker: Ticker = realTicker,
): Promise<number> {
  const startMs = ticker.nowMs();
  let asked = 0;
  let answered = 0;
  const askAgain = async () => {
    while (ticker.nowMs() - startMs < forMs) {
      await ask(asked++);
      answered++;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, askAgain));
  return (1000 * answered) / (ticker.nowMs() - startMs);
}
