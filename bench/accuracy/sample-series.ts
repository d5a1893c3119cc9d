// Series to be forecast, one CSV file each: header `timestamp,value`, one row per step, oldest first. The season follows from
// the step between rows, and is also the horizon, unless they are given.

import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

export interface SampleSeries {
  readonly name: string;
  readonly values: Float64Array;
  /** Steps after which the series is expected to repeat. */
  readonly season: number;
  /** Steps ahead. */
  readonly horizon: number;
}

const minuteMs = 60_000;
/** The longest step a season is for, with the season: the day of an hourly series, the year of a monthly one. */
const seasons: readonly (readonly [upToMs: number, season: number])[] = [
  [1.5 * minuteMs, 60],
  [7 * minuteMs, 288],
  [12 * minuteMs, 144],
  [20 * minuteMs, 96],
  [45 * minuteMs, 48],
  [90 * minuteMs, 24],
  [36 * 60 * minuteMs, 7],
  [14 * 24 * 60 * minuteMs, 52],
  [45 * 24 * 60 * minuteMs, 12],
  [135 * 24 * 60 * minuteMs, 4],
];

/** `season` is null where it follows from the timestamps, `horizon` where it is the season. */
export function readSamples(
  directory: string,
  season: number | null,
  horizon: number | null = null,
): SampleSeries[] {
  const files = readdirSync(directory).filter((file) => file.endsWith(".csv"));
  if (files.length === 0)
    throw new Error(`${directory} holds no .csv file; give a directory of series with --data`);
  return files.sort().map((file) => readSample(join(directory, file), season, horizon));
}

function readSample(path: string, givenSeason: number | null, horizon: number | null): SampleSeries {
  const [header, ...rows] = readFileSync(path, "utf8").trim().split(/\r?\n/);
  if (header.trim() !== "timestamp,value") {
    throw new Error(`${path}:1: the header is "${header}"; it must be "timestamp,value"`);
  }
  const timesMs: number[] = [];
  const values = Float64Array.from(rows, (row, i) => {
    const [time, value] = row.split(",");
    // A bare number would be read as some year or month.
    const isDate = /^\d{4}-\d{2}/.test(time);
    const timeMs = isDate
      ? Date.parse(/^\d{4}-\d{2}$/.test(time) ? `${time}-01` : time.replace(" ", "T"))
      : Number.NaN;
    if (Number.isNaN(timeMs) && givenSeason === null)
      throw new Error(`${path}:${i + 2}: "${time}" is not a time; write it as ISO 8601, or give --season`);
    if (value === undefined || value.trim() === "" || !Number.isFinite(Number(value))) {
      throw new Error(`${path}:${i + 2}: "${value}" is not a number; fill gaps before measuring`);
    }
    timesMs.push(timeMs);
    return Number(value);
  });
  const season = givenSeason ?? seasonOf(timesMs, path);
  return { name: basename(path, ".csv"), values, season, horizon: horizon ?? season };
}

function seasonOf(timesMs: readonly number[], path: string): number {
  const steps = timesMs.slice(1).map((time, i) => time - timesMs[i]);
  const stepMs = steps.sort((a, b) => a - b)[Math.floor(steps.length / 2)];
  const found = seasons.find(([upToMs]) => stepMs <= upToMs);
  if (found === undefined)
    throw new Error(`${path}: no season is known for its step; give one with --season`);
  return found[1];
}
