// Scores of the forecasts of one series by one system, over all steps whose actual value is known. Errors are in units of the
// naive error, the mean change from step to step before the test part, so that series can be compared and averaged.
//
// Legend: y actual, m the median, μ the mean, q the quantiles; l and u the ends of a central interval of probability 1 − α.
//   MASE  mean |y − m| / naive error                  RMSSE  √(mean (y − μ)²) / naive error
//   sMAPE mean 200·|y − m| / (|y| + |m|)              CRPS   mean 2·pinball over the levels / naive error
//   MSIS  mean (u − l + 2/α·(l − y)⁺ + 2/α·(y − u)⁺) / naive error, of the widest interval

import { nearestLevel, pinballOf } from "../models/scores.ts";
import { createScoreRule, type ScoreRule } from "../score/rolling-scores.ts";

export interface Coverage {
  readonly stated: number;
  readonly observed: number;
  /** Mean width, in naive errors. */
  readonly width: number;
}

/** Plain numbers, which cross between threads. */
export interface Scores {
  /** Steps scored. */
  readonly steps: number;
  readonly mase: number;
  readonly smape: number;
  readonly rmsse: number;
  readonly crps: number;
  /** Null without an interval. */
  readonly msis: number | null;
  /** Narrowest first. */
  readonly coverage: readonly Coverage[];
  /** MASE of each step ahead; NaN where none was scored. */
  readonly maseByStep: readonly number[];
  /** For each level, the share of actual values that were not above the quantile. */
  readonly belowByLevel: readonly number[];
}

export interface ScoredForecast {
  readonly mean: readonly number[];
  /** One array per level. */
  readonly quantiles: readonly (readonly number[])[];
}

export class TestScores {
  readonly #levels: readonly number[];
  readonly #median: number;
  readonly #intervals: ScoreRule["intervals"];
  readonly #naiveError: number;
  readonly #absoluteByStep: Float64Array;
  readonly #countByStep: Float64Array;
  readonly #below: Float64Array;
  readonly #inside: Float64Array;
  readonly #width: Float64Array;
  #steps = 0;
  #smape = 0;
  #squared = 0;
  #pinball = 0;
  #msis = 0;

  constructor(levels: readonly number[], horizon: number, naiveError: number) {
    this.#levels = levels;
    this.#median = nearestLevel(levels, 0.5);
    this.#intervals = createScoreRule(levels).intervals;
    this.#naiveError = naiveError;
    this.#absoluteByStep = new Float64Array(horizon);
    this.#countByStep = new Float64Array(horizon);
    this.#below = new Float64Array(levels.length);
    this.#inside = new Float64Array(this.#intervals.length);
    this.#width = new Float64Array(this.#intervals.length);
  }

  /** Scores one step of a forecast, counted from 0. Returns its CRPS in naive errors. */
  add(actual: number, { mean, quantiles }: ScoredForecast, step: number): number {
    const valueAt = (l: number) => quantiles[l][step];
    const error = Math.abs(actual - valueAt(this.#median));
    const size = Math.abs(actual) + Math.abs(valueAt(this.#median));
    this.#absoluteByStep[step] += error;
    this.#countByStep[step]++;
    this.#smape += size === 0 ? 0 : (200 * error) / size;
    this.#squared += (actual - mean[step]) ** 2;
    let pinball = 0;
    for (let l = 0; l < this.#levels.length; l++) {
      pinball += pinballOf(this.#levels[l], actual, valueAt(l));
      if (actual <= valueAt(l)) this.#below[l]++;
    }
    this.#pinball += pinball / this.#levels.length;
    for (const [i, { low, high, stated }] of this.#intervals.entries()) {
      const [l, u] = [valueAt(low), valueAt(high)];
      this.#width[i] += u - l;
      if (actual >= l && actual <= u) this.#inside[i]++;
      if (i < this.#intervals.length - 1) continue;
      this.#msis += u - l + (2 / (1 - stated)) * (Math.max(0, l - actual) + Math.max(0, actual - u));
    }
    this.#steps++;
    return (2 * pinball) / this.#levels.length / this.#naiveError;
  }

  /** Null when no step was scored. */
  scores(): Scores | null {
    const n = this.#steps;
    if (n === 0) return null;
    const unit = this.#naiveError;
    const absolute = this.#absoluteByStep.reduce((sum, error) => sum + error, 0);
    return {
      steps: n,
      mase: absolute / n / unit,
      smape: this.#smape / n,
      rmsse: Math.sqrt(this.#squared / n) / unit,
      crps: (2 * this.#pinball) / n / unit,
      msis: this.#intervals.length === 0 ? null : this.#msis / n / unit,
      coverage: this.#intervals.map(({ stated }, i) => ({
        stated,
        observed: this.#inside[i] / n,
        width: this.#width[i] / n / unit,
      })),
      maseByStep: Array.from(this.#absoluteByStep, (sum, h) => sum / this.#countByStep[h] / unit),
      belowByLevel: Array.from(this.#below, (count) => count / n),
    };
  }
}
