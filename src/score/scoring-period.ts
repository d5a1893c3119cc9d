// The period during which the forecasts of one model version count for a series: what its errors are measured by, its
// pending forecasts, their scores, and what the calibration has learnt. Another version starts another period.
//
// Quantiles and observed values are taken relative to `base`, the last value before the period. Float32 has seven
// digits: a meter that stands at ten million needs them for its steps, not for its level.
//
// A forecast covers only slots that were empty when it was made. So the first value of a slot is scored and learnt
// from; a later value of the same slot only replaces the first one in the scores.

import type { Bounds, LiveScores, Placement, Quantile } from "../domain.ts";
import { Calibrator } from "./calibrator.ts";
import { relativeTo } from "./cell-codes.ts";
import { MaturedSlot } from "./matured-slot.ts";
import { PendingForecasts } from "./pending-forecasts.ts";
import { RollingScores, type ScoreRule, SlotScores } from "./rolling-scores.ts";
import { type Place, SeriesMemory } from "./series-memory.ts";

/**
 * Slots that are scored before the state is stored again. A restored series scores them anew, from its pending
 * forecasts and its past, which are stored with every observation. So as many forecasts more stay on the state topic.
 * A state is four times as large as a forecast: at 12, it is a quarter of what a series writes, at 6 it was 40 %, and
 * at 24 a series would have 48 forecasts on the topic instead of 36, to read at every restore.
 */
export const SLOTS_PER_STATE = 12;

interface PeriodFrame {
  readonly version: string;
  readonly horizon: number;
  readonly channels: number;
  /** One per channel: what errors are divided by. Positive. */
  readonly naiveErrors: readonly number[];
  /** One per channel. */
  readonly base: readonly number[];
  /** Most that the mean error of one slot adds to the capped MASE; Infinity for no cap. */
  readonly errorCap: number;
}

interface PeriodRules {
  /** Slots for which a forecast stays pending after its last step, for late observations; at most the horizon. */
  readonly lateSlots: number;
  /** Age in slots at which a score weighs 1/e. */
  readonly rollingSteps: number;
  readonly isCalibrated: boolean;
}

export class ScoringPeriod {
  readonly frame: PeriodFrame;
  readonly pending: PendingForecasts;
  readonly rolling: RollingScores;
  /** Null when calibration is switched off. */
  readonly calibrator: Calibrator | null;
  readonly #scratch: Scratch;
  /** Holds the numbers of all three. */
  readonly #place: Place;

