// The battery that every model family passes: what its models forecast, how they are stored, and what training gives.

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type {
  Distribution,
  FamilyResult,
  FamilyTask,
  FoldScores,
  ForecastAnswer,
  ForecastInput,
  Model,
  ModelFamily,
  TrainingSeries,
} from "../../../src/models/family.ts";
import { seasonalErrorsBefore } from "../../../src/models/score-on-folds.ts";
import { ForecastnetError } from "../../../src/runtime/errors.ts";
import { createRandom } from "../../../src/runtime/random.ts";

export const horizon = 6;
export const options = { levels: [0.05, 0.25, 0.5, 0.75, 0.95], paths: 32 };
const never = new AbortController().signal;

export interface SeriesShape {
  readonly steps?: number;
  readonly seed?: number;
  readonly season?: number;
  readonly channels?: number;
  readonly scale?: number;
}

/** A season around a level, with a tenth of it as noise; each channel louder than the one before. */
export function seasonalSeries(shape: SeriesShape = {}): TrainingSeries {
  const { steps = 240, seed = 1, season = horizon, channels = 1, scale = 1 } = shape;
  const random = createRandom(seed);
  const values = Float64Array.from({ length: steps * channels }, (_, i) => {
    const wave = Math.cos((2 * Math.PI * (Math.floor(i / channels) + seed)) / season);
    return scale * 10 ** (i % channels) * (20 + 3 * wave + 0.3 * random.normal());
  });
  return { values, filled: null };
}

export function taskOf(series: readonly TrainingSeries[], changes: Partial<FamilyTask> = {}): FamilyTask {
  const plan = {
    family: "any",
    horizon,
    season: horizon,
    form: "auto",
    effort: "quick",
    members: 2,
  } as const;
  return { key: "s", plan, channels: 1, series, seed: 7, ...changes };
}

/** What the model is given at the end of a series. */
export function inputFor(family: ModelFamily, model: Model, series: TrainingSeries): ForecastInput {
  const { channels, inputSteps } = family.shapeOf(model);
  const origin = series.values.length / channels;
  const span = { origin, season: horizon, channels, levels: options.levels };
  return {
    values: series.values.slice((origin - inputSteps) * channels),
    channels,
    settings: { horizon, season: horizon },
    originStep: span.origin - 1,
    seasonalErrors: seasonalErrorsBefore(series, span),
  };
}

interface Trained {
  readonly model: Model;
  readonly folds: FoldScores;
}

export async function train(family: ModelFamily, task: FamilyTask): Promise<Trained> {
  const result = await family.train(task, never);
  assert.equal(result.outcome, "trained", reasonIn(result));
  const { model, folds } = result as Extract<FamilyResult, { outcome: "trained" }>;
  assert.ok(Number.isFinite(folds.mase) && Number.isFinite(folds.crps), "its fold scores are finite");
  return { model: { ...model, version: "v1" }, folds };
}

function reasonIn(result: FamilyResult): string {
  return result.outcome === "failed" ? result.reason : result.outcome;
}

export function assertSound(answer: ForecastAnswer, targets: number): asserts answer is Distribution {
  assert.ok(!(answer instanceof Error), `it was refused: ${answer}`);
  const { mean, standardDeviation, quantiles } = answer;
  assert.equal(quantiles.length, options.levels.length, "one array per level");
  for (const numbers of [mean, standardDeviation, ...quantiles]) {
    assert.equal(numbers.length, targets * horizon, "every target and step has a number");
    assert.ok(Array.from(numbers).every(Number.isFinite), "all numbers are finite");
  }
  for (let i = 0; i < mean.length; i++) {
    assert.ok(standardDeviation[i] >= 0, "no standard deviation is negative");
    for (let l = 1; l < quantiles.length; l++)
      assert.ok(quantiles[l][i] >= quantiles[l - 1][i], "quantiles rise with their level");
  }
}

const assertCode = (error: unknown, code: string, why: string) => {
  assert.ok(error instanceof ForecastnetError, `${why}: ${error}`);
  assert.equal(error.code, code, why);
};

