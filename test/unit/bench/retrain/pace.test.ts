// Asking at a pace and asking without pause, on a clock moved by hand.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { askSteadily, askWithoutPause, type Ticker } from "../../../../bench/retrain/pace.ts";

const turn = () => new Promise<void>(setImmediate);

/** Time passes only while somebody waits for it; `lateMs` is what the event loop adds to each wait. */
class HandTicker implements Ticker {
  #nowMs = 1_000;
  readonly #lateMs: number;

  constructor(lateMs = 0) {
    this.#lateMs = lateMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  async until(ms: number): Promise<void> {
    await turn(); // Answers that are there are heard first.
    if (ms > this.#nowMs) this.#nowMs = ms + this.#lateMs;
  }

  pass(ms: number): void {
    this.#nowMs += ms;
  }
}

describe("asking at an even pace", () => {
  test("counts from the moment a question was due, not from when it was asked", async () => {
    const ticker = new HandTicker(3);
    const waitsMs = await askSteadily(async () => undefined, { everyMs: 10, times: 3 }, ticker);
    // The first was due at once.
    assert.deepEqual(waitsMs, [0, 3, 3]);
  });

  test("a question that took long makes those after it late, which is counted", async () => {
    const ticker = new HandTicker();
    const ask = async (time: number) => {
      // As an event loop that is held up: nothing else happens meanwhile.
      if (time === 0) ticker.pass(25);
    };
    const waitsMs = await askSteadily(ask, { everyMs: 10, times: 4 }, ticker);
    assert.deepEqual(waitsMs, [25, 15, 5, 0]);
  });

  test("does not wait for an answer before the next question", async () => {
    const asked: number[] = [];
    const answers: (() => void)[] = [];
    const ask = (time: number) => {
      asked.push(time);
      return new Promise<void>((resolve) => answers.push(resolve));
    };
    const ticker = new HandTicker();
    const waiting = askSteadily(ask, { everyMs: 10, times: 3 }, ticker);
    for (let passed = 0; passed < 10; passed++) await turn();
    assert.deepEqual(asked, [0, 1, 2]);
    ticker.pass(5);
    for (const answer of answers) answer();
    assert.deepEqual(await waiting, [25, 15, 5]);
  });

  test("an answer that fails, fails the whole", async () => {
    const ask = async () => {
      throw new Error("no forecast");
    };
    await assert.rejects(askSteadily(ask, { everyMs: 1, times: 2 }, new HandTicker()), /no forecast/);
  });
});

describe("asking without pause", () => {
  test("gives answers per second of the time that it took", async () => {
    const ticker = new HandTicker();
    const perSecond = await askWithoutPause(async () => ticker.pass(40), { atOnce: 1, forMs: 100 }, ticker);
    // Three in 120 ms: the last was asked within the time, and is waited for.
    assert.equal(perSecond, 25);
  });

  test("keeps as many questions under way as it was told", async () => {
    const ticker = new HandTicker();
    let underWay = 0;
    let most = 0;
    const ask = async () => {
      most = Math.max(most, ++underWay);
      await turn();
      ticker.pass(10);
      underWay--;
    };
    await askWithoutPause(ask, { atOnce: 4, forMs: 200 }, ticker);
    assert.equal(most, 4);
    assert.equal(underWay, 0);
  });
});