  constructor(frame: PeriodFrame, { lateSlots, rollingSteps, isCalibrated }: PeriodRules, scratch: Scratch) {
    const { horizon, channels, naiveErrors } = frame;
    const { rule, memory } = scratch;
    const { levels } = rule;
    const grace = Math.min(lateSlots, horizon);
    const pendingShape = {
      horizon,
      channels,
      levels: levels.length,
      median: rule.below,
      grace,
      kept: Math.max(SLOTS_PER_STATE, grace),
    };
    const calibratorShape = { levels, channels, horizon, scale: naiveErrors };
    const calibratorAt = 8 * rule.sumCount;
    const calibratorEnd = calibratorAt + (isCalibrated ? Calibrator.bytesOf(calibratorShape) : 0);
    const pendingAt = Math.ceil(calibratorEnd / 8) * 8;
    this.#place = memory.take(pendingAt + PendingForecasts.bytesOf(pendingShape));
    const { block, at } = this.#place;
    this.frame = frame;
    this.rolling = new RollingScores(rule, rollingSteps, this.#place);
    this.calibrator = isCalibrated ? new Calibrator(calibratorShape, { block, at: at + calibratorAt }) : null;
    this.pending = new PendingForecasts(pendingShape, { block, at: at + pendingAt });
    this.#scratch = scratch;
  }

  /** Gives its memory to other series. The period must not be used afterwards. */
  end(): void {
    this.#scratch.memory.giveBack(this.#place);
  }

  /** Slots after this one that are observed in their order are scored; −Infinity before the first forecast. */
  get settledSlot(): number {
    return Math.max(this.rolling.newestSlot, this.pending.newestOrigin);
  }

  scores(): LiveScores | null {
    return this.rolling.scores();
  }

  /** Scores the slot in every pending forecast that covers it; returns their number. */
  score({ slot, values, replaced }: Pick<Placement, "slot" | "values" | "replaced">): number {
    if (values.length !== this.frame.channels) return 0;
    // A value sent twice: subtracting and adding it again would only leave a rounding error.
    if (replaced !== null && values.every((value, c) => value === replaced[c])) return 0;
    const { slotScores, replacedScores, matured } = this.#scratch;
    this.pending.lookBack(slot, matured);
    if (matured.count === 0) return 0;
    this.#compute(slotScores, values);
    if (replaced === null) {
      this.calibrator?.learnSlot(matured);
      this.rolling.add(slotScores.sums, slot);
    } else {
      this.#compute(replacedScores, replaced);
      this.rolling.replace(replacedScores.sums, slotScores.sums, slot);
    }
    return matured.count;
  }

  /**
   * The quantiles after calibration, within the bounds of the series; null when the calibration has learnt nothing yet. Valid until the
   * next call for any series.
   */
  calibrate(raw: readonly Quantile[], bounds: Bounds | undefined): readonly Quantile[] | null {
    const { calibrator } = this;
    if (calibrator === null || calibrator.learntSteps === 0) return null;
    const { horizon, channels, base } = this.frame;
    const outputs = channels * horizon;
    const { rows, corrected, calibrated } = this.#scratch.forOutputs(outputs);
    const min = bounds?.min ?? Number.NEGATIVE_INFINITY;
    const max = bounds?.max ?? Number.POSITIVE_INFINITY;
    for (let l = 0; l < raw.length; l++) rows[l] = raw[l].values;
    calibrator.correct(rows, corrected, base);
    for (let l = 0, from = 0; l < raw.length; l++) {
      const { values } = calibrated[l];
      for (let c = 0, o = 0; c < channels; c++) {
        const level = base[c];
        for (let h = 0; h < horizon; h++, o++) {
          const value = corrected[from++] + level;
          values[o] = value < min ? min : value > max ? max : value;
        }
      }
    }
    return calibrated;
  }

  /** Stores the quantiles until they can be scored; returns their row, −1 when this origin is not stored. */
  addPending(originSlot: number, stated: readonly Quantile[], otherVersion: string | null): number {
    return this.pending.add(originSlot, stated, this.frame.base, otherVersion);
  }

  #compute(slotScores: SlotScores, values: readonly number[]): void {
    const { channels, naiveErrors, base, errorCap } = this.frame;
    const { matured } = this.#scratch;
    for (let c = 0; c < channels; c++) matured.observe(c, relativeTo(base[c], values[c]));
    slotScores.compute(matured, naiveErrors, errorCap);
  }
}

interface OutputScratch {
  /** One per level: the raw quantiles. */
  readonly rows: (readonly number[])[];
  /** Level after level. */
  readonly corrected: Float32Array;
  /** One per level: `corrected` within bounds, as forecasts have it. An array made of doubles never changes its kind. */
  readonly calibrated: readonly { readonly level: number; readonly values: number[] }[];
}

/** Memory shared by all series of a score store. Scoring is synchronous, and a fleet is too large for one each. */
export class Scratch {
  readonly rule: ScoreRule;
  readonly slotScores: SlotScores;
  readonly replacedScores: SlotScores;
  readonly matured = new MaturedSlot();
  readonly memory = new SeriesMemory();
  readonly #byOutputs = new Map<number, OutputScratch>();

  constructor(rule: ScoreRule) {
    this.rule = rule;
    this.slotScores = new SlotScores(rule);
    this.replacedScores = new SlotScores(rule);
  }

  /** `outputs`: channels × horizon. A fleet has few different numbers of them. */
  forOutputs(outputs: number): OutputScratch {
    let scratch = this.#byOutputs.get(outputs);
    if (scratch === undefined) {
      scratch = {
        rows: [],
        corrected: new Float32Array(this.rule.levels.length * outputs),
        calibrated: Array.from(this.rule.levels, (level) => ({
          level,
          values: Array.from({ length: outputs }, () => 0.5),
        })),
      };
      this.#byOutputs.set(outputs, scratch);
    }
    return scratch;
  }
}
