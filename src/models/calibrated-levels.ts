// What the calibrator knows of a list of quantile levels: on which side of the middle each one lies, how fast it learns,
// and how far it moves when the whole distribution is found too narrow or too wide.

import { normalQuantile } from "./normal.ts";

/** η: the fastest a level learns, in typical errors per step. */
const fastest = 0.18;
/** Of the scale mode, in the same unit. */
const scaleRate = 0.05;

export interface CalibratedLevels {
  readonly levels: Float64Array;
  /** Levels below the middle are 0 … below − 1, those above it from `above` on. */
  readonly below: number;
  readonly above: number;
  /** The index of level .5, or −1. */
  readonly median: number;
  /** True when there is a middle to measure from: the median, or levels on both sides of it. */
  readonly hasCentre: boolean;
  /** w = η·(2p − 1)²: the ends carry the stated coverage and learn fastest, the median does not learn. */
  readonly rates: Float64Array;
  /** z = Φ⁻¹(p) and the same as the scale mode moves it: κ·z/‖z‖. */
  readonly normal: Float64Array;
  readonly scaleSteps: Float64Array;
  /** The quantiles of one output on their way, of one calibrator after the other. */
  readonly row: Float64Array;
}

const knownByLevels = new Map<string, CalibratedLevels>();

/** A fleet has a hundred thousand calibrators and one list of levels. */
export function calibratedLevels(levels: readonly number[]): CalibratedLevels {
  const key = levels.join();
  const known = knownByLevels.get(key) ?? calibrate(levels);
  knownByLevels.set(key, known);
  return known;
}

function calibrate(levels: readonly number[]): CalibratedLevels {
  const isUsable = levels.every((level, l) => level > (l === 0 ? 0 : levels[l - 1]) && level < 1);
  if (levels.length === 0 || !isUsable) {
    throw new RangeError(`levels must ascend between 0 and 1; these are ${levels.join(", ")}`);
  }
  const median = levels.indexOf(0.5);
  const below = levels.filter((level) => level < 0.5).length;
  const above = median < 0 ? below : below + 1;
  const normal = Float64Array.from(levels, (level) => (level === 0.5 ? 0 : normalQuantile(level)));
  const length = Math.sqrt(normal.reduce((sum, z) => sum + z * z, 0)) || 1;
  return {
    levels: Float64Array.from(levels),
    below,
    above,
    median,
    hasCentre: median >= 0 || (below > 0 && above < levels.length),
    rates: Float64Array.from(levels, (level) => fastest * (2 * level - 1) ** 2),
    normal,
    scaleSteps: normal.map((z) => (scaleRate * z) / length),
    row: new Float64Array(levels.length),
  };
}
