// Tasks that cannot be trained fail with what there was and what is needed. What a request may hold is checked where it
// is decoded: request-codec.test.ts.

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { openInProcessEngine } from "../../../src/engine/in-process-engine.ts";
import { createFamilies, type Families } from "../../../src/models/families.ts";
import type { Engine } from "../../../src/models/forecastnet/engine.ts";
import { ForecastnetError } from "../../../src/runtime/errors.ts";
import { trainTask } from "../../../src/training/train-task.ts";
import type { TrainingTask } from "../../../src/training/training-task.ts";
import { historyOf, reasonOf, season, taskOf, waveOf } from "./support/training-tasks.ts";

let engine: Engine;
let families: Families;
before(async () => {
  engine = await openInProcessEngine({ kind: "simd" });
  families = createFamilies(engine);
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
    /^the longest history has 38 steps; 40 are needed for a horizon of 6 and a season of 6 \(12 steps held back\)$/,
  ],
  [
    "too little history for the paper's form",
    taskOf([wave(60)], { form: "FN" }),
    /^the longest history has 60 steps; 70 are needed /,
  ],
  [
    "a season longer than the history",
    taskOf([wave(240)], { season: 200 }),
    /has 240 steps; 1010 are needed for a horizon of 6 and a season of 200$/,
  ],
  [
    "a horizon that a fifth of the history cannot hold",
    taskOf([wave(240)], { horizon: 60, season: 6 }),
    /240 steps; 305 are needed for a horizon of 60/,
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
    /^the histories have 1 and 2 channels; the series of a cohort must have the same number$/,
  ],
  [
    "a family that this release does not have",
    taskOf([wave(240)], { family: "prophet" }),
    /^the plan: family is "prophet"; this release has forecastnet, linear, seasonal-naive, persistence, ensemble$/,
  ],
  [
    "a form that does not fit",
    taskOf([wave(240)], { form: "cFN", horizon: 1 }),
    /nothing is left of 2 inputs/,
  ],
];

describe("training fails with a reason", () => {
  for (const [what, task, expected] of refusals) {
    test(`when given ${what}`, async () =>
      assert.match(reasonOf(await trainTask(families, task, never)), expected));
  }

  test("but not when the history is just long enough", async () => {
    const task = taskOf([wave(40 + 12)], { holdBack: 12 });
    assert.equal((await trainTask(families, task, never)).outcome, "trained");
  });
});

test("an engine that refuses the nets makes the task fail; one that is broken is a failure of its own", async () => {
  const failing = (code: "MODEL_UNFIT" | "ENGINE_FAILED") =>
    createFamilies({ ...engine, fit: () => Promise.reject(new ForecastnetError(code, "no")) });
  const task = taskOf([wave(20 * season)]);
  assert.equal(reasonOf(await trainTask(failing("MODEL_UNFIT"), task, never)), "no");
  await assert.rejects(trainTask(failing("ENGINE_FAILED"), task, never), { code: "ENGINE_FAILED" });
});
