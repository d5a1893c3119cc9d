// The rows that a net learns from: all those of one series, or of a cohort's members as many as are worth the work,
// drawn evenly from each.

import { frameHistory, type TrainingSet } from "../../models/forecastnet/framing.ts";
import { sharedPlan } from "../../models/forecastnet/shared-plan.ts";
import type { ForecastNetSpec } from "../../models/forecastnet/spec.ts";
import { createRandom } from "../../runtime/random.ts";
import type { Scalers } from "./scalers.ts";
import type { TrainingSeries } from "./training-series.ts";

/** A training takes some forty thousand rows in all, with repetition: more than this it would hardly see. */
const mostRows = 12_000;

export interface RowsWanted {
  readonly spec: ForecastNetSpec;
  readonly scalers: Scalers;
  /** Rows of each series are taken from the steps before this. */
  readonly ends: readonly number[];
  readonly seed: number;
}

/** Older rows before newer ones. */
export function frameRows(series: readonly TrainingSeries[], wanted: RowsWanted): TrainingSet {
  const { spec, scalers, ends, seed } = wanted;
  const frame = (member: number) =>
    frameHistory(spec, scalers.own[member], series[member].values, { from: 0, to: ends[member] });
  if (series.length === 1) return frame(0);
  const random = createRandom(seed);
  const quota = Math.max(1, Math.floor(mostRows / series.length));
  // Member by member, so that never more than one member's rows are there in full.
  const drawn = series.map((_, member) => drawRows(frame(member), quota, random.uniform(), spec));
  return mergeByAge(drawn, spec);
}

/** `most` rows at equal distances, the first of them by `phase`; all when there are no more. */
function drawRows(rows: TrainingSet, most: number, phase: number, spec: ForecastNetSpec): TrainingSet {
  if (rows.count <= most) return rows;
  const picks = Array.from({ length: most }, (_, i) => ({
    set: rows,
    row: Math.floor(((i + phase) * rows.count) / most),
  }));
  return gatherRows(picks, spec);
}

/** By how far through its member's rows each one lies: what is chosen on the last rows is chosen on all members. */
function mergeByAge(sets: readonly TrainingSet[], spec: ForecastNetSpec): TrainingSet {
  const picks = sets.flatMap((set) =>
    Array.from({ length: set.count }, (_, row) => ({ set, row, age: (row + 0.5) / set.count })),
  );
  return gatherRows(
    picks.sort((one, other) => one.age - other.age),
    spec,
  );
}

/** About `count` rows, evenly spaced. */
export function thinRows(rows: TrainingSet, spec: ForecastNetSpec, count: number): TrainingSet {
  const stride = Math.max(1, Math.floor(rows.count / count));
  const kept = Math.ceil(rows.count / stride);
  return gatherRows(
    Array.from({ length: kept }, (_, i) => ({ set: rows, row: i * stride })),
    spec,
  );
}

function gatherRows(
  picks: readonly { readonly set: TrainingSet; readonly row: number }[],
  spec: ForecastNetSpec,
): TrainingSet {
  const { windowSize, targets } = sharedPlan(spec);
  const outputs = spec.horizon * targets;
  const windows = new Float32Array(picks.length * windowSize);
  const wanted = new Float32Array(picks.length * outputs);
  picks.forEach(({ set, row }, i) => {
    windows.set(set.windows.subarray(row * windowSize, (row + 1) * windowSize), i * windowSize);
    wanted.set(set.targets.subarray(row * outputs, (row + 1) * outputs), i * outputs);
  });
  return { count: picks.length, windows, targets: wanted };
}
