import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createRandom } from "../../../src/runtime/random.ts";
import { Calibrator } from "../../../src/score/calibrator.ts";
import {
  assertNear,
  LEVELS,
  learnStep,
  pick,
  play,
  rawOf,
  type Story,
  shareBelow,
  shareInside,
  statedBy,
} from "./calibrator-story.ts";

const EIGHTY = [0.1, 0.9] as const;
const NINETY_FIVE = [0.025, 0.975] as const;

function noise(length: number, seed: number): number[] {
  const random = createRandom(seed);
  return Array.from({ length }, () => random.normal());
}

describe("calibrated intervals", () => {
  for (const [words, deviation] of [
    ["far too narrow", 0.3],
    ["right", 1],
    ["far too wide", 3],
  ] as const) {
    test(`intervals on noise hold what they state when the raw ones are ${words}`, () => {
      const story: Story = {
        values: noise(4_000, 1),
        horizon: 6,
        forecast: () => ({ centre: 0, deviation }),
      };
      const stated = play(story);
      assertNear(shareInside(story, stated, EIGHTY, 1_000), 0.8, 0.01);
      assertNear(shareInside(story, stated, NINETY_FIVE, 1_000), 0.95, 0.01);
    });
  }

  test("intervals on a random walk hold what they state when the raw ones do not grow with the steps ahead", () => {
    let level = 0;
    const values = noise(4_000, 2).map((change) => {
      level += change;
      return level;
    });
    const story: Story = {
      values,
      horizon: 12,
      forecast: (t) => ({ centre: t === 0 ? 0 : values[t - 1], deviation: 1 }),
    };
    const stated = play(story);
    assert.ok(shareInside(story, rawOf(story), EIGHTY, 1_000) < 0.6);
    assertNear(shareInside(story, stated, EIGHTY, 1_000), 0.8, 0.02);
    assertNear(shareInside(story, stated, NINETY_FIVE, 1_000), 0.95, 0.02);
  });

  test("intervals hold what they state after a shift that the forecasts never follow", () => {
    const values = noise(1_200, 3).map((value, t) => (t < 600 ? value : value + 8));
    const story: Story = { values, horizon: 12, forecast: () => ({ centre: 0, deviation: 1 }) };
    const stated = play(story);
    assert.ok(shareInside(story, rawOf(story), NINETY_FIVE, 600) < 0.01);
    assertNear(shareInside(story, stated, EIGHTY, 600), 0.8, 0.03);
    assertNear(shareInside(story, stated, NINETY_FIVE, 600), 0.95, 0.03);
  });

  for (const levels of [[0.1, 0.9], [0.1, 0.2, 0.9], [0.05, 0.1, 0.5], [0.9]]) {
    test(`each of the levels ${levels.join(", ")} holds what it states`, () => {
      const story: Story = {
        values: noise(4_000, 8),
        horizon: 6,
        forecast: () => ({ centre: 1, deviation: 0.5 }),
        levels,
      };
      const stated = play(story);
      for (const level of levels.filter((one) => one !== 0.5)) {
        assertNear(shareBelow(story, stated, level, 1_000), level, 0.015);
      }
    });
  }

  test("intervals at all steps ahead reach a shifted level within a few steps", () => {
    const values = noise(700, 4).map((value, t) => (t < 600 ? value : value + 8));
    const story: Story = { values, horizon: 24, forecast: () => ({ centre: 0, deviation: 1 }) };
    const stated = play(story);
    // Stated after three shifted observations, long before the far steps have matured.
    const [near, far] = [0, 23].map((h) => pick(stated[603], h, LEVELS.length));
    assert.ok(near[8] > 8 && far[8] > 8, `${near[8]} and ${far[8]} do not reach the new level`);
  });

  test("intervals at far steps widen by what near steps have shown, before their own observations come", () => {
    const story: Story = {
      values: noise(12, 9),
      horizon: 24,
      forecast: () => ({ centre: 0, deviation: 0.2 }),
    };
    const [raw, far] = [rawOf(story), play(story)].map((stated) => pick(stated[11], 23, LEVELS.length));
    assert.ok(
      far[0] < raw[0] && far[8] > raw[8],
      `${far[0]} to ${far[8]} is not wider than the raw interval`,
    );
    assertNear(far[8] + far[0], 0, 1e-6);
  });

  test("both ends of an interval follow a shift when all errors have been on one side for long", () => {
    const values = noise(1_000, 10).map((value) => value + 8);
    const stated = play({ values, horizon: 6, forecast: () => ({ centre: 0, deviation: 1 }) });
    for (const h of [0, 5]) {
      const own = pick(stated[999], h, LEVELS.length);
      assert.ok(own[0] > 4, `the lowest level at step ${h} is still at ${own[0]}`);
    }
  });

  test("intervals become narrow again when the forecasts are right again", () => {
    const values = noise(2_000, 5).map((value, t) => (t < 600 || t >= 648 ? value : value + 8));
    const stated = play({ values, horizon: 24, forecast: () => ({ centre: 0, deviation: 1 }) });
    const widthAt = (t: number) => {
      const own = pick(stated[t], 23, LEVELS.length);
      return own[6] - own[2];
    };
    assert.ok(widthAt(640) > 6);
    assert.ok(widthAt(1_999) < 4, `the 80 % interval is still ${widthAt(1_999)} wide`);
  });
});

