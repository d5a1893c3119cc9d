import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { ErrorSample } from "../../../src/models/error-sample.ts";

const LEVELS = [0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95];

describe("error sample", () => {
  test("quantiles, relative to the median, lie linearly between the order statistics", () => {
    const sample = new ErrorSample(5);
    for (const error of [40, 10, 30, 0, 20]) sample.insert(error);
    const { quantiles, rms, count } = sample.summarize([0, 0.25, 0.4, 0.9, 1]);
    assert.deepEqual(quantiles, [-20, -10, -4, 16, 20]);
    assert.equal(rms, Math.sqrt((100 + 400 + 900 + 1600) / 5));
    assert.equal(count, 5);
  });

  test("any history of insertions and removals gives the bits of the sorted content", () => {
    const error = fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 }).map((x) => x + 0);
    fc.assert(
      fc.property(
        fc.array(error, { minLength: 1, maxLength: 60 }),
        fc.integer({ min: 1, max: 20 }),
        (errors, kept) => {
          const rolling = new ErrorSample(kept);
          errors.forEach((entering, i) => {
            if (i >= kept) rolling.remove(errors[i - kept]);
            rolling.insert(entering);
          });
          const whole = new ErrorSample(kept);
          whole.replaceAll(Float64Array.from(errors.slice(-kept)));
          assert.deepEqual(rolling.summarize(LEVELS), whole.summarize(LEVELS));
        },
      ),
    );
  });

  test("quantiles never fall as their level rises", () => {
    const error = fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e12, max: 1e12 });
    const levels = Array.from({ length: 101 }, (_, i) => i / 100);
    fc.assert(
      fc.property(fc.array(error, { minLength: 1, maxLength: 12 }), (errors) => {
        const sample = new ErrorSample(12);
        sample.replaceAll(Float64Array.from(errors));
        const { quantiles } = sample.summarize(levels);
        for (let l = 1; l < quantiles.length; l++) assert.ok(quantiles[l] >= quantiles[l - 1]);
      }),
    );
  });
});
