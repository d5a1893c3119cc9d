// What the linear family learns, and what it makes of histories that are short, broken or extreme.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Distribution, TrainingSeries } from "../../../../src/models/family.ts";
import { leastSteps } from "../../../../src/models/linear/candidates.ts";
import { type LinearModel, linear } from "../../../../src/models/linear/family.ts";
import { createRandom } from "../../../../src/runtime/random.ts";

const levels = [0.1, 0.5, 0.9];
const signal = new AbortController().signal;

interface Task {
  readonly horizon?: number;
  readonly season?: number;
  readonly filled?: Uint8Array;
}

function trainOn(values: ArrayLike<number>, { horizon = 24, season = 24, filled }: Task = {}) {
  const series: TrainingSeries = { values: Float64Array.from(values), filled: filled ?? null };
  const plan = { family: "linear", horizon, season, form: "auto", effort: "normal", members: 1 } as const;
  return linear.train({ key: "s", plan, channels: 1, series: [series], seed: 1 }, signal);
}

async function modelOf(values: ArrayLike<number>, task: Task = {}): Promise<LinearModel> {
  const result = await trainOn(values, task);
  assert.ok(result.outcome === "trained", result.outcome === "failed" ? result.reason : result.outcome);
  return { ...result.model, version: "v1" };
}

function forecast(model: LinearModel, past: ArrayLike<number>): Distribution {
  const { horizon } = model.shape;
  const input = {
    values: Float64Array.from(past),
    channels: 1,
    settings: { horizon, season: horizon },
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

  test("without a number, or with a gap in every season, is refused with a reason", async () => {
    const empty = await trainOn(new Array(300).fill(Number.NaN)).catch((error: Error) => error);
    assert.match(JSON.stringify(empty instanceof Error ? empty.message : empty), /no value|without a gap/);
    const torn = weeklyLoad(600).map((value, t) => (t % 24 === 5 ? Number.NaN : value));
    const result = await trainOn(torn);
    assert.equal(result.outcome, "failed");
    assert.match(JSON.stringify(result), /have no 48 steps without a gap/);
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
