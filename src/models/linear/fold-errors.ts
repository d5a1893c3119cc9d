// What forecasts at the origins of the folds are worth: their errors, the distribution that follows from them, their scores, and the
// held-out forecasts by which ensembles weigh the model.
//
// Legend: m outputs (steps × channels) of a map. All numbers are in units of the scaler of their series until they are scored.

import type { FamilyTask, FoldScores, Scaler } from "../family.ts";
import { type Fold, isFilled, measureSeries, spansOf } from "../folds.ts";
import { type HeldOutForecasts, type Origin, sampleLevels } from "../held-out.ts";
import { unscale } from "../scaler.ts";
import { ScoreSheet, scoreLevels } from "../scores.ts";
import {
  type ErrorItems,
  type ErrorModel,
  type Features,
  featureCount,
  featuresOf,
  joinItems,
  quantileOf,
  type Situation,
  spreadOf,
} from "./error-model.ts";
import { crossFit, type ErrorScope, fitErrors } from "./fit-errors.ts";
import { windowUnit } from "./window-unit.ts";

export interface ScaledHistory {
  /** In units of their scalers, one per series. */
  readonly scaled: readonly Float64Array[];
  readonly scalers: readonly Scaler[];
  readonly folds: readonly Fold[];
}

export interface JudgedErrors {
  /** Their distribution. */
  readonly model: ErrorModel;
  /** Every fold is scored with the errors of the others. */
  readonly scores: FoldScores;
  /** The forecasts as samples. Those of a fold have the errors of the others as their distribution. */
  readonly heldOut: HeldOutForecasts;
}

interface CrossFitted {
  readonly parts: readonly ErrorItems[];
  readonly models: readonly (ErrorModel | null)[];
}

export class FoldErrors {
  /** [origin][output] */
  readonly actual: Float64Array;
  /** Outputs that were observed, origin by origin, channel by channel, step by step: only those are scored. */
  readonly scored: Int32Array;
  /** How many times τ steps the origins cover, all series together. */
  readonly spans: number;
  readonly #task: FamilyTask;
  readonly #history: ScaledHistory;
  readonly #origins: readonly Origin[];

