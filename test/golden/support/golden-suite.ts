// Compares an executor with the numbers of the authors' published code: outputs, loss, every derivative and, for linear
// outputs, the free-running forecast.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { assertWithin, type Difference, differenceOf, gradientDifference, inWords } from "./difference.ts";
import { type GoldenCase, goldenNames, readGolden } from "./golden-case.ts";
import type { Subject } from "./subject.ts";

/** Half a unit of the last of the files' twelve decimals. */
const rounding = 5e-13;

export function goldenSuite(
  engine: string,
  makeSubject: () => Subject | Promise<Subject>,
  tolerance: number,
): void {
  describe(`${engine} equals the numbers of the authors' code`, () => {
    let subject: Subject;
    before(async () => {
      subject = await makeSubject();
    });
    after(() => subject.close());
    for (const name of goldenNames) {
      test(`${name}: outputs, loss and every derivative`, (t) => {
        const { plan, weights, rows, expected } = readGolden(name);
        const { mean, deviation, loss, gradient } = subject.differentiate(plan, weights, rows);
        assert.equal(
          deviation === null,
          expected.deviation === null,
          "only a Gaussian output has a deviation",
        );
        const largest = assertWithin(tolerance, [
          differenceOf("mean", mean, expected.mean, rounding),
          differenceOf("deviation", deviation ?? [], expected.deviation ?? [], rounding),
          differenceOf("loss", [loss], [expected.loss], rounding),
          gradientDifference(plan, gradient, expected.gradient, rounding),
        ]);
        t.diagnostic(inWords(largest));
      });
    }
    for (const name of goldenNames.filter((name) => name.includes("2-"))) {
      test(`${name}: the free-running forecast`, (t) => {
        t.diagnostic(inWords(assertWithin(tolerance, freeRunDifferences(subject, readGolden(name)))));
      });
    }
  });
}

function freeRunDifferences(
  subject: Subject,
  { plan, weights, rows, freeRunning }: GoldenCase,
): Difference[] {
  assert.ok(freeRunning !== null, "the file of a linear form has its free-running forecast");
  return Array.from({ length: rows.count }, (_, row) => {
    const window = rows.windows.subarray(row * plan.windowSize, (row + 1) * plan.windowSize);
    const expected = freeRunning.filter((_, at) => at % rows.count === row);
    return differenceOf(`row ${row}`, subject.freeRun(plan, weights, window), expected, rounding);
  });
}
