import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { Calibrator, type CalibratorShape } from "../../../src/models/calibrator.ts";
import { pick, statedBy } from "./calibrator-story.ts";

const anyLevels = fc
  .uniqueArray(fc.integer({ min: 1, max: 99 }), { minLength: 1, maxLength: 9 })
  .map((percents) => percents.sort((a, b) => a - b).map((percent) => percent / 100));
/** From flat to huge, and within the sizes that single precision has. */
const anyNumber = fc.oneof(
  fc.constantFrom(0, 1, -1, 3.4e38, -3.4e38, 1e-40),
  fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e6, max: 1e6 }),
);
const anyRun = fc.record({
  levels: anyLevels,
  horizon: fc.integer({ min: 1, max: 4 }),
  channels: fc.integer({ min: 1, max: 2 }),
  scale: fc.double({ noNaN: true, min: 1e-6, max: 1e6 }),
  lessons: fc.array(fc.tuple(anyNumber, anyNumber, anyNumber), { minLength: 1, maxLength: 60 }),
});

function shapeOf(run: {
  levels: number[];
  horizon: number;
  channels: number;
  scale: number;
}): CalibratorShape {
  return { ...run, scale: new Array<number>(run.channels).fill(run.scale) };
}

/** Raw quantiles from a centre and a width that may be none. */
function rawFrom({ levels, horizon, channels }: CalibratorShape, centre: number, width: number): number[][] {
  return levels.map((level) =>
    new Array<number>(horizon * channels).fill(centre + Math.abs(width) * (level - 0.5)),
  );
}

type Lesson = readonly [actual: number, centre: number, width: number];

/** States a forecast and learns from what it met, at every output. */
function teach(
  calibrator: Calibrator,
  shape: CalibratorShape,
  [actual, centre, width]: Lesson,
): Float32Array {
  const stated = statedBy(calibrator, rawFrom(shape, centre, width));
  for (let o = 0; o < shape.horizon * shape.channels; o++) {
    calibrator.learn(o, actual, pick(stated, o, shape.levels.length));
  }
  return stated;
}

describe("whatever it learned", () => {
  test("it states finite quantiles in order", () => {
    fc.assert(
      fc.property(anyRun, (run) => {
        const shape = shapeOf(run);
        const calibrator = new Calibrator(shape);
        for (const lesson of run.lessons) {
          const stated = teach(calibrator, shape, lesson);
          assert.ok(stated.every(Number.isFinite));
          for (let o = 0; o < shape.horizon * shape.channels; o++) {
            const own = pick(stated, o, shape.levels.length);
            for (let l = 1; l < own.length; l++) assert.ok(own[l] >= own[l - 1]);
          }
        }
        assert.ok(calibrator.state.every(Number.isFinite));
      }),
    );
  });

  test("a restored calibrator goes on with the same bits", () => {
    fc.assert(
      fc.property(anyRun, fc.nat(60), (run, cut) => {
        const shape = shapeOf(run);
        const through = new Calibrator(shape);
        for (const lesson of run.lessons.slice(0, cut)) teach(through, shape, lesson);
        const restored = new Calibrator(shape);
        restored.load(Float32Array.from(through.state), through.learntSteps);
        for (const lesson of run.lessons.slice(cut)) {
          assert.deepEqual(teach(restored, shape, lesson), teach(through, shape, lesson));
        }
        assert.deepEqual(restored.state, through.state);
        assert.equal(restored.learntSteps, through.learntSteps);
      }),
    );
  });
});
