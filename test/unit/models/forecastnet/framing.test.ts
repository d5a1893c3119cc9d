import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Scaler } from "../../../../src/models/family.ts";
import { frameHistory, frameWindow, type TrainingSet } from "../../../../src/models/forecastnet/framing.ts";
import { type Framing, specOf } from "../../../../src/models/forecastnet/spec.ts";
import { ForecastnetError } from "../../../../src/runtime/errors.ts";

const scaler: Scaler = { offset: [10], scale: [20] };
const plain: Framing = { level: "none", scale: "none" };

/** τ 3, four steps of input. */
const specWith = (framing: Partial<Framing>) =>
  specOf("FN", 3, { inputLength: 4, framing: { ...plain, ...framing } });

const window = Float64Array.of(10, 20, 30, 40);

function assertClose(found: ArrayLike<number>, expected: readonly number[], tolerance = 1e-6): void {
  assert.equal(found.length, expected.length);
  expected.forEach((value, i) => {
    assert.ok(Math.abs(found[i] - value) <= tolerance, `at ${i}: ${found[i]}, expected ${value}`);
  });
}

describe("a window", () => {
  test("is scaled and no more when nothing else is asked for", () => {
    const { window: framed, offset, scale } = frameWindow(specWith({}), scaler, window);
    assertClose(framed, [0, 0.5, 1, 1.5]);
    assertClose(offset, [10]);
    assertClose(scale, [20]);
  });

  const levels = [
    { level: "mean", expected: 25 },
    { level: "last", expected: 40 },
  ] as const;
  for (const { level, expected } of levels) {
    test(`gives up its level: ${level}`, () => {
      const { window: framed } = frameWindow(specWith({ level }), scaler, window);
      assertClose(
        framed,
        [10, 20, 30, 40].map((value) => (value - expected) / 20),
      );
    });
  }

  test("is divided by its own deviation", () => {
    const deviation = Math.sqrt(125);
    const framed = frameWindow(specWith({ level: "mean", scale: "deviation" }), scaler, window);
    assertClose(
      framed.window,
      [-15, -5, 5, 15].map((value) => value / deviation),
    );
    assertClose(framed.scale, [deviation]);
    assertClose(framed.offset, [25]);
  });

  test("that is flat is divided by a hundredth of the training range, not by nothing", () => {
    const spec = specWith({ level: "mean", scale: "deviation" });
    assertClose(frameWindow(spec, scaler, Float64Array.of(7, 7, 7, 7)).window, [0, 0, 0, 0]);
    const quiet = frameWindow(spec, scaler, Float64Array.of(7, 7.002, 7, 7.002));
    assertClose(quiet.scale, [0.2]);
    assertClose(quiet.window, [-0.005, 0.005, -0.005, 0.005]);
  });

  test("that is longer than needed gives its end", () => {
    const longer = Float64Array.of(Number.NaN, -5, ...window);
    assert.deepEqual(frameWindow(specWith({}), scaler, longer), frameWindow(specWith({}), scaler, window));
  });

  test("of several channels frames each by itself, and leads back for the targets", () => {
    const spec = specOf("FN", 2, {
      inputLength: 2,
      channels: 3,
      targets: [0, 2],
      framing: { level: "last", scale: "none" },
    });
    const three: Scaler = { offset: [0, 0, 0], scale: [1, 10, 100] };
    const {
      window: framed,
      offset,
      scale,
    } = frameWindow(spec, three, Float64Array.of(1, 10, 100, 3, 30, 300));
    assertClose(framed, [-2, -2, -2, 0, 0, 0]);
    assertClose(offset, [3, 300]);
    assertClose(scale, [1, 100]);
  });

  const unfit: readonly (readonly [string, Float64Array, RegExp])[] = [
    ["too short", Float64Array.of(1, 2, 3), /^model a@1: window has 3 values; expected 4 steps or more/],
    ["of NaN", Float64Array.of(1, 2, Number.NaN, 4), /^model a@1: window has NaN at step 2, channel 0/],
    ["of huge values", Float64Array.of(1, 2, 3, 1e60), /^model a@1: window has values too far from/],
  ];
  for (const [what, values, expected] of unfit) {
    test(`${what} is refused by the name of its model`, () => {
      assert.throws(
        () => frameWindow(specWith({}), scaler, values, "model a@1"),
        (error) => {
          assert.ok(error instanceof ForecastnetError);
          assert.equal(error.code, "WINDOW_UNFIT");
          assert.match(error.message, expected);
          return true;
        },
      );
    });
  }

  test("whose values do not fill its channels is refused", () => {
    const spec = specOf("FN", 2, { inputLength: 2, channels: 2 });
    const two: Scaler = { offset: [0, 0], scale: [1, 1] };
    assert.throws(() => frameWindow(spec, two, new Float64Array(5)), /2 steps or more of 2 channels/);
  });
});

