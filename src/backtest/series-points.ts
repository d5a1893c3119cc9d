// The points of the series that are backtested: in the order in which they arrived, and as they came to lie on the grid.

import type { Observation, SeriesSettings } from "../domain.ts";
import { naiveErrorOf } from "../models/scores.ts";
import { Heap } from "../runtime/heap.ts";
import { Series } from "../window/series.ts";

/** Two numbers for each point: a million of them take 16 MB. Can be passed to a thread. */
export interface SeriesPoints {
  readonly seriesId: string;
  readonly timesMs: Float64Array;
  readonly values: Float64Array;
}

const firstCapacity = 256;

class GrowingPoints {
  #timesMs = new Float64Array(firstCapacity);
  #values = new Float64Array(firstCapacity);
  #length = 0;

  add(timeMs: number, value: number): void {
    if (this.#length === this.#values.length) {
      this.#timesMs = grown(this.#timesMs);
      this.#values = grown(this.#values);
    }
    this.#timesMs[this.#length] = timeMs;
    this.#values[this.#length++] = value;
  }

  taken(seriesId: string): SeriesPoints {
    const timesMs = this.#timesMs.slice(0, this.#length);
    return { seriesId, timesMs, values: this.#values.slice(0, this.#length) };
  }
}

function grown(numbers: Float64Array): Float64Array<ArrayBuffer> {
  const longer = new Float64Array(2 * numbers.length);
  longer.set(numbers);
  return longer;
}

/** Series with one channel. */
export async function collectPoints(
  batches: AsyncIterable<readonly Observation[]>,
): Promise<readonly SeriesPoints[]> {
  const bySeries = new Map<string, GrowingPoints>();
  for await (const batch of batches) {
    for (const { seriesId, timeMs, values } of batch) {
      let points = bySeries.get(seriesId);
      if (points === undefined) {
        points = new GrowingPoints();
        bySeries.set(seriesId, points);
      }
      points.add(timeMs, values[0]);
    }
  }
  return [...bySeries].map(([seriesId, points]) => points.taken(seriesId));
}

interface Cursor {
  readonly points: SeriesPoints;
  readonly place: number;
  next: number;
  /** The newest time of the series so far: a late point arrives when it stands in the file. */
  arrivalMs: number;
}

/** The points of all series that arrive at one time, time after time. Points of a series keep their order. */
export function* arrivals(all: readonly SeriesPoints[]): Generator<readonly Observation[]> {
  const heap = new Heap<Cursor>((one, other) => one.arrivalMs - other.arrivalMs || one.place - other.place);
  for (const [place, points] of all.entries())
    if (points.values.length > 0) heap.add({ points, place, next: 0, arrivalMs: points.timesMs[0] });
  let together: Observation[] = [];
  let nowMs = Number.NEGATIVE_INFINITY;
  for (let cursor = heap.take(); cursor !== undefined; cursor = heap.take()) {
    if (cursor.arrivalMs > nowMs && together.length > 0) {
      yield together;
      together = [];
    }
    nowMs = cursor.arrivalMs;
    const { seriesId, timesMs, values } = cursor.points;
    const i = cursor.next++;
    together.push({ seriesId, timeMs: timesMs[i], values: [values[i]] });
    if (cursor.next === values.length) continue;
    cursor.arrivalMs = Math.max(cursor.arrivalMs, timesMs[cursor.next]);
    heap.add(cursor);
  }
  if (together.length > 0) yield together;
}

const pointsLookedAt = 256;

/** The usual time from one point to the next, of the series where that is shortest. Infinity where no series has two. */
export function shortestStepMs(all: readonly SeriesPoints[]): number {
  const steps = all.map(({ timesMs }) => {
    const times = timesMs.slice(0, pointsLookedAt).sort();
    const apart = times.slice(1).map((timeMs, i) => timeMs - times[i]);
    const differences = apart.filter((ms) => ms > 0).sort();
    return differences[differences.length >> 1] ?? Number.POSITIVE_INFINITY;
  });
  return steps.reduce((least, step) => Math.min(least, step), Number.POSITIVE_INFINITY);
}

/** What a series turned out to be. */
export interface Truth {
  /** Forecasts are scored for steps from here on. */
  readonly testFromMs: number;
  /** What errors are divided by: the mean change from step to step before the test part. */
  readonly naiveError: number;
  /** NaN where nothing was observed. */
  at(timeMs: number): number;
}

/** Null for a series that cannot be scored: too short for a grid, or without a change before the test part. */
export function truthOf(points: SeriesPoints, settings: SeriesSettings, testShare: number): Truth | null {
  const { seriesId, timesMs, values } = points;
  const series = new Series(seriesId, settings);
  for (let i = 0; i < values.length && series.grid === null; i++)
    series.push({ seriesId, timeMs: timesMs[i], values: [values[i]] });
  const { interval, offsetMs } = series;
  if (interval === null) return null;
  const slots = Float64Array.from(timesMs, (timeMs) => interval.indexOf(timeMs, offsetMs));
  const first = slots.reduce((least, slot) => Math.min(least, slot), Number.POSITIVE_INFINITY);
  const last = slots.reduce((most, slot) => Math.max(most, slot), Number.NEGATIVE_INFINITY);
  const grid = new Float64Array(last - first + 1).fill(Number.NaN);
  const newestMs = new Float64Array(grid.length).fill(Number.NEGATIVE_INFINITY);
  for (let i = 0; i < values.length; i++) {
    const slot = slots[i] - first;
    if (timesMs[i] < newestMs[slot]) continue;
    newestMs[slot] = timesMs[i];
    grid[slot] = values[i];
  }
  const testFrom = grid.length - Math.floor(testShare * grid.length);
  const naiveError = naiveErrorOf(grid, 0, testFrom);
  if (naiveError === null) return null;
  return {
    testFromMs: interval.timeOf(first + testFrom, offsetMs),
    naiveError,
    at: (timeMs) => grid[interval.indexOf(timeMs, offsetMs) - first] ?? Number.NaN,
  };
}
