// The rows that nets and linear maps are fitted to, and the scalers that frame them. A series gives all its rows. The members
// of a cohort give equally many, no more than are worth the work.

import { createRandom } from "../../../runtime/random.ts";
import type { Scaler, TrainingSeries } from "../../family.ts";
import { fitScaler, fitSeriesScaler, sharedScaler } from "../../scaler.ts";
import { type FrameSpec, frameHistory, type TrainingSet } from "../framing.ts";
import type { ForecastNetSpec } from "../spec.ts";

/** Most rows of a cohort. A training takes about forty thousand rows with repetition, so more would hardly be used. */
const mostRows = 12_000;

export interface RowSource {
  readonly spec: FrameSpec;
  readonly scalers: Scalers;
  /** For each series, rows come from the steps before this. */
  readonly ends: readonly number[];
  readonly seed: number;
}

/** Rows in the order of their age, oldest first. */
export function frameRows(series: readonly TrainingSeries[], source: RowSource): TrainingSet {
  const { spec, scalers, ends, seed } = source;
  const frame = (member: number) =>
    frameHistory(spec, scalers.own[member], series[member].values, { from: 0, to: ends[member] });
  if (series.length === 1) return frame(0);
  const random = createRandom(seed);
  const quota = Math.max(1, Math.floor(mostRows / series.length));
  // Member by member, so that the full rows of one member at most are in memory.
  const drawn = series.map((_, member) => drawRows(frame(member), quota, random.uniform(), spec));
  return mergeByAge(drawn, spec);
}

/** At most `most` rows, evenly spaced. `phase`, between 0 and 1, moves the first one. */
function drawRows(rows: TrainingSet, most: number, phase: number, spec: FrameSpec): TrainingSet {
  if (rows.count <= most) return rows;
  const picks = Array.from({ length: most }, (_, i) => ({
    set: rows,
    row: Math.floor(((i + phase) * rows.count) / most),
  }));
  return gatherRows(picks, spec);
}

/** Sorts by position among the rows of the same member, so that the last rows are a sample of all members. */
function mergeByAge(sets: readonly TrainingSet[], spec: FrameSpec): TrainingSet {
  const picks = sets.flatMap((set) =>
    Array.from({ length: set.count }, (_, row) => ({ set, row, age: (row + 0.5) / set.count })),
  );
  return gatherRows(
    picks.sort((one, other) => one.age - other.age),
    spec,
  );
}

/** About `count` rows, evenly spaced. */
export function thinRows(rows: TrainingSet, spec: FrameSpec, count: number): TrainingSet {
  const stride = Math.max(1, Math.floor(rows.count / count));
  const kept = Math.ceil(rows.count / stride);
  return gatherRows(
    Array.from({ length: kept }, (_, i) => ({ set: rows, row: i * stride })),
    spec,
  );
}

function gatherRows(
  picks: readonly { readonly set: TrainingSet; readonly row: number }[],
  spec: FrameSpec,
): TrainingSet {
  const windowSize = spec.inputLength * spec.channels;
  const outputs = spec.horizon * spec.targets.length;
  const windows = new Float32Array(picks.length * windowSize);
  const wanted = new Float32Array(picks.length * outputs);
  picks.forEach(({ set, row }, i) => {
    windows.set(set.windows.subarray(row * windowSize, (row + 1) * windowSize), i * windowSize);
    wanted.set(set.targets.subarray(row * outputs, (row + 1) * outputs), i * outputs);
  });
  return { count: picks.length, windows, targets: wanted };
}

export interface Scalers {
  /** One per series: frames its rows. */
  readonly own: readonly Scaler[];
  /** Stored with the model. */
  readonly served: Scaler;
}

/** Fitted to the steps before `ends`, one end per series. Each channel must have a value there. Nets of the paper see no roots. */
export function fitScalers(
  series: readonly TrainingSeries[],
  { channels, shortcut }: Pick<ForecastNetSpec, "channels" | "shortcut">,
  ends: readonly number[],
): Scalers {
  if (series.length === 1 && shortcut === "linear") {
    const served = fitSeriesScaler(series[0], channels, ends[0]);
    return { own: [served], served };
  }
  const own = series.map(({ values }, i) => fitScaler(values, channels, ends[i]));
  return { own, served: own.length === 1 ? own[0] : sharedScaler(own) };
}