describe("a history", () => {
  const history = Float64Array.from({ length: 20 }, (_, t) => 10 + t * t);
  /** The step of each row's first target, found by its value. */
  const originsOf = ({ count, targets }: TrainingSet) =>
    Array.from({ length: count }, (_, row) => Math.round(Math.sqrt(20 * targets[row * 3])));

  test("gives every row whose targets lie in the range, with windows that may reach back before it", () => {
    const set = frameHistory(specWith({}), scaler, history, { from: 6, to: 12 });
    assert.deepEqual(originsOf(set), [6, 7, 8, 9]);
    assert.equal(set.count, 4);
    assertClose(
      set.windows.subarray(0, 4),
      [4, 9, 16, 25].map((v) => v / 20),
    );
    assertClose(
      set.targets.subarray(9, 12),
      [81, 100, 121].map((v) => v / 20),
    );
  });

  test("starts where the first full window ends", () => {
    const set = frameHistory(specWith({}), scaler, history, { from: 0, to: 20 });
    const origins = originsOf(set);
    assert.deepEqual([origins[0], origins[set.count - 1], set.count], [4, 17, 14]);
  });

  test("leaves out rows with a missing value, and only those", () => {
    const broken = Float64Array.from(history);
    broken[10] = Number.NaN;
    const set = frameHistory(specWith({}), scaler, broken, { from: 0, to: 20 });
    assert.deepEqual(originsOf(set), [4, 5, 6, 7, 15, 16, 17]);
  });

  test("asks nothing of the future of channels that are not forecast", () => {
    const spec = specOf("FN", 1, { inputLength: 1, channels: 2, targets: [0] });
    const two: Scaler = { offset: [0, 0], scale: [1, 1] };
    const values = Float64Array.of(1, 1, 2, Number.NaN, 3, 3);
    assert.deepEqual([...frameHistory(spec, two, values, { from: 0, to: 3 }).targets], [2]);
  });

  test("shorter than one row gives an empty set", () => {
    const set = frameHistory(specWith({}), scaler, history.subarray(0, 6), { from: 0, to: 6 });
    assert.deepEqual([set.count, set.windows.length, set.targets.length], [0, 0, 0]);
  });

  test("and a window at the same origin agree, and the way back undoes the way in", () => {
    const spec = specWith({ level: "mean", scale: "deviation" });
    const set = frameHistory(spec, scaler, history, { from: 9, to: 12 });
    const frame = frameWindow(spec, scaler, history.subarray(0, 9));
    assert.deepEqual(set.windows, frame.window);
    set.targets.forEach((value, h) => {
      const raw = frame.offset[0] + frame.scale[0] * value;
      assert.ok(Math.abs(raw - history[9 + h]) < 1e-4, `step ${h}: ${raw}`);
    });
  });

  test("keeps steps and targets of several channels in their places", () => {
    const spec = specOf("FN", 2, { inputLength: 1, channels: 3, targets: [0, 2] });
    const three: Scaler = { offset: [0, 0, 0], scale: [1, 1, 1] };
    const values = Float64Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9);
    const set = frameHistory(spec, three, values, { from: 0, to: 3 });
    assertClose(set.targets, [4, 6, 7, 9]);
  });
});