/** `season` is one whose pattern the family can follow. */
export function testFamily(name: string, open: () => Promise<ModelFamily>, season = horizon): void {
  let family: ModelFamily;
  let usual: Model;
  const series = seasonalSeries();

  describe(`the ${name} family`, () => {
    before(async () => {
      family = await open();
      ({ model: usual } = await train(family, taskOf([series])));
    });
    testForecasts();
    testStorage();
    testTraining();
  });

  function testForecasts(): void {
    test("forecasts every channel and step, finite, with quantiles that rise", async () => {
      const wide = seasonalSeries({ channels: 3 });
      const { model } = await train(family, taskOf([wide], { channels: 3 }));
      const { inputSteps, ...shape } = family.shapeOf(model);
      assert.deepEqual(shape, { horizon, channels: 3, targets: [0, 1, 2] });
      assert.ok(inputSteps > 0 && inputSteps <= 240, `it looks back ${inputSteps} steps`);
      const [answer] = await family.forecast([{ model, input: inputFor(family, model, wide) }], options);
      assertSound(answer, 3);
      assert.ok(answer.mean[2 * horizon] > 50 * answer.mean[0], "each channel keeps its own scale");
    });

    test("answers a batch of unlike models in its order, each as when asked alone", async () => {
      const wide = seasonalSeries({ channels: 2, seed: 3 });
      const others = [
        await train(family, taskOf([wide], { channels: 2, key: "wide" })),
        await train(family, taskOf([seasonalSeries({ seed: 2, scale: 1e4 })], { key: "loud" })),
      ];
      const tasks = [
        { model: usual, input: inputFor(family, usual, series) },
        { model: others[0].model, input: inputFor(family, others[0].model, wide) },
        { model: others[1].model, input: inputFor(family, others[1].model, seasonalSeries({ scale: 1e4 })) },
        { model: usual, input: inputFor(family, usual, seasonalSeries({ seed: 9 })) },
      ];
      const together = await family.forecast(tasks, options);
      for (const [i, task] of tasks.entries())
        assert.deepEqual(together[i], (await family.forecast([task], options))[0], `task ${i}`);
    });

    test("refuses a window that is too short or has a gap, and answers its neighbours", async () => {
      const input = inputFor(family, usual, series);
      const torn = { ...input, values: input.values.with(input.values.length - 1, Number.NaN) };
      const short = { ...input, values: input.values.slice(1) };
      const inputs = [input, torn, input, short, input];
      const answers = await family.forecast(
        inputs.map((one) => ({ model: usual, input: one })),
        options,
      );
      for (const i of [0, 2, 4]) assertSound(answers[i], 1);
      assertCode(answers[1], "WINDOW_UNFIT", "a window with a gap");
      assertCode(answers[3], "WINDOW_UNFIT", "a window that is a step too short");
    });

    test("describes its models in one line of JSON", () => {
      const text = family.describe(usual);
      assert.equal(typeof JSON.parse(text), "object");
      assert.ok(!text.includes("\n"));
    });
  }

  function testStorage(): void {
    for (const storage of ["float32", "float16"] as const) {
      test(`reads a model back from its bytes in ${storage}`, async () => {
        const bytes = family.encode(usual, storage);
        const model = family.decode(bytes, "the test");
        assert.deepEqual([model.family, model.key, model.version], [family.name, "s", usual.version]);
        assert.deepEqual(family.shapeOf(model), family.shapeOf(usual));
        assert.deepEqual(family.encode(model, storage), bytes, "the same model has the same bytes");
        const input = inputFor(family, usual, series);
        const [before, after] = await family.forecast(
          [
            { model: usual, input },
            { model, input },
          ],
          options,
        );
        assertSound(before, 1);
        assertSound(after, 1);
        const most = storage === "float32" ? 0 : 0.2;
        for (let h = 0; h < horizon; h++)
          assert.ok(Math.abs(after.mean[h] - before.mean[h]) <= most, `step ${h} moved`);
      });
    }

    test("refuses bytes that are damaged anywhere, cut short, or another family's", () => {
      const bytes = family.encode(usual, "float32");
      // Every byte of the frame and the header, and a sample of the numbers.
      const stride = Math.max(1, Math.floor(bytes.length / 2_000));
      for (let at = 0; at < bytes.length; at += at < 1_000 ? 1 : stride) {
        const damaged = bytes.slice();
        damaged[at] ^= 1 << (at % 8);
        assertUnfit(damaged, `byte ${at} is damaged`);
      }
      for (const end of [0, 20, 60, bytes.length - 1]) assertUnfit(bytes.subarray(0, end), `cut at ${end}`);
      assertUnfit(Buffer.from("scribble".repeat(40)), "no model at all");
    });

    test("refuses a number that its storage cannot hold", () => {
      if (usual.scaler === undefined) return; // It stores no numbers.
      const broken = { ...usual, scaler: { ...usual.scaler, offset: [Number.NaN] } };
      assert.throws(() => family.decode(family.encode(broken, "float32"), "the test"), {
        code: "MODEL_UNFIT",
      });
    });
  }

  function assertUnfit(bytes: Uint8Array, why: string): void {
    let found: unknown;
    try {
      family.decode(bytes, "the test");
    } catch (error) {
      found = error;
    }
    assertCode(found, "MODEL_UNFIT", why);
  }

  function testTraining(): void {
    test("trains the same task to the same bytes", async () => {
      const { model } = await train(family, taskOf([series]));
      assert.deepEqual(family.encode(model, "float32"), family.encode(usual, "float32"));
    });

    test("is better than the one-step naive error on a seasonal series", async () => {
      const plan = { ...taskOf([]).plan, season };
      const { folds } = await train(family, taskOf([seasonalSeries({ season })], { plan }));
      assert.ok(folds.mase < 1, `MASE ${folds.mase}`);
      assert.ok(folds.crps > 0 && folds.crps < 1, `CRPS ${folds.crps}`);
    });

    test("forecasts a flat series flat", async () => {
      const flat = { values: new Float64Array(240).fill(7), filled: null };
      const { model } = await train(family, taskOf([flat]));
      const [answer] = await family.forecast([{ model, input: inputFor(family, model, flat) }], options);
      assertSound(answer, 1);
      for (const value of Array.from(answer.mean)) assert.ok(Math.abs(value - 7) < 0.1, `forecast ${value}`);
    });

    test("trains around gaps, and scores no filled step", async () => {
      const { values } = seasonalSeries({ steps: 400 });
      const torn = values.map((value, t) => (t % 50 === 0 ? Number.NaN : value));
      const filled = Uint8Array.from(torn, (_, t) => (t % 5 === 0 ? 1 : 0));
      const { folds: whole } = await train(family, taskOf([{ values: torn, filled: null }]));
      const { folds: part } = await train(family, taskOf([{ values: torn, filled }]));
      assert.ok(part.points > 0 && part.points < 0.9 * whole.points, `${part.points} of ${whole.points}`);
    });

    test("trains one model for the members of a cohort, whatever their scale", async () => {
      const members = [1, 2, 3].map((seed) => seasonalSeries({ seed, scale: 10 ** (2 * seed) }));
      const { model, folds } = await train(family, taskOf(members, { key: "cohort:pumps" }));
      assert.equal(model.key, "cohort:pumps");
      assert.ok(folds.points > 0);
      for (const member of members) {
        const [answer] = await family.forecast([{ model, input: inputFor(family, model, member) }], options);
        assertSound(answer, 1);
        const level = member.values[0];
        assert.ok(Math.abs(answer.mean[0] / level - 1) < 0.5, `${answer.mean[0]} at a level of ${level}`);
      }
    });

    test("fails with a reason when the history is too short", async () => {
      const result = await family.train(taskOf([seasonalSeries({ steps: 8 })]), never);
      assert.equal(result.outcome, "failed");
      assert.match(reasonIn(result), /\S+ \S+/);
    });

    test("ends as cancelled when the signal has fired", async () => {
      assert.deepEqual(await family.train(taskOf([series]), AbortSignal.abort()), { outcome: "cancelled" });
    });
  }
}
