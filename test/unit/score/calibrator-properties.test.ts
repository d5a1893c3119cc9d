import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { Calibrator, type CalibratorShape } from "../../../src/score/calibrator.ts";
import { learnStep, pick, statedBy } from "./calibrator-story.ts";

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
  steps: fc.array(fc.tuple(anyNumber, anyNumber, anyNumber), { minLength: 1, maxLength: 60 }),
});

type Shape = CalibratorShape & { readonly levels: readonly number[] };

function shapeOf(run: { levels: number[]; horizon: number; channels: number; scale: number }): Shape {
  return { ...run, scale: new Array<number>(run.channels).fill(run.scale) };
}

/** Raw quantiles from a centre and a width, which may be zero. */
function rawFrom({ levels, horizon, channels }: Shape, centre: number, width: number): number[][] {
  return levels.map((level) =>
    new Array<number>(horizon * channels).fill(centre + Math.abs(width) * (level - 0.5)),
  );
}

type Step = readonly [actual: number, centre: number, width: number];

/** States a forecast and learns from the same observation at every output. */
function teach(calibrator: Calibrator, shape: Shape, [actual, centre, width]: Step): Float32Array {
  const stated = statedBy(calibrator, rawFrom(shape, centre, width));
  const { horizon, channels, levels } = shape;
  for (let h = 0; h < horizon; h++) {
    const ofChannel = (c: number) => [...pick(stated, c * horizon + h, levels.length)];
    const quantiles = Array.from({ length: channels }, (_, c) => ofChannel(c)).flat();
    learnStep(calibrator, h, new Array<number>(channels).fill(actual), Float32Array.from(quantiles));
  }
  return stated;
}

describe("whatever a calibrator has learnt", () => {
  test("a calibrator states finite quantiles in order", () => {
    fc.assert(
      fc.property(anyRun, (run) => {
        const shape = shapeOf(run);
        const calibrator = new Calibrator(shape);
        for (const step of run.steps) {
          const stated = teach(calibrator, shape, step);
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

  test("a restored calibrator continues with the same bits", () => {
    fc.assert(
      fc.property(anyRun, fc.nat(60), (run, cut) => {
        const shape = shapeOf(run);
        const through = new Calibrator(shape);
        for (const step of run.steps.slice(0, cut)) teach(through, shape, step);
        const restored = new Calibrator(shape);
        restored.load(Float32Array.from(through.state), through.learntSteps);
        for (const step of run.steps.slice(cut)) {
          assert.deepEqual(teach(restored, shape, step), teach(through, shape, step));
        }
        assert.deepEqual(restored.state, through.state);
        assert.equal(restored.learntSteps, through.learntSteps);
      }),
    );
  });
});
