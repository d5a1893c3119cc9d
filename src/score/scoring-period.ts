// The period during which the forecasts of one model version count for a series: what its errors are measured by, its
// pending forecasts, their scores, and what the calibration has learnt. Another version starts another period.
//
// Quantiles and observed values are taken relative to `base`, the last value before the period. Float32 has seven
// digits: a meter that stands at ten million needs them for its steps, not for its level.
//
// A forecast covers only slots that were empty when it was made. So the first value of a slot is scored and learnt
// from; a later value of the same slot only replaces the first one in the scores.

import type { LiveScores, Placement, Quantile } from "../domain.ts";
import { Calibrator } from "./calibrator.ts";
import { MaturedSlot } from "./matured-slot.ts";
import { PendingForecasts, relativeTo } from "./pending-forecasts.ts";
import { RollingScores, type ScoreRule, SlotScores } from "./rolling-scores.ts";

/**
 * Slots that are scored before the state is stored again. A restored series scores them anew, from its pending
 * forecasts and its past, which are stored with every observation. So pending forecasts stay for as many slots.
 */
export const SLOTS_PER_STATE = 6;

interface PeriodFrame {
  readonly version: string;
  readonly horizon: number;
  readonly channels: number;
  /** Slots for which a forecast stays pending after its last step, for late observations; at most the horizon. */
  readonly lateSlots: number;
  /** Age in slots at which a score weighs 1/e. */
  readonly rollingSteps: number;
  /** One per channel: what errors are divided by. Positive. */
  readonly naiveErrors: readonly number[];
  /** One per channel. */
  readonly base: readonly number[];
  /** Most that the mean error of one slot adds to the capped MASE; Infinity for no cap. */
  readonly errorCap: number;
  readonly isCalibrated: boolean;
}

export class ScoringPeriod {
  readonly frame: PeriodFrame;
  readonly pending: PendingForecasts;
  readonly rolling: RollingScores;
  /** Null when calibration is switched off. */
  readonly calibrator: Calibrator | null;
  readonly #scratch: Scratch;

  constructor(frame: PeriodFrame, scratch: Scratch) {
    const { horizon, channels, lateSlots, naiveErrors, isCalibrated } = frame;
    const { levels } = scratch.rule;
    const grace = Math.max(SLOTS_PER_STATE, Math.min(lateSlots, horizon));
    this.frame = frame;
    this.pending = new PendingForecasts({ horizon, channels, levels: levels.length, grace });
    this.rolling = new RollingScores(scratch.rule, frame.rollingSteps);
    this.calibrator = isCalibrated ? new Calibrator({ levels, channels, horizon, scale: naiveErrors }) : null;
    this.#scratch = scratch;
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

  /** The quantiles after calibration; null when the calibration has learnt nothing yet. */
  calibrate(raw: readonly Quantile[]): readonly Quantile[] | null {
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
  /** One array per level, one number per channel and step. */
  readonly relative: readonly Float64Array[];
  /** Level after level. */
  readonly corrected: Float32Array;
}

/** Memory shared by all series of a score store. Scoring is synchronous, and a fleet is too large for one each. */
export class Scratch {
  readonly rule: ScoreRule;
  readonly slotScores: SlotScores;
  readonly replacedScores: SlotScores;
  readonly matured = new MaturedSlot();
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
      const { length } = this.rule.levels;
      scratch = {
        relative: Array.from({ length }, () => new Float64Array(outputs)),
        corrected: new Float32Array(length * outputs),
      };
      this.#byOutputs.set(outputs, scratch);
    }
    return scratch;
  }
}
