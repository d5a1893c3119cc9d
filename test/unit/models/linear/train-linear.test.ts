// What the linear family learns, and what it makes of histories that are short, broken or extreme.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Distribution, TrainingSeries } from "../../../../src/models/family.ts";
import { foldsOf, measureSeries } from "../../../../src/models/folds.ts";
import { crpsOf, sampleCount } from "../../../../src/models/held-out.ts";
import { leastSteps } from "../../../../src/models/linear/candidates.ts";
import { quantileOf } from "../../../../src/models/linear/error-model.ts";
import { linear } from "../../../../src/models/linear/family.ts";
import type { LinearModel } from "../../../../src/models/linear/model.ts";
import { encodeEnvelope } from "../../../../src/models/model-envelope.ts";
import { createRandom } from "../../../../src/runtime/random.ts";

const levels = [0.1, 0.5, 0.9];
const signal = new AbortController().signal;

interface Task {
  readonly horizon?: number;
  readonly season?: number;
  readonly filled?: Uint8Array;
  readonly firstStep?: number;
}

function trainOn(values: ArrayLike<number>, { horizon = 24, season = 24, filled, firstStep = 0 }: Task = {}) {
  const series: TrainingSeries = { values: Float64Array.from(values), filled: filled ?? null, firstStep };
  const plan = { family: "linear", horizon, season, form: "auto", effort: "normal", members: 1 } as const;
  return linear.train({ key: "s", plan, channels: 1, series: [series], seed: 1 }, signal);
}

async function modelOf(values: ArrayLike<number>, task: Task = {}): Promise<LinearModel> {
  const result = await trainOn(values, task);
  assert.ok(result.outcome === "trained", result.outcome === "failed" ? result.reason : result.outcome);
  return { ...result.model, version: "v1" };
}

function forecast(model: LinearModel, past: ArrayLike<number>, originStep = past.length - 1): Distribution {
  const { horizon } = model.shape;
  const input = {
    values: Float64Array.from(past),
    channels: 1,
    settings: { horizon, season: horizon },
    originStep,
    seasonalErrors: null,
  };
  const [answer] = linear.forecast([{ model, input }], { levels, paths: 1 }) as readonly Distribution[];
  assert.ok(!(answer instanceof Error), `${answer}`);
  return answer;
}

/** Hours of weeks whose weekends are quiet. */
function weeklyLoad(hours: number): number[] {
  const random = createRandom(5);
  return Array.from({ length: hours }, (_, t) => {
    const isWeekend = Math.floor(t / 24) % 7 >= 5;
    const day = Math.max(0, Math.sin((2 * Math.PI * (t % 24)) / 24));
    return 50 + (isWeekend ? 5 : 40) * day + random.normal();
  });
}