describe("the median", () => {
  const medianOf = (stated: Float32Array, h: number) => pick(stated, h, LEVELS.length)[4];

  test("a median that is right stays as forecast", () => {
    const stated = play({
      values: noise(2_000, 6),
      horizon: 6,
      forecast: () => ({ centre: 0, deviation: 0.5 }),
    });
    assert.ok(stated.every((own) => medianOf(own, 0) === 0 && medianOf(own, 5) === 0));
  });

  test("a median that is far off is pushed towards the observations", () => {
    const values = noise(1_000, 7).map((value) => value + 8);
    const stated = play({ values, horizon: 6, forecast: () => ({ centre: 0, deviation: 1 }) });
    assertNear(medianOf(stated[999], 0), 8, 1.5);
    assertNear(medianOf(stated[999], 5), 8, 1.5);
  });
});

describe("a calibrator", () => {
  test("the state has one number per level and output, and per channel two and one per interval", () => {
    const shape = { channels: 2, horizon: 24, scale: [1, 5] };
    assert.equal(new Calibrator({ ...shape, levels: LEVELS }).state.length, 9 * 48 + 2 * (2 + 4));
    assert.equal(new Calibrator({ ...shape, levels: [0.1, 0.9] }).state.length, 3 * 48 + 2 * (2 + 1));
  });

  test("raw quantiles stay unchanged before the first update", () => {
    const calibrator = new Calibrator({ levels: [0.1, 0.5, 0.9], channels: 1, horizon: 2, scale: [1] });
    assert.deepEqual(
      [
        ...statedBy(calibrator, [
          [-1, -2],
          [0, 0.5],
          [1, 2],
        ]),
      ],
      [-1, -2, 0, 0.5, 1, 2],
    );
  });

  test("a calibrator learns nothing from values that equal their quantiles, as on a flat series", () => {
    const values = new Array<number>(500).fill(0.1);
    const stated = play({ values, horizon: 4, forecast: () => ({ centre: 0.1, deviation: 0 }) });
    assert.ok(stated.every((own) => own.every((quantile) => quantile === Math.fround(0.1))));
  });

  test("a level that equals its inner neighbour does not move inwards", () => {
    const levels = [0.1, 0.5, 0.9, 0.95];
    const after = (stated: Float32Array) => {
      const calibrator = new Calibrator({ levels, channels: 1, horizon: 1, scale: [1] });
      learnStep(calibrator, 0, [0.5], stated);
      return [...calibrator.state];
    };
    assert.equal(after(Float32Array.of(-1, 0, 2, 2))[3], 0);
    assert.ok(after(Float32Array.of(-1, 0, 2, 2))[2] < 0);
    assert.ok(after(Float32Array.of(-1, 0, 2, 3))[3] < 0);
  });

  test("an interval with a level that equals its inner neighbour is not narrowed", () => {
    const widthAfter = (stated: Float32Array) => {
      const calibrator = new Calibrator({ levels: LEVELS, channels: 1, horizon: 1, scale: [1] });
      learnStep(calibrator, 0, [0.5], stated);
      return calibrator.state[9 + 2];
    };
    assert.ok(widthAfter(Float32Array.of(-4, -3, -2, -1, 0, 1, 2, 3, 4)) < 0);
    assert.equal(widthAfter(Float32Array.of(-4, -3, -2, -1, 0, 1, 2, 4, 4)), 0);
    assert.equal(widthAfter(Float32Array.of(-4, -4, -2, -1, 0, 1, 2, 3, 4)), 0);
  });

  test("the state of an earlier version, without sides and widths, is continued", () => {
    const shape = { levels: [0.1, 0.5, 0.9], channels: 2, horizon: 2, scale: [1, 3] };
    const earlier = Float32Array.from({ length: 3 * 4 + 2 }, (_, i) => i + 1);
    const calibrator = new Calibrator(shape);
    learnStep(calibrator, 0, [9, 9], Float32Array.of(-1, 0, 1, -1, 0, 1));
    calibrator.load(earlier, 40);
    assert.deepEqual([...calibrator.state], [...earlier, 0, 0, 0, 0]);
    assert.equal(calibrator.learntSteps, 40);
    assert.equal(calibrator.canLoad(earlier.length - 1), false);
  });

  test("each channel learns from its own observations only", () => {
    const calibrator = new Calibrator({ levels: [0.1, 0.9], channels: 2, horizon: 1, scale: [1, 1] });
    for (let i = 0; i < 50; i++) learnStep(calibrator, 0, [9, -9], Float32Array.of(-1, 1, -1, 1));
    const [low, otherLow, high, otherHigh] = statedBy(calibrator, [
      [-1, -1],
      [1, 1],
    ]);
    assert.ok(high > 9 && high > -1.5 * low, `the channel at 9 has ${low} to ${high}`);
    assert.ok(
      otherLow < -9 && -otherLow > 1.5 * otherHigh,
      `the channel at -9 has ${otherLow} to ${otherHigh}`,
    );
  });

  test("a calibrator refuses unusable levels, states and observations", () => {
    const shape = { channels: 1, horizon: 1, scale: [1] };
    for (const levels of [[], [0, 0.5], [0.5, 1], [0.9, 0.1], [0.5, 0.5]]) {
      assert.throws(() => new Calibrator({ ...shape, levels }), /levels must ascend/);
    }
    const calibrator = new Calibrator({ ...shape, levels: [0.5] });
    assert.throws(() => calibrator.load(new Float32Array(5), 1), /has 3 numbers, not 5/);
    assert.throws(() => learnStep(calibrator, 0, [Number.NaN], Float32Array.of(0)), /cannot learn from NaN/);
  });
});
