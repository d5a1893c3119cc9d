import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { findInterval } from "../../../src/window/interval-finder.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const START = Date.UTC(2024, 0, 1);
const JITTER = [120, -340, 80, 0, 510, -60, 300, -480];

function times(stepMs: number, offsetMs = 0, jitterMs = 0): number[] {
  return JITTER.map((jitter, i) => START + i * stepMs + offsetMs + Math.round((jitter / 510) * jitterMs));
}

function found(timesMs: readonly number[]) {
  const { interval, offsetMs } = findInterval([...timesMs].sort((a, b) => a - b));
  return { iso: interval.iso, offsetMs };
}

describe("the interval finder", () => {
  test("exact times give their step and no offset", () => {
    assert.deepEqual(found(times(5 * MINUTE)), { iso: "PT5M", offsetMs: 0 });
    assert.deepEqual(found(times(DAY)), { iso: "P1D", offsetMs: 0 });
    assert.deepEqual(found(times(500)), { iso: "PT0.5S", offsetMs: 0 });
  });

  test("jitter around the step does not change the interval", () => {
    assert.deepEqual(found(times(HOUR, 0, 20_000)), { iso: "PT1H", offsetMs: 0 });
  });

  test("a phase larger than the jitter becomes the offset", () => {
    assert.deepEqual(found(times(DAY, 6 * HOUR)), { iso: "P1D", offsetMs: 6 * HOUR });
    const noon = found(times(DAY, 12 * HOUR, 30_000));
    assert.equal(noon.iso, "P1D");
    assert.ok(Math.abs(Math.abs(noon.offsetMs) - 12 * HOUR) <= 30_000, `${noon.offsetMs}`);
  });

  test("gaps among the first points do not double the step", () => {
    const [first, ...rest] = times(HOUR);
    const gappy = [first, ...rest.map((time, i) => time + (i >= 2 ? 4 : 0) * HOUR + (i >= 5 ? 9 : 0) * HOUR)];
    assert.equal(found(gappy).iso, "PT1H");
  });

  test("months, quarters and years are calendar steps", () => {
    const monthly = JITTER.map((_, i) => Date.UTC(2023, i, 15));
    const quarterly = JITTER.map((_, i) => Date.UTC(2023, 3 * i, 1));
    const yearly = JITTER.map((_, i) => Date.UTC(2010 + i, 5, 30));
    assert.deepEqual(found(monthly), { iso: "P1M", offsetMs: 0 });
    assert.deepEqual(found(quarterly), { iso: "P3M", offsetMs: 0 });
    assert.deepEqual(found(yearly), { iso: "P1Y", offsetMs: 0 });
  });

  test("an unusual step is rounded to its unit, not to a common step", () => {
    assert.equal(found(times(37_123)).iso, "PT37S");
    assert.equal(found(times(1417)).iso, "PT1.417S");
    assert.equal(found(times(42 * MINUTE)).iso, "PT42M");
  });

  test("weekly times keep their weekday as offset", () => {
    const tuesday = found(times(7 * DAY, DAY));
    assert.deepEqual(tuesday, { iso: "P1W", offsetMs: DAY });
  });

  test("times before the epoch give the same interval", () => {
    assert.deepEqual(found(times(HOUR, -60 * 365 * DAY)), { iso: "PT1H", offsetMs: 0 });
  });
});
