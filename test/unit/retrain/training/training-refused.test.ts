// What cannot be trained says what there was and what is needed.

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type { Engine } from "../../../../src/engine/engine.ts";
import { trainTask } from "../../../../src/retrain/training/train-task.ts";
import { createTrainingEngine } from "../../../../src/retrain/training/training-engine.ts";
import type { TrainingTask } from "../../../../src/retrain/training-task.ts";
import { ForecastnetError } from "../../../../src/runtime/errors.ts";
import { historyOf, reasonOf, season, taskOf, waveOf } from "./support/training-tasks.ts";

let engine: Engine;
before(async () => {
  engine = await createTrainingEngine({ kind: "simd" });
});
const never = new AbortController().signal;

const wave = (steps: number) => historyOf(waveOf({ steps }));
const noValues = historyOf(new Float64Array(200).fill(Number.NaN));
const oneDeadChannel = historyOf(
  waveOf({ steps: 400 }).map((value, i) => (i % 2 === 0 ? value : Number.NaN)),
  { channels: 2 },
);
const torn = historyOf(waveOf({ steps: 240 }).map((value, t) => (t % 10 === 0 ? Number.NaN : value)));

const refusals: readonly (readonly [string, TrainingTask, RegExp])[] = [
  [
    "too little history",
    taskOf([wave(50)], { holdBack: 12 }),
    /^the longest history has 38 steps before the 12 held back; needed are 40 for a horizon of 6 and a season of 6$/,
  ],
  [
    "too little history for the paper's form",
    taskOf([wave(60)], { form: "FN" }),
    /has 60 steps before the 0 held back; needed are 70 /,
  ],
  [
    "a season longer than the history",
    taskOf([wave(240)], { season: 200 }),
    /has 240 steps .* needed are 1010 for a horizon of 6 and a season of 200$/,
  ],
  [
    "a horizon that a fifth of the history cannot hold",
    taskOf([wave(240)], { horizon: 60, season: 6 }),
    /240 steps before the 0 held back; needed are 305 for a horizon of 60/,
  ],
  [
    "all of it held back",
    taskOf([wave(100)], { holdBack: 100 }),
    /^the longest history has 100 steps, 100 of them held back; needed is one with values/,
  ],
  ["an empty history", taskOf([wave(0)]), /^the longest history has 0 steps/],
  [
    "no values at all",
    taskOf([noValues]),
    /200 steps, 0 of them held back; needed is one with values of every/,
  ],
  ["a channel without values", taskOf([oneDeadChannel]), /values of every channel/],
  ["no unbroken stretch", taskOf([torn]), /do not each hold 6 \+ 6 unbroken steps/],
  [
    "different channels",
    taskOf([wave(240), historyOf(waveOf({ steps: 240 }), { channels: 2 })]),
    /^the histories have 1 and 2 channels; expected is one number for all$/,
  ],
  ["no history", taskOf([]), /^the task has no history/],
  [
    "values that are no whole steps",
    taskOf([historyOf(waveOf({ steps: 241 }), { channels: 2 })]),
    /241 values/,
  ],
  [
    "marks of other slots",
    taskOf([historyOf(waveOf({ steps: 240 }), { filled: new Uint8Array(3) })]),
    /3 marks of filled slots; expected are 240/,
  ],
  [
    "a value without end",
    taskOf([historyOf(waveOf({ steps: 240 }).fill(Number.NEGATIVE_INFINITY, 7, 8))]),
    /has -Infinity at step 7/,
  ],
  [
    "an unknown interval",
    taskOf([historyOf(waveOf({ steps: 240 }), { interval: "daily" })]),
    /"daily" is not/,
  ],
  [
    "a horizon of nothing",
    taskOf([wave(240)], { horizon: 0 }),
    /^horizon is 0; expected is a whole number, 1/,
  ],
  ["half a season", taskOf([wave(240)], { season: 1.5 }), /^season is 1.5/],
  [
    "a form that does not fit",
    taskOf([wave(240)], { form: "cFN", horizon: 1 }),
    /nothing is left of 2 inputs/,
  ],
];

describe("a training is refused for", () => {
  for (const [what, task, expected] of refusals) {
    test(what, async () => assert.match(reasonOf(await trainTask(engine, task, never)), expected));
  }

  test("nothing that is just long enough", async () => {
    const task = taskOf([wave(40 + 12)], { holdBack: 12 });
    assert.equal((await trainTask(engine, task, never)).outcome, "trained");
  });
});

test("an engine that refuses the nets makes the task fail; one that is broken is a failure of its own", async () => {
  const failing = (code: "MODEL_UNFIT" | "ENGINE_FAILED") => ({
    ...engine,
    fit: () => Promise.reject(new ForecastnetError(code, "no")),
  });
  const task = taskOf([wave(20 * season)]);
  assert.equal(reasonOf(await trainTask(failing("MODEL_UNFIT"), task, never)), "no");
  await assert.rejects(trainTask(failing("ENGINE_FAILED"), task, never), { code: "ENGINE_FAILED" });
});
