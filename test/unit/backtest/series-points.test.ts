// Points of a backtest: their order of arrival, and what the series turned out to be.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  arrivals,
  collectPoints,
  type SeriesPoints,
  shortestStepMs,
  truthOf,
} from "../../../src/backtest/series-points.ts";
import type { Observation } from "../../../src/domain.ts";
import { loadConfig } from "../../../src/runtime/config/load.ts";
import { seriesRules } from "../../../src/runtime/config/series-rules.ts";

const hourMs = 3_600_000;
const settings = seriesRules(loadConfig({ argv: [], env: {} }).series)("a");

function pointsOf(
  seriesId: string,
  ...points: readonly (readonly [hour: number, value: number])[]
): SeriesPoints {
  return {
    seriesId,
    timesMs: Float64Array.from(points, ([hour]) => hour * hourMs),
    values: Float64Array.from(points, ([, value]) => value),
  };
}

function inHours(groups: Iterable<readonly Observation[]>): readonly string[] {
  return [...groups].map((group) =>
    group.map(({ seriesId, timeMs }) => `${seriesId}${timeMs / hourMs}`).join(" "),
  );
}

describe("points", () => {
  test("are collected by series, in the order of their rows", async () => {
    async function* batches() {
      yield [{ seriesId: "a", timeMs: 2, values: [20] }];
      yield Array.from({ length: 1_000 }, (_, i) => ({
        seriesId: i % 2 === 0 ? "b" : "a",
        timeMs: i,
        values: [i],
      }));
    }
    const [a, b] = await collectPoints(batches());
    assert.deepEqual([a?.seriesId, a?.values.length, a?.values[0], a?.values[1]], ["a", 501, 20, 1]);
    assert.deepEqual([b?.seriesId, b?.values.length, b?.timesMs[499]], ["b", 500, 998]);
  });

  test("arrive together if their times are equal, whatever series they belong to", () => {
    const all = [pointsOf("a", [0, 1], [2, 1]), pointsOf("b", [1, 1], [2, 1], [3, 1])];
    assert.deepEqual(inHours(arrivals(all)), ["a0", "b1", "a2 b2", "b3"]);
  });

  test("that are late arrive where they stand in the file", () => {
    const all = [pointsOf("a", [0, 1], [3, 1], [1, 1], [4, 1]), pointsOf("b", [2, 1], [3, 1])];
    assert.deepEqual(inHours(arrivals(all)), ["a0", "b2", "a3 a1 b3", "a4"]);
  });

  test("have a usual step: the shortest of all series, whatever their gaps and order", () => {
    const slow = pointsOf("a", [0, 1], [24, 1], [48, 1], [49, 1]);
    const fast = pointsOf("b", [3, 1], [0, 1], [1, 1], [2, 1], [2, 1], [9, 1]);
    assert.equal(shortestStepMs([slow, fast]), hourMs);
    assert.equal(shortestStepMs([slow]), 24 * hourMs);
    assert.equal(shortestStepMs([pointsOf("c", [0, 1])]), Number.POSITIVE_INFINITY);
  });

  test("of no series are none", () => {
    assert.deepEqual(inHours(arrivals([pointsOf("a")])), []);
  });
});

describe("the truth of a series", () => {
  const hourly = Array.from({ length: 20 }, (_, hour) => [hour, hour % 2] as const);

  test("is its values by time, with gaps, and the mean change before the test part", () => {
    const truth = truthOf(pointsOf("a", ...hourly.filter(([hour]) => hour !== 15)), settings, 0.5);
    assert.equal(truth?.testFromMs, 10 * hourMs);
    assert.equal(truth?.naiveError, 1);
    assert.deepEqual([truth?.at(11 * hourMs), truth?.at(12 * hourMs)], [1, 0]);
    assert.ok(Number.isNaN(truth?.at(15 * hourMs)), "a gap has a value");
    assert.ok(Number.isNaN(truth?.at(99 * hourMs)), "a time beyond the end has a value");
  });

  test("has the value of the latest time where several share a step", () => {
    const points = pointsOf("a", ...hourly, [5.2, 50], [5.1, 40]);
    assert.equal(truthOf(points, settings, 0.5)?.at(5 * hourMs), 50);
  });

  test("is unknown for a series without an interval, and for one that does not move", () => {
    assert.equal(truthOf(pointsOf("a", [0, 1], [1, 2]), settings, 0.5), null);
    assert.equal(truthOf(pointsOf("a", ...hourly.map(([hour]) => [hour, 7] as const)), settings, 0.5), null);
  });
});
