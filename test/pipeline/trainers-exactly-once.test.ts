// Whatever happens to the trainers, workers cannot tell: every request gets one answer, and every dead letter is written
// once.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { type Script, succeed } from "./support/scripted-trainer.ts";
import { type Member, TrainerFleet } from "./support/trainer-fleet.ts";
import { turns } from "./support/turns.ts";

// Shared by all runs: prom-client's default metrics watch the process and cannot be removed.
const metrics = createMetrics("test");

type Word =
  | "ask"
  | "scribble"
  | "crash"
  | "join"
  | "leave"
  | "rebalance"
  | "lost before"
  | "lost after"
  | "pause";

/** Takes a few turns of the event loop, so that faults hit a training in progress. */
const slow: Script = async (task, signal) => {
  await turns(7);
  return signal.aborted ? { outcome: "cancelled" } : succeed(task, signal);
};

class Play {
  readonly #fleet: TrainerFleet;
  readonly #members: Member[];
  asked = 0;
  scribbled = 0;

  constructor(fleet: TrainerFleet) {
    this.#fleet = fleet;
    this.#members = [fleet.start(slow)];
  }

  async act(word: Word): Promise<void> {
    await this.#acts[word]();
  }

  readonly #acts: Readonly<Record<Word, () => void | Promise<void>>> = {
    ask: () => this.#fleet.ask(this.asked % 2, `series ${this.asked++}`),
    scribble: () => this.#fleet.write(this.scribbled % 2, [Buffer.from(`scribble ${this.scribbled++}`)]),
    crash: async () => {
      await this.#fleet.crash(this.#members.shift() as Member);
      this.#members.push(this.#fleet.start(slow));
    },
    join: () => void this.#members.push(this.#fleet.start(slow)),
    leave: async () => {
      if (this.#members.length === 1) return;
      const { trainer } = this.#members.shift() as Member;
      trainer.stop("the test says so");
      await trainer.done;
    },
    rebalance: () => {
      for (const partition of [0, 1]) this.#fleet.log.fence(partition);
    },
    "lost before": () => this.#fleet.log.failNextCommits(1, "before", "fence"),
    "lost after": () => this.#fleet.log.failNextCommits(1, "after", "fence"),
    pause: () => turns(10),
  };
}

const words = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom<Word>("ask", "scribble", "pause") },
    {
      weight: 4,
      arbitrary: fc.constantFrom<Word>("crash", "join", "leave", "rebalance", "lost before", "lost after"),
    },
  ),
  { minLength: 1, maxLength: 25 },
);

test("any sequence of crashes, rebalances and fenced commits gives every request one answer", async () => {
  await fc.assert(
    fc.asyncProperty(words, async (script) => {
      const fleet = await TrainerFleet.open({ partitions: 2, attempts: 100, metrics });
      try {
        const play = new Play(fleet);
        for (const word of script) await play.act(word);
        // Each partition answers in order: once its last request is answered, nothing can follow.
        for (const word of ["ask", "ask"] as const) await play.act(word);
        const outcomes = await fleet.untilAnswered(play.asked);
        const letters = await fleet.deadLetters();
        const keys = outcomes.map(({ modelKey }) => modelKey);
        assert.deepEqual(
          [keys.length, new Set(keys).size, letters.length],
          [play.asked, play.asked, play.scribbled],
        );
        assert.deepEqual(await fleet.attempts(), {});
      } finally {
        await fleet.close();
      }
    }),
    { numRuns: 60, includeErrorInReport: true },
  );
});
