// One model for several series, on the SIMD kernel.

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type { History } from "../../../../../src/domain.ts";
import { openInProcessEngine } from "../../../../../src/engine/in-process-engine.ts";
import { createFamilies, type Families } from "../../../../../src/models/families.ts";
import { foldsOf } from "../../../../../src/models/folds.ts";
import type { Engine } from "../../../../../src/models/forecastnet/engine.ts";
import type { ForecastNetModel } from "../../../../../src/models/forecastnet/model.ts";
import { encodeModel } from "../../../../../src/models/forecastnet/model-bytes.ts";
import { trainTask } from "../../../../../src/training/train-task.ts";
import {
  challengersOf,
  historyOf,
  season,
  taskOf,
  waveOf,
} from "../../../training/support/training-tasks.ts";

let engine: Engine;
let families: Families;
before(async () => {
  engine = await openInProcessEngine({ kind: "simd" });
  families = createFamilies(engine);
});

const never = new AbortController().signal;

async function train(histories: readonly History[], holdBack = 0) {
  return challengersOf(await trainTask(families, taskOf(histories, { holdBack }), never))[0];
}

/** Mean absolute errors over the last `steps` of a series: the model's, and those of repeating the last season. */
async function errorsOn(model: ForecastNetModel, values: Float64Array, steps: number) {
  const origins = Array.from({ length: steps - season + 1 }, (_, i) => values.length - steps + i);
  const answers = await engine.forecast(
    origins.map((origin) => ({ model, window: values.slice(0, origin) })),
    { paths: 50, levels: [0.5] },
  );
  const errors = { model: 0, naive: 0 };
  answers.forEach((answer, i) => {
    assert.ok(!(answer instanceof Error));
    for (let h = 0; h < season; h++) {
      const actual = values[origins[i] + h];
      errors.model += Math.abs(answer.mean[h] - actual);
      errors.naive += Math.abs(values[origins[i] + h - season] - actual);
    }
  });
  return errors;
}

describe("a cohort's model", () => {
  test("beats seasonal-naive on every member, be they quiet or loud", async () => {
    const members = [1, 100, 1e6].map((scale, i) => waveOf({ steps: 240, seed: i + 1, scale }));
    const { model, folds, naiveErrors } = await train(
      members.map((values) => historyOf(values)),
      36,
    );
    for (const [i, values] of members.entries()) {
      const errors = await errorsOn(model, values, 36);
      assert.ok(errors.model < errors.naive, `member ${i}: ${errors.model} against ${errors.naive}`);
    }
    assert.ok(folds.mase < 0.6, `MASE ${folds.mase}`);
    assert.ok(naiveErrors[0] > 1e5, "the mean of the members' naive errors");
  });

  test("serves a series it has never seen, at another scale", async () => {
    const { model } = await train(
      [1, 100].map((scale, i) => historyOf(waveOf({ steps: 240, seed: i + 1, scale }))),
    );
    const unseen = waveOf({ steps: 100, seed: 4, scale: 1e-3 });
    const errors = await errorsOn(model, unseen, 36);
    assert.ok(errors.model < errors.naive, `${errors.model} against ${errors.naive}`);
  });

  test("is the same to the byte when it is trained again", async () => {
    const histories = [1, 2, 3].map((seed) => historyOf(waveOf({ steps: 120, seed })));
    const [one, again] = [await train(histories), await train(histories)];
    assert.deepEqual(encodeModel(again.model), encodeModel(one.model));
  });

  test("can be had of members that are too short each, or partly unusable", async () => {
    const short = [1, 2, 3, 4].map((seed) => historyOf(waveOf({ steps: 38, seed })));
    assert.equal((await trainTask(families, taskOf([short[0]]), never)).outcome, "failed");
    const empty = [historyOf(new Float64Array(0)), historyOf(new Float64Array(50).fill(Number.NaN))];
    const flat = historyOf(new Float64Array(60).fill(5));
    const { folds } = await train([...short, ...empty, flat]);
    assert.ok(folds.mase < 1, `MASE ${folds.mase}`);
  });

  test("of many members takes hardly longer than that of a few", async () => {
    const members = Array.from({ length: 200 }, (_, i) => ({
      values: waveOf({ steps: 240, seed: i + 1, scale: 10 ** (i % 5) }),
      filled: null,
    }));
    for (const { origins } of foldsOf(members, { horizon: season, channels: 1, longest: 12 })) {
      assert.equal(origins.length, 240);
      assert.ok(new Set(origins.map(({ series }) => series)).size >= 190, "every member is judged");
    }
    let rows = 0;
    const counting: Engine = {
      ...engine,
      fit: (tasks, signal) => {
        rows = Math.max(rows, ...tasks.map(({ training }) => training.count));
        return engine.fit(tasks, signal);
      },
    };
    const task = taskOf(members.map(({ values }) => historyOf(values)));
    const [{ folds }] = challengersOf(await trainTask(createFamilies(counting), task, never));
    assert.equal(rows, 12_000);
    assert.ok(folds.mase < 0.5, `MASE ${folds.mase}`);
  });
});