describe("a linear model", () => {
  test("of an hourly series knows its weekends", async () => {
    const values = weeklyLoad(1_440 + 24 * 14);
    const model = await modelOf(values.slice(0, 1_440));
    let error = 0;
    for (let day = 0; day < 13; day++) {
      const origin = 1_440 + 24 * day;
      const { mean } = forecast(model, values.slice(0, origin));
      for (let h = 0; h < 24; h++) error += Math.abs(mean[h] - values[origin + h]) / (13 * 24);
    }
    assert.ok(error < 1.5, `its mean error is ${error}, of noise of 0.8`);
  });

  test("knows the weekday of its origin by the number of the step", async () => {
    const values = weeklyLoad(1_440 + 24 * 14);
    const errorOf = async (firstStep: number, shift: number) => {
      const model = await modelOf(values.slice(0, 1_440), { firstStep });
      assert.ok(model.week !== null, "the week shows");
      let error = 0;
      for (let day = 0; day < 13; day++) {
        const origin = 1_440 + 24 * day;
        const { mean } = forecast(model, values.slice(0, origin), firstStep + shift + origin - 1);
        for (let h = 0; h < 24; h++) error += Math.abs(mean[h] - values[origin + h]) / (13 * 24);
      }
      return error;
    };
    const right = await errorOf(400_007, 0);
    assert.ok(
      Math.abs(right - (await errorOf(0, 0))) < 0.1,
      "where steps are counted from makes no difference",
    );
    assert.ok((await errorOf(400_007, 24)) > 1.5 * right, "a day off is far worse");
  });

  test("of a series that is never negative is one of roots, and answers in units of the series", async () => {
    const random = createRandom(3);
    const values = Array.from({ length: 1_440 }, (_, t) => {
      const level = 1.1 + Math.sin((2 * Math.PI * t) / 24);
      return (10 * level + level * random.normal()) ** 2;
    });
    const model = await modelOf(values);
    assert.equal(model.scaler.ofRoots, true);
    const { mean, standardDeviation, quantiles } = forecast(model, values);
    for (let h = 0; h < 24; h++) {
      const level = 1.1 + Math.sin((2 * Math.PI * h) / 24);
      const near = (found: number, expected: number, share: number, what: string) =>
        assert.ok(
          Math.abs(found - expected) < share * expected + 3,
          `${what} of step ${h}: ${found}, not ${expected}`,
        );
      near(quantiles[1][h], (10 * level) ** 2, 0.15, "median");
      near(mean[h], 101 * level ** 2, 0.15, "mean");
      near(standardDeviation[h], 20 * level ** 2, 0.5, "deviation");
    }
    const negative = await modelOf(values.map((value) => value - 50));
    assert.equal(negative.scaler.ofRoots, undefined, "with values below zero it is not");
  });

  test("takes at most 24 kB for 24 steps in half precision, and forecasts the same from that", async () => {
    const values = weeklyLoad(1_440);
    const model = await modelOf(values);
    const bytes = linear.encode(model, "float16");
    assert.ok(bytes.length <= 24 * 1024, `it takes ${bytes.length} bytes`);
    const read = linear.decode(bytes, "the test");
    // At a level that it never saw, too: rounded weights must not cost precision there.
    for (const lift of [0, 1e5]) {
      const past = values.map((value) => value + lift);
      const [exact, rounded] = [forecast(model, past), forecast(read, past)];
      for (let h = 0; h < 24; h++)
        assert.ok(
          Math.abs(exact.mean[h] - rounded.mean[h]) < 0.2,
          `lifted by ${lift}, step ${h}: ${rounded.mean[h]}`,
        );
    }
  });

  test("is trained to the same bytes again", async () => {
    const [one, other] = [await modelOf(weeklyLoad(600)), await modelOf(weeklyLoad(600))];
    assert.deepEqual(linear.encode(one, "float32"), linear.encode(other, "float32"));
  });
});

describe("the forecasts of a linear model", () => {
  /** Nights without any sun, days with clouds. */
  function sunshine(hours: number): number[] {
    const random = createRandom(7);
    return Array.from({ length: hours }, (_, t) => {
      const height = Math.max(0, Math.sin((2 * Math.PI * ((t % 24) - 6)) / 24));
      return 100 * height * random.uniform();
    });
  }

  test("are certain at night and uncertain by day, from any hour", async () => {
    const values = sunshine(1_440 + 12);
    const model = await modelOf(values.slice(0, 1_440));
    for (const origin of [1_440, 1_447, 1_452]) {
      const { quantiles } = forecast(model, values.slice(0, origin));
      for (let h = 0; h < 24; h++) {
        const width = quantiles[2][h] - quantiles[0][h];
        const hour = (origin + h) % 24;
        if (hour < 4 || hour > 20) assert.ok(width < 15, `${hour} o'clock from ${origin}: ${width}`);
        if (hour > 9 && hour < 15) assert.ok(width > 30, `${hour} o'clock from ${origin}: ${width}`);
      }
    }
  });

  test("of the first release read back with the spread of each step, in any situation", async () => {
    // With values below zero, which have no roots, and too short for a week: that release knew neither.
    const values = weeklyLoad(300).map((value) => value - 80);
    const { key, version, shape, serves, scaler, weights, carry, constant, errors } = await modelOf(values);
    const header = JSON.stringify({ family: "linear", key, version, shape, serves, scaler });
    const sections = { weights, carry, constant, spread: errors.steps, shape: errors.low };
    const parts = Object.entries(sections).map(([name, values]) => {
      return { section: { name, count: values.length, storage: "float32" as const }, values };
    });
    const read = linear.decode(encodeEnvelope(header, "float32", parts, "the test"), "the test");
    const { quantiles } = forecast(read, values);
    const width = (quantiles[2][5] - quantiles[0][5]) / scaler.scale[0];
    const expected = errors.steps[5] * (quantileOf(errors.low, 0.9) - quantileOf(errors.low, 0.1));
    assert.ok(Math.abs(width - expected) < 1e-6, `the width is ${width}, not ${expected}`);
  });

  test("are refused with a season that its window does not hold", async () => {
    const model = await modelOf(weeklyLoad(480));
    const longer = { ...model, errors: { ...model.errors, season: 1_000 } };
    assert.throws(
      () => linear.decode(linear.encode(longer, "float32"), "the test"),
      /season is 1000; expected 1 to/,
    );
  });
});

