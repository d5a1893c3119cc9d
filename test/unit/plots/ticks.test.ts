// The marks of axes: round, inside the range, few, and labelled as people write them.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { timeTicks, valueTicks } from "../../../src/plots/ticks.ts";

describe("marks of values", () => {
  const labels = (low: number, high: number) => valueTicks(low, high, 5).map(({ label }) => label);

  test("are round", () => {
    assert.deepEqual(labels(0.2, 9.7), ["2", "4", "6", "8"]);
    assert.deepEqual(labels(-0.31, 0.29), ["-0.2", "0.0", "0.2"]);
    assert.deepEqual(labels(1_000_000, 5_000_000), ["1000000", "2000000", "3000000", "4000000", "5000000"]);
  });

  test("are ascending, inside and at most as many as allowed, for any range", () => {
    const number = fc.double({ min: -1e12, max: 1e12, noNaN: true });
    fc.assert(
      fc.property(
        number,
        fc.double({ min: 1e-6, max: 1e12, noNaN: true }),
        fc.integer({ min: 2, max: 10 }),
        (low, range, most) => {
          const high = low + range;
          fc.pre(high - low > 1e-9 * Math.abs(low));
          const ticks = valueTicks(low, high, most);
          const slack = 1e-9 * Math.max(Math.abs(low), Math.abs(high));
          assert.ok(ticks.length <= most + 1, `${ticks.length} marks`);
          for (const [i, { at }] of ticks.entries()) {
            assert.ok(at >= low - slack && at <= high + slack, `${at} is outside ${low} … ${high}`);
            assert.ok(i === 0 || at > (ticks[i - 1]?.at ?? 0));
          }
        },
      ),
    );
  });

  test("of a flat series are its value", () => {
    assert.deepEqual(labels(7, 7), ["7"]);
  });
});

describe("marks of times", () => {
  const labels = (from: string, to: string) =>
    timeTicks(Date.parse(from), Date.parse(to), 6).map(({ label }) => label);

  test("are hours within a day, and its date at midnight", () => {
    assert.deepEqual(labels("2024-03-05T18:30:00Z", "2024-03-06T06:00:00Z"), [
      "20:00",
      "22:00",
      "6 Mar",
      "02:00",
      "04:00",
      "06:00",
    ]);
  });

  test("are Mondays within months", () => {
    assert.deepEqual(labels("2024-03-01T00:00:00Z", "2024-04-01T00:00:00Z"), [
      "4 Mar",
      "11 Mar",
      "18 Mar",
      "25 Mar",
      "1 Apr",
    ]);
  });

  test("are months within a year, and years beyond", () => {
    assert.deepEqual(labels("2023-11-10T00:00:00Z", "2024-04-20T00:00:00Z"), [
      "Dec 2023",
      "2024",
      "Feb 2024",
      "Mar 2024",
      "Apr 2024",
    ]);
    assert.deepEqual(labels("1962-05-01T00:00:00Z", "1990-01-01T00:00:00Z"), [
      "1965",
      "1970",
      "1975",
      "1980",
      "1985",
      "1990",
    ]);
  });

  test("are inside and few, for any range", () => {
    const ms = fc.integer({ min: -60 * 365 * 86_400_000, max: 60 * 365 * 86_400_000 });
    fc.assert(
      fc.property(ms, fc.integer({ min: 1, max: 100 * 365 * 86_400_000 }), (fromMs, rangeMs) => {
        const ticks = timeTicks(fromMs, fromMs + rangeMs, 8);
        assert.ok(ticks.length <= 10, `${ticks.length} marks`);
        for (const { at } of ticks) assert.ok(at >= fromMs && at <= fromMs + rangeMs);
      }),
    );
  });
});
