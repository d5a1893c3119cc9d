// The time during which one version's forecasts count for a series: what errors are measured by, the forecasts kept,
// their scores and what the calibration has learnt. Another version begins another tenure.
//
// Quantiles and actual values are taken relative to `base`, the last value before the tenure began: Float32 has seven
// digits, and those of a meter that stands at ten million are worth more in its steps than in its level. A forecast
// covers only slots that were empty when it was made, so the first value of a slot is scored and learnt from, and any
// other only takes its place in the scores.

import type { LiveScores, Placement, Quantile } from "../../domain.ts";
import { Calibrator } from "../../models/calibrator.ts";
import { KeptForecasts, type KeptShape } from "./kept-forecasts.ts";
import { RollingScores } from "./rolling-scores.ts";
import type { Scratch } from "./scratch.ts";
import type { Tally } from "./step-scores.ts";

export interface TenureFrame {
  readonly version: string;
  readonly horizon: number;
  readonly channels: number;
  /** Slots that a forecast is kept after its last step, for observations that come late; at most the horizon. */
  readonly lateSlots: number;
  /** A score counts for 1/e when it is so many slots old. */
  readonly rollingSteps: number;
  /** One per channel: what errors are divided by. Positive. */
  readonly naiveErrors: readonly number[];
  /** One per channel. */
  readonly base: readonly number[];
  /** What the mean error of one slot counts for at most in the bounded MASE; Infinity for no bound. */
  readonly errorCap: number;
  readonly isCalibrated: boolean;
}

export class Tenure {
  readonly frame: TenureFrame;
  readonly kept: KeptForecasts;
  readonly rolling: RollingScores;
  /** Null when calibration is switched off. */
  readonly calibrator: Calibrator | null;
  readonly #scratch: Scratch;

  constructor(frame: TenureFrame, scratch: Scratch) {
    const { horizon, channels, lateSlots, naiveErrors } = frame;
    const { rule } = scratch;
    const shape: KeptShape = {
      horizon,
      channels,
      levels: rule.levels.length,
      span: horizon + Math.min(lateSlots, horizon),
    };
    this.frame = frame;
    this.kept = new KeptForecasts(shape);
    this.rolling = new RollingScores(rule, frame.rollingSteps);
    this.calibrator = frame.isCalibrated
      ? new Calibrator({ levels: rule.levels, channels, horizon, scale: naiveErrors })
      : null;
    this.#scratch = scratch;
  }

  scores(): LiveScores | null {
    return this.rolling.scores();
  }

  /** Scores the slot in every forecast that foresaw it; returns how many did. */
  score({ slot, values, replaced }: Placement): number {
    if (values.length !== this.frame.channels) return 0;
    // Sent twice: taking it out and putting it back would only leave a rounding error.
    if (replaced !== null && values.every((value, c) => value === replaced[c])) return 0;
    const { tally, replacedTally, hindsight } = this.#scratch;
    this.kept.lookBack(slot, hindsight);
    if (hindsight.count === 0) return 0;
    this.#add(tally, values);
    if (replaced === null) {
      this.calibrator?.learnSlot(hindsight);
      this.rolling.add(tally.sums, slot);
    } else {
      this.#add(replacedTally, replaced);
      this.rolling.replace(replacedTally.sums, tally.sums, slot);
    }
    return hindsight.count;
  }

  /** Corrects the quantiles by what was learnt; null when nothing was. */
  correct(raw: readonly Quantile[]): readonly Quantile[] | null {
    const { calibrator } = this;
    if (calibrator === null || calibrator.learntSteps === 0) return null;
    const { horizon, channels, base } = this.frame;
    const outputs = channels * horizon;
    const { relative, corrected } = this.#scratch.forOutputs(outputs);
    for (let l = 0; l < raw.length; l++) {
      const { values } = raw[l];
      const row = relative[l];
      for (let c = 0, o = 0; c < channels; c++) {
        for (let h = 0; h < horizon; h++, o++) row[o] = values[o] - base[c];
      }
    }
    calibrator.correct(relative, corrected);
    return raw.map(({ level }, l) => {
      const values = new Array<number>(outputs);
      let from = l * outputs;
      for (let c = 0, o = 0; c < channels; c++) {
        for (let h = 0; h < horizon; h++, o++) values[o] = corrected[from++] + base[c];
      }
      return { level, values };
    });
  }

  /** Keeps the quantiles as stated; returns their row, −1 for none. `stranger`: the version of one that does not count. */
  keep(originSlot: number, stated: readonly Quantile[], stranger: string | null): number {
    const row = this.kept.keep(originSlot, stranger);
    if (row >= 0) this.kept.write(row, stated, this.frame.base);
    return row;
  }

  #add(tally: Tally, values: readonly number[]): void {
    const { channels, naiveErrors, base, errorCap } = this.frame;
    const { hindsight } = this.#scratch;
    for (let c = 0; c < channels; c++) hindsight.actuals[c] = relativeTo(base[c], values[c]);
    tally.add(hindsight, naiveErrors, errorCap);
  }
}

const LARGEST = 3.4e38;

/** As single precision, never infinite. */
function relativeTo(base: number, value: number): number {
  return Math.fround(Math.max(-LARGEST, Math.min(LARGEST, value - base)));
}
