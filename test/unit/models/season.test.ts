import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseInterval } from "../../../src/models/interval.ts";
import { bestToRepeat, calendarSeasons, confirmSeasons } from "../../../src/models/season.ts";
import { createRandom } from "../../../src/runtime/random.ts";

const day = 24;
const week = 168;
const wave = (step: number, period: number) => Math.sin((2 * Math.PI * step) / period);

function pastOf(steps: number, valueAt: (step: number, noise: () => number) => number, seed = 1) {
  const random = createRandom(seed);
  const values = Float64Array.from({ length: steps }, (_, step) => valueAt(step, () => random.normal()));
  return { values, channels: 1 };
}

const weekend = (step: number) => (Math.floor(step / day) % 7 >= 5 ? 1 : 0);

describe("the seasons of the calendar", () => {
  const cases: readonly (readonly [string, readonly number[]])[] = [
    ["PT5M", [288, 2016]],
    ["PT15M", [96, 672]],
    ["PT1H", [24, 168]],
    ["PT12H", [2, 14]],
    ["P1D", [7, 365]],
    ["P1W", [52]],
    ["P1M", [12]],
    ["P3M", [4]],
    ["P1Y", []],
    // Steps that no day consists of: a week of seven minutes is whole, five hours fit into neither.
    ["PT7M", [1440]],
    ["PT5H", []],
  ];
  for (const [iso, expected] of cases) {
    test(`of ${iso} are ${expected.length === 0 ? "none" : expected.join(" and ")}`, () => {
      assert.deepEqual(calendarSeasons(parseInterval(iso)), expected);
    });
  }
});

describe("a season is confirmed", () => {
  test("in a clear daily series, and no week with it", () => {
    const past = pastOf(30 * day, (step, noise) => 10 * wave(step, day) + noise());
    assert.deepEqual(confirmSeasons(past, [day, week]), [day]);
  });

  test("beside another one: days whose weekends differ have a week", () => {
    const past = pastOf(6 * week, (step, noise) => 10 * wave(step, day) - 6 * weekend(step) + 2 * noise());
    assert.deepEqual(confirmSeasons(past, [day, week]), [day, week]);
  });

  test("without the shorter one where only the week repeats", () => {
    const past = pastOf(6 * week, (step, noise) => 8 * weekend(step) + noise());
    assert.deepEqual(confirmSeasons(past, [day, week]), [week]);
  });

  test("despite noise twice as large as its amplitude", () => {
    const past = pastOf(60 * day, (step, noise) => wave(step, day) + 2 * noise());
    assert.deepEqual(confirmSeasons(past, [day]), [day]);
  });

  test("despite a trend and steps of the level", () => {
    const past = pastOf(
      30 * day,
      (step, noise) => step / 5 + (step > 300 ? 80 : 0) + 10 * wave(step, day) + noise(),
    );
    assert.deepEqual(confirmSeasons(past, [day]), [day]);
  });

  test("despite gaps and outliers", () => {
    const past = pastOf(30 * day, (step, noise) => {
      if (step % 37 < 9) return Number.NaN;
      return step % 101 === 0 ? 1e6 : 10 * wave(step, day) + noise();
    });
    assert.deepEqual(confirmSeasons(past, [day]), [day]);
  });

  test("in a series that rests at zero all night", () => {
    const past = pastOf(30 * day, (step, noise) => Math.max(0, 10 * wave(step, day) * (1 + 0.2 * noise())));
    assert.deepEqual(confirmSeasons(past, [day]), [day]);
  });

  test("by all channels together", () => {
    const random = createRandom(5);
    const values = new Float64Array(2 * 30 * day);
    for (let i = 0; i < values.length; i++)
      values[i] = i % 2 === 0 ? random.normal() : 100 * wave(i >> 1, day);
    assert.deepEqual(confirmSeasons({ values, channels: 2 }, [day]), [day]);
  });
});

describe("no season is confirmed", () => {
  test("in a flat series, nor in one that is all gaps", () => {
    assert.deepEqual(
      confirmSeasons(
        pastOf(10 * day, () => 7),
        [day],
      ),
      [],
    );
    assert.deepEqual(
      confirmSeasons(
        pastOf(10 * day, () => Number.NaN),
        [day],
      ),
      [],
    );
  });

  test("in a series of another period", () => {
    const past = pastOf(30 * day, (step, noise) => 10 * wave(step, 17) + noise());
    assert.deepEqual(confirmSeasons(past, [day]), []);
  });

  for (const [what, memory] of [
    ["white noise", 0],
    ["a series with a memory of some steps", 0.9],
    ["a random walk", 1],
  ] as const) {
    test(`in ${what}, but for chance`, () => {
      let mistakes = 0;
      for (let seed = 1; seed <= 100; seed++) {
        let level = 0;
        const past = pastOf(
          3 * week,
          (_, noise) => {
            level = memory * level + noise();
            return level;
          },
          seed,
        );
        if (confirmSeasons(past, [day, week]).length > 0) mistakes++;
      }
      assert.ok(mistakes <= 10, `${mistakes} of 100`);
    });
  }
});

describe("seasonal naive had best repeat", () => {
  test("the week where weekdays differ, and the day where they do not", () => {
    const weekly = pastOf(6 * week, (step, noise) => 10 * wave(step, day) - 9 * weekend(step) + noise());
    assert.equal(bestToRepeat(weekly, [day, week]), week);
    const daily = pastOf(6 * week, (step, noise) => 10 * wave(step, day) + noise());
    assert.equal(bestToRepeat(daily, [day, week]), day);
  });

  test("a season only if it is clearly better than those before it", () => {
    const past = pastOf(6 * week, (_, noise) => noise());
    assert.equal(bestToRepeat(past, [day, week, 6]), day);
    assert.equal(bestToRepeat(past, [6, day]), 6);
    let level = 0;
    const walk = pastOf(6 * week, (_, noise) => {
      level += noise();
      return level;
    });
    assert.equal(bestToRepeat(walk, [day, 6, week]), 6);
  });

  test("the first season where there is nothing to compare", () => {
    assert.equal(
      bestToRepeat(
        pastOf(week, () => 1),
        [day, week],
      ),
      day,
    );
    assert.equal(
      bestToRepeat(
        pastOf(3 * week, () => Number.NaN),
        [day, week],
      ),
      day,
    );
  });
});