  constructor(task: FamilyTask, history: ScaledHistory) {
    const { series, channels, plan } = task;
    const m = plan.horizon * channels;
    this.#task = task;
    this.#history = history;
    this.#origins = history.folds.flatMap((fold) => fold.origins);
    this.spans = spansOf(this.#origins, plan.horizon);
    this.actual = new Float64Array(this.#origins.length * m);
    const scored: number[] = [];
    for (const [i, { series: s, step }] of this.#origins.entries()) {
      this.actual.set(history.scaled[s].subarray(step * channels, step * channels + m), i * m);
      for (let c = 0; c < channels; c++) {
        for (let h = 0; h < plan.horizon; h++)
          if (!isFilled(series[s], step + h)) scored.push(i * m + h * channels + c);
      }
    }
    this.scored = Int32Array.from(scored);
  }

  get #outputs(): number {
    return this.#task.plan.horizon * this.#task.channels;
  }

  /** Sums of absolute errors by output. */
  errorByOutput(forecasts: Float64Array): Float64Array {
    const sums = new Float64Array(this.#outputs);
    for (const i of this.scored) sums[i % sums.length] += Math.abs(this.actual[i] - forecasts[i]);
    return sums;
  }

  /** What the errors of these forecasts, [origin][output], made from windows of `length` steps, say. */
  judge(forecasts: Float64Array, length: number): JudgedErrors {
    const parts = this.#itemsByFold(forecasts, length);
    const { form, models } = crossFit(parts, this.#scope);
    const sheet = new ScoreSheet(scoreLevels);
    const scored = this.#crossForecast(forecasts, { parts, models }, scoreLevels);
    for (const [i, value] of scored.actual.entries())
      sheet.add(value, scored.quantiles.subarray(i * scoreLevels.length, (i + 1) * scoreLevels.length));
    const { actual, quantiles: samples } = this.#crossForecast(forecasts, { parts, models }, sampleLevels);
    const starts = new Int32Array(this.#origins.length + 1);
    for (const item of this.scored) starts[Math.floor(item / this.#outputs) + 1]++;
    for (let i = 1; i < starts.length; i++) starts[i] += starts[i - 1];
    return {
      model: fitErrors(joinItems(parts), form, this.#scope),
      scores: { mase: sheet.mase(1), crps: sheet.crps(1), points: sheet.steps },
      heldOut: { origins: this.#origins, starts, samples, actual },
    };
  }

  /** Actual values and quantiles ([item][level]) of what is scored, in units of the naive error. */
  #crossForecast(forecasts: Float64Array, { parts, models }: CrossFitted, levels: readonly number[]) {
    const { series, channels } = this.#task;
    const { scalers } = this.#history;
    const naiveErrors = series.map((one) => measureSeries(one, channels).units);
    const actual = new Float64Array(this.scored.length);
    const quantiles = new Float64Array(this.scored.length * levels.length);
    let k = 0;
    for (const [f, items] of parts.entries()) {
      const model = models[f];
      if (model === null) continue;
      const low = levels.map((level) => quantileOf(model.low, level));
      const high = levels.map((level) => quantileOf(model.high, level));
      for (let i = 0; i < items.errors.length; i++, k++) {
        const item = this.scored[k];
        const { series: s } = this.#origins[Math.floor(item / this.#outputs)];
        const c = item % channels;
        const naiveError = naiveErrors[s][c];
        const spread = spreadOf(model, items.features, i * featureCount, items.outputs[i]);
        actual[k] = unscale(this.actual[item], scalers[s], c) / naiveError;
        for (let l = 0; l < levels.length; l++) {
          const quantile = low[l] + items.heights[i] * (high[l] - low[l]);
          const scaled = forecasts[item] + spread * quantile;
          quantiles[k * levels.length + l] = unscale(scaled, scalers[s], c) / naiveError;
        }
      }
    }
    return { actual, quantiles };
  }

  #itemsByFold(forecasts: Float64Array, length: number): ErrorItems[] {
    const { channels, plan } = this.#task;
    const m = this.#outputs;
    let k = 0;
    let origin = -1;
    return this.#history.folds.map(({ origins }) => {
      const from = k;
      const end = (origin + 1 + origins.length) * m;
      while (k < this.scored.length && this.scored[k] < end) k++;
      const scored = this.scored.subarray(from, k);
      const items: ErrorItems = {
        outputs: scored.map((item) => item % m),
        errors: Float64Array.from(scored, (item) => this.actual[item] - forecasts[item]),
        features: new Float64Array(scored.length * featureCount),
        heights: new Float64Array(scored.length),
      };
      let features: Features | null = null;
      for (const [i, item] of scored.entries()) {
        if (features === null || Math.floor(item / m) !== origin) {
          origin = Math.floor(item / m);
          features = featuresOf(
            this.#situationAt(origin, forecasts, length),
            { ...plan, channels },
            plan.season,
          );
        }
        const o = item % m;
        items.heights[i] = features.heights[o];
        for (let f = 0; f < featureCount; f++)
          items.features[i * featureCount + f] = features.values[o * featureCount + f];
      }
      origin = end / m - 1;
      return items;
    });
  }

  /** The unit of a series is that of its scaler; in a cohort, the deviation of the window. */
  #situationAt(origin: number, forecasts: Float64Array, length: number): Situation {
    const { channels, series } = this.#task;
    const { series: s, step } = this.#origins[origin];
    const window = this.#history.scaled[s].subarray((step - length) * channels, step * channels);
    const centres = forecasts.subarray(origin * this.#outputs, (origin + 1) * this.#outputs);
    const units = Array.from({ length: channels }, (_, c) =>
      series.length > 1 ? windowUnit(window, channels, c, 1) : 1,
    );
    return { window, centres, units };
  }

  get #scope(): ErrorScope {
    const { plan, channels } = this.#task;
    return { season: plan.season, channels, outputs: this.#outputs, spans: this.spans };
  }
}
