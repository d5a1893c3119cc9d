import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  type AffineMap,
  applyMap,
  averageMap,
  firstOutput,
  naiveMap,
  repeatMap,
  smoothMap,
} from "../../../../src/models/regression/affine-map.ts";

function apply({ weights, constant }: AffineMap, window: readonly number[]): number[] {
  return [...constant].map((start, o) =>
    window.reduce((sum, value, i) => sum + weights[o * window.length + i] * value, start),
  );
}

const near = (found: readonly number[], expected: readonly number[]) => {
  assert.equal(found.length, expected.length);
  for (const [i, value] of expected.entries())
    assert.ok(Math.abs(found[i] - value) < 1e-9, `step ${i} is ${found[i]}, not ${value}`);
};

describe("a map that needs no fitting", () => {
  test("repeats the last season, channel by channel, beyond one season too", () => {
    near(apply(naiveMap({ length: 3, horizon: 4, channels: 1 }), [1, 2, 3]), [1, 2, 3, 1]);
    near(apply(naiveMap({ length: 2, horizon: 2, channels: 2 }), [1, 10, 2, 20]), [1, 10, 2, 20]);
  });

  test("continues a seasonal pattern without a trend, whatever the smoothing", () => {
    for (const smoothing of [0.05, 0.5, 1]) {
      const map = smoothMap({ length: 6, horizon: 4, channels: 1 }, 3, {
        level: smoothing,
        profile: 1,
        trend: 0,
      });
      near(apply(map, [5, 7, 9, 5, 7, 9]), [5, 7, 9, 5]);
    }
  });

  test("follows a step of the level as far as the smoothing says", () => {
    const steps = [0, 0, 0, 0, 0, 0, 6, 6].flatMap((level) => [level, level]);
    const [slow, fast] = [0.05, 0.5].map((smoothing) => {
      const [first, second] = apply(
        smoothMap({ length: 16, horizon: 2, channels: 1 }, 2, { level: smoothing, profile: 1, trend: 0 }),
        steps,
      );
      return (first + second) / 2;
    });
    assert.ok(slow > 1.5 && slow < 3 && fast > 5 && fast < 6, `slow ${slow}, fast ${fast}`);
  });
});

describe("a smoothing map", () => {
  test("continues as much of a trend as it is told to, beside a seasonal pattern", () => {
    const window = Array.from({ length: 12 }, (_, t) => 2 * t + [0, 5, -5][t % 3]);
    for (const level of [0.05, 0.5, 1]) {
      const whole = smoothMap({ length: 12, horizon: 4, channels: 1 }, 3, { level, profile: 0.5, trend: 1 });
      near(apply(whole, window), [24, 31, 23, 30]);
      const [without, half, with_] = [0, 0.5, 1].map((trend) => {
        return apply(
          smoothMap({ length: 12, horizon: 6, channels: 1 }, 3, { level, profile: 1, trend }),
          window,
        )[5];
      });
      assert.ok(without < half && half < with_, `${without}, ${half}, ${with_}`);
    }
  });

  test("without a profile forecasts a level for all steps, however the window swings", () => {
    const map = smoothMap({ length: 6, horizon: 3, channels: 1 }, 3, { level: 0.2, profile: null, trend: 0 });
    const [first, ...others] = apply(map, [0, 9, -9, 0, 9, -9]);
    near(others, [first, first]);
  });

  test("that forgets follows the profile of the last season", () => {
    const window = [0, 0, 0, 0, 0, 0, 0, 9, -9];
    const [even, forgetful] = [1, 0.25].map((profile) => {
      return apply(
        smoothMap({ length: 9, horizon: 3, channels: 1 }, 3, { level: 0.05, profile, trend: 0 }),
        window,
      );
    });
    assert.ok(forgetful[1] - forgetful[2] > 1.5 * (even[1] - even[2]), `${forgetful} against ${even}`);
  });
});

describe("a map", () => {
  test("applied to windows gives constant plus weighted sum, for any number of outputs and windows", () => {
    for (const outputs of [1, 3, 4, 6]) {
      const map: AffineMap = {
        weights: Float64Array.from({ length: outputs * 5 }, (_, i) => Math.sin(i)),
        constant: Float64Array.from({ length: outputs }, (_, o) => o),
      };
      const values = Float64Array.from({ length: 9 }, (_, t) => Math.cos(t));
      for (const ends of [[], [7], [5, 9], [6, 8, 7]]) {
        const into = new Float64Array(ends.length * outputs + 2);
        applyMap(map, values, ends, { into, at: 2 });
        near([...into], [0, 0, ...ends.flatMap((end) => apply(map, [...values.subarray(end - 5, end)]))]);
      }
    }
  });

  test("of the first output alone forecasts the next step", () => {
    const map = naiveMap({ length: 3, horizon: 2, channels: 1 });
    near(apply(firstOutput(map), [4, 5, 6]), [4]);
  });
});

describe("the map of one step", () => {
  test("applied to its own forecasts gives what a loop gives, beyond the window too", () => {
    const next: AffineMap = { weights: Float64Array.of(0.2, -0.1, 0.8), constant: Float64Array.of(0.5) };
    const horizon = 7;
    const values = [1, 4, 2];
    for (let h = 0; h < horizon; h++) values.push(...apply(next, values.slice(h, h + 3)));
    near(apply(repeatMap(next, horizon), [1, 4, 2]), values.slice(3));
  });
});

describe("the average of maps", () => {
  test("forecasts the weighted mean of what they forecast, with shares for every step, from the longest window", () => {
    const short = naiveMap({ length: 1, horizon: 2, channels: 1 });
    const long = naiveMap({ length: 3, horizon: 2, channels: 1 });
    const average = averageMap([
      { map: short, shares: [0.25, 1] },
      { map: { ...long, constant: Float64Array.of(4, 8) }, shares: [0.75, 0] },
    ]);
    near(apply(average, [1, 2, 3]), [0.25 * 3 + 0.75 * 5, 3]);
  });
});
