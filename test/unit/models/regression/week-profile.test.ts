// The profile of the week: found where weeks agree, and put back as it was taken out.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { applyMap, averageMap, naiveMap } from "../../../../src/models/regression/affine-map.ts";
import { fitWeek, modulo, weekAhead, withoutWeek } from "../../../../src/models/regression/week-profile.ts";
import { createRandom } from "../../../../src/runtime/random.ts";

const season = 6;
const week = 7 * season;

/** By phase of the week; all days have the same mean. */
const deviations = Array.from({ length: week }, (_, phase) =>
  phase < season ? 5 : phase < 2 * season ? -5 : 0,
);

interface Shown {
  readonly steps?: number;
  readonly firstStep?: number;
  readonly noise?: number;
  readonly drift?: number;
}

function sourceOf({ steps = 12 * week, firstStep = 0, noise = 0.5, drift = 0 }: Shown = {}) {
  const random = createRandom(11);
  let level = 0;
  const values = Float64Array.from({ length: steps }, (_, i) => {
    const number = firstStep + i;
    level += drift * random.normal();
    return (
      level + 3 * (modulo(number, season) % 2) + deviations[modulo(number, week)] + noise * random.normal()
    );
  });
  return { values, channels: 1, season, firstStep };
}

describe("the profile of a week", () => {
  for (const [what, shown] of Object.entries({
    "of a steady series": {},
    "of a series that begins in the middle of a week": { firstStep: 1_000_017 },
    "of a series that begins before 1970": { firstStep: -100 },
    "of a wandering level": { drift: 1 },
  })) {
    test(`${what} is found`, () => {
      const source = sourceOf(shown);
      const profile = fitWeek(source, source.values.length);
      assert.ok(profile !== null, "a week shows");
      for (const [phase, deviation] of deviations.entries())
        assert.ok(
          Math.abs(profile[phase] - deviation) < 2,
          `phase ${phase}: ${profile[phase]}, not ${deviation}`,
        );
    });
  }

  test("leaves out what is missing", () => {
    const source = sourceOf();
    for (let t = 100; t < 130; t++) source.values[t] = Number.NaN;
    const profile = fitWeek(source, source.values.length);
    assert.ok(profile !== null && Math.abs(profile[2] - 5) < 1, `${profile?.[2]}`);
  });

  test("is none where days are alike, where two weeks are not known, and where a value is constant", () => {
    const random = createRandom(5);
    const alike = { ...sourceOf(), values: Float64Array.from({ length: 12 * week }, () => random.normal()) };
    assert.equal(fitWeek(alike, alike.values.length), null);
    assert.equal(fitWeek(sourceOf(), 2 * week - 1), null);
    assert.equal(fitWeek({ ...alike, values: new Float64Array(12 * week).fill(3) }, 12 * week), null);
  });

  test("sees nothing after the end", () => {
    const source = sourceOf();
    const before = fitWeek(source, 6 * week);
    source.values.fill(1e6, 6 * week);
    assert.deepEqual(fitWeek(source, 6 * week), before);
  });

  test("taken out of the values and put back ahead changes no forecast of a map", () => {
    const source = sourceOf({ firstStep: 31 });
    const profile = Float64Array.from(deviations);
    const adjusted = withoutWeek(source, profile);
    const shape = { horizon: 9, channels: 1 };
    const plain = { map: naiveMap({ ...shape, length: week }), shares: new Float64Array(9).fill(0.25) };
    const other = { map: naiveMap({ ...shape, length: season }), shares: new Float64Array(9).fill(0.75) };
    const end = 300;
    const at = (map: typeof plain.map, values: Float64Array) => {
      const into = new Float64Array(9);
      applyMap(map, values, [end], { into, at: 0 });
      return into;
    };
    const term = weekAhead(
      { profile, shares: other.shares, weights: averageMap([other]).weights },
      source.firstStep + end - 1,
      1,
    );
    const average = at(averageMap([plain, other]), source.values);
    const [ofPlain, ofOther] = [at(plain.map, source.values), at(other.map, adjusted)];
    for (let h = 0; h < 9; h++) {
      const expected =
        0.25 * ofPlain[h] + 0.75 * (ofOther[h] + profile[modulo(source.firstStep + end + h, week)]);
      assert.ok(Math.abs(average[h] + term[h] - expected) < 1e-9, `step ${h}`);
    }
  });
});