describe("the held-out forecasts of a linear model", () => {
  for (const seasons of [14, 40]) {
    test(`of ${seasons} seasons are those of the two folds, beside what happened`, async () => {
      const values = weeklyLoad(24 * seasons);
      const result = await trainOn(values);
      assert.ok(result.outcome === "trained" && result.heldOut !== undefined);
      const { origins, starts, samples, actual } = result.heldOut;
      const history = { values: Float64Array.from(values), filled: null };
      const longest = result.model.shape.length;
      const folds = foldsOf([history], { horizon: 24, channels: 1, longest });
      assert.deepEqual(
        origins,
        folds.flatMap((fold) => fold.origins),
      );
      assert.deepEqual(
        [...starts],
        Array.from({ length: origins.length + 1 }, (_, i) => 24 * i),
      );
      const [unit] = measureSeries(history, 1).units;
      for (const [i, { step }] of origins.entries())
        for (let h = 0; h < 24; h++)
          assert.ok(
            Math.abs(actual[starts[i] + h] - values[step + h] / unit) < 1e-9,
            `origin ${i}, step ${h}`,
          );
      for (let k = 1; k < samples.length; k++)
        assert.ok(k % sampleCount === 0 || samples[k] >= samples[k - 1], "samples ascend");
      const crps = crpsOf(result.heldOut);
      // Two weeks do not tell a weekend; forty days do.
      assert.ok(crps < (seasons === 14 ? 1.5 : 0.8), `their CRPS is ${crps} naive errors`);
    });
  }

  test("of the first fold hardly change with the last day, which only the choice of maps may see", async () => {
    const values = weeklyLoad(24 * 40);
    // The last target of the first fold's first origin comes long before this.
    const changed = values.map((value, t) => (t < 24 * 39 ? value : value + 1));
    const [one, other] = [await trainOn(values), await trainOn(changed)];
    assert.ok(one.outcome === "trained" && other.outcome === "trained");
    const [first, second] = [one.heldOut, other.heldOut];
    assert.ok(first !== undefined && second !== undefined);
    const medians = [first, second].map(({ samples }, i) => {
      const [unit] = measureSeries(
        { values: Float64Array.from(i === 0 ? values : changed), filled: null },
        1,
      ).units;
      return ((samples[11] + samples[12]) / 2) * unit;
    });
    assert.ok(Math.abs(medians[0] - medians[1]) < 0.5, `medians ${medians.join(" and ")}`);
  });

  test("are missing where the folds have no room for the horizon", async () => {
    const result = await trainOn(weeklyLoad(24 * 4));
    assert.ok(result.outcome === "trained");
    assert.equal(result.heldOut, undefined);
  });
});

describe("a cohort", () => {
  test("with a member that has no value is refused, and the reason names it", async () => {
    const plan = {
      family: "linear",
      horizon: 24,
      season: 24,
      form: "auto",
      effort: "normal",
      members: 1,
    } as const;
    const series = [weeklyLoad(480), new Array<number>(480).fill(Number.NaN)].map((values) => {
      return { values: Float64Array.from(values), filled: null };
    });
    assert.deepEqual(await linear.train({ key: "c", plan, channels: 1, series, seed: 1 }, signal), {
      outcome: "failed",
      reason: "series 1 has no value; every one needs some",
    });
  });
});

describe("a history", () => {
  test("of the least length gives a model, and one step less a reason", async () => {
    for (const [horizon, season] of [
      [24, 24],
      [18, 12],
      [6, 4],
      [48, 24],
    ]) {
      const steps = leastSteps(horizon, season);
      const values = Array.from(
        { length: steps },
        (_, t) => Math.sin(t) + Math.cos((2 * Math.PI * t) / season),
      );
      const model = await modelOf(values, { horizon, season });
      assert.equal(forecast(model, values).mean.length, horizon);
      const result = await trainOn(values.slice(1), { horizon, season });
      assert.deepEqual(result, {
        outcome: "failed",
        reason: `the longest history has ${steps - 1} steps; ${steps} are needed`,
      });
    }
  });

  test("of one value is forecast as that value, without a spread", async () => {
    const { mean, standardDeviation, quantiles } = forecast(
      await modelOf(new Array(300).fill(7)),
      new Array(300).fill(7),
    );
    for (const numbers of [mean, ...quantiles])
      for (const value of Array.from(numbers)) assert.ok(Math.abs(value - 7) < 1e-6, `it says ${value}`);
    assert.ok(Array.from(standardDeviation).every((deviation) => deviation < 1e-6));
  });

  test("without a number is refused, and the reason says so", async () => {
    assert.deepEqual(await trainOn(new Array(300).fill(Number.NaN)), {
      outcome: "failed",
      reason: "series 0 has no value; every one needs some",
    });
  });

  test("with a gap in every season is refused, and the reason says what there was and what is needed", async () => {
    const torn = weeklyLoad(600).map((value, t) => (t % 24 === 5 ? Number.NaN : value));
    assert.deepEqual(await trainOn(torn), {
      outcome: "failed",
      reason:
        "the longest run without a gap that reaches into the last 40 % of the history has 23 steps; 48 are needed, 24 of them there",
    });
  });

  test("shorter than one season is refused, and the reason says what there was and what is needed", async () => {
    assert.deepEqual(await trainOn(weeklyLoad(20)), {
      outcome: "failed",
      reason: "the longest history has 20 steps; 64 are needed",
    });
  });

  const random = createRandom(9);
  const extremes: Readonly<Record<string, readonly number[]>> = {
    "of two values": Array.from({ length: 400 }, (_, t) => (t % 24 < 8 ? 0 : 1)),
    "that is mostly zero": Array.from({ length: 600 }, () => (random.uniform() < 0.05 ? 3 : 0)),
    "with spikes": Array.from({ length: 600 }, (_, t) => Math.sin(t / 4) + (t % 97 === 0 ? 1e4 : 0)),
    "with a step": Array.from({ length: 600 }, (_, t) => random.normal() + (t < 400 ? 0 : 100)),
    "that is a ramp": Array.from({ length: 600 }, (_, t) => 3 * t),
    "that begins to move at its end": Array.from({ length: 600 }, (_, t) => (t < 590 ? 5 : t)),
  };
  for (const [name, values] of Object.entries(extremes)) {
    test(`${name} gives finite forecasts with ascending quantiles`, async () => {
      const model = await modelOf(values);
      for (const past of [values, values.map((value) => 1e6 * value)]) {
        const { mean, standardDeviation, quantiles } = forecast(model, past);
        for (const numbers of [mean, standardDeviation, ...quantiles])
          assert.ok(Array.from(numbers).every(Number.isFinite), `it says ${Array.from(numbers).slice(0, 3)}`);
        for (let h = 0; h < 24; h++)
          assert.ok(quantiles[0][h] <= quantiles[1][h] && quantiles[1][h] <= quantiles[2][h], `step ${h}`);
      }
    });
  }

  test("of two values by phase is continued, and 200 steps after a step the new level is forecast", async () => {
    const phases = forecast(await modelOf(extremes["of two values"]), extremes["of two values"]).mean;
    // 400 steps end at phase 16.
    for (let h = 0; h < 24; h++)
      assert.ok(Math.abs(phases[h] - ((400 + h) % 24 < 8 ? 0 : 1)) < 0.05, `step ${h}: ${phases[h]}`);
    const { mean } = forecast(await modelOf(extremes["with a step"]), extremes["with a step"]);
    assert.ok(Math.abs(mean[0] - 100) < 10, `it says ${mean[0]}`);
  });

  test("with 10¹² beside 10⁻¹² gives finite forecasts", async () => {
    const random = createRandom(9);
    const values = Array.from(
      { length: 400 },
      (_, t) => (t % 24 === 0 ? 1e12 : 1e-12) * (1 + random.uniform()),
    );
    const { mean, quantiles } = forecast(await modelOf(values), values);
    for (const numbers of [mean, ...quantiles])
      assert.ok(Array.from(numbers).every(Number.isFinite), `forecast ${Array.from(numbers).slice(0, 3)}`);
    assert.ok(quantiles[0][0] <= quantiles[2][0]);
  });

  test("whose values were filled is scored on those that were observed only", async () => {
    const values = weeklyLoad(480);
    const filled = Uint8Array.from(values, (_, t) => (t % 3 === 0 ? 1 : 0));
    const all = await trainOn(values);
    const some = await trainOn(values, { filled });
    assert.ok(all.outcome === "trained" && some.outcome === "trained");
    const share = some.folds.points / all.folds.points;
    assert.ok(Math.abs(share - 2 / 3) < 0.01, `${share} of the steps are scored`);
  });
});
