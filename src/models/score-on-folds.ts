// Scores of a family on the folds of a history, where its models were not trained. Every series and channel is in units of its
// naive error. Also the errors behind them: of models at held-out origins, and of "the same as one season ago".

import type { ErrorSummary } from "../domain.ts";
import { ErrorSample, seasonalErrorSteps } from "./error-sample.ts";
import type { FoldScores, Model, ModelFamily, TrainingSeries } from "./family.ts";
import { type Fold, isFilled, type MeasuredSeries, measureSeries, observedSteps } from "./folds.ts";
import { ScoreSheet, scoreLevels } from "./scores.ts";

/** Enough to compare models; served forecasts have more. */
const pathsScored = 32;

export interface FoldScoring<M extends Model> {
  readonly family: ModelFamily<M>;
  /** The model trained on the first part of the fold. */
  modelOf(fold: Fold, index: number): M;
  readonly season: number;
  readonly channels: number;
  readonly series: readonly TrainingSeries[];
  readonly folds: readonly Fold[];
}

/** The scores, or as text why there are none. */
export async function scoreOnFolds<M extends Model>(scoring: FoldScoring<M>): Promise<FoldScores | string> {
  const { family, season, channels, folds } = scoring;
  const series = scoring.series.map((one) => measureSeries(one, channels));
  const sheet = new ScoreSheet(scoreLevels);
  for (const [f, fold] of folds.entries()) {
    const model = scoring.modelOf(fold, f);
    const { horizon, inputSteps } = family.shapeOf(model);
    const inputs = fold.origins.map(({ series: s, step }) => ({
      values: series[s].values.subarray((step - inputSteps) * channels, step * channels),
      channels,
      originStep: (series[s].firstStep ?? 0) + step - 1,
      settings: { horizon, season },
      seasonalErrors: seasonalErrorsBefore(series[s], {
        origin: step,
        season,
        channels,
        levels: scoreLevels,
      }),
    }));
    const answers = await family.forecast(
      inputs.map((input) => ({ model, input })),
      { levels: scoreLevels, paths: pathsScored },
    );
    for (const [i, answer] of answers.entries()) {
      if (answer instanceof Error) return answer.message;
      const { series: s, step } = fold.origins[i];
      addScores(sheet, series[s], { step, horizon, channels, quantiles: answer.quantiles });
    }
  }
  if (sheet.steps === 0) return "the history has no steps to score on";
  return { mase: sheet.mase(1), crps: sheet.crps(1), points: sheet.steps };
}

function addScores(
  sheet: ScoreSheet,
  series: MeasuredSeries,
  at: {
    readonly step: number;
    readonly horizon: number;
    readonly channels: number;
    readonly quantiles: readonly ArrayLike<number>[];
  },
): void {
  const { step, horizon, channels, quantiles } = at;
  const { values, units } = series;
  const scaled = new Float64Array(quantiles.length);
  for (const h of observedSteps(series, step, horizon)) {
    for (let c = 0; c < channels; c++) {
      for (let l = 0; l < scaled.length; l++) scaled[l] = quantiles[l][c * horizon + h] / units[c];
      sheet.add(values[(step + h) * channels + c] / units[c], scaled);
    }
  }
}

/**
 * Errors of several folds, each [target][step][error], as one such table: as many errors for every step, ascending. NaN
 * marks an unknown error. A step without any gets the errors of all steps of its target.
 */
export function errorTable(
  folds: readonly Float32Array[],
  { horizon, targets }: { readonly horizon: number; readonly targets: readonly number[] },
): Float32Array {
  const rows = horizon * targets.length;
  const counts = folds.map(({ length }) => length / rows);
  const perRow = counts.reduce((sum, count) => sum + count, 0);
  const known = (from: number, to: number) =>
    Float32Array.from(folds.flatMap((errors, f) => [...errors.subarray(from * counts[f], to * counts[f])]))
      .filter((error) => !Number.isNaN(error))
      .sort();
  const table = new Float32Array(rows * perRow);
  for (let row = 0; row < rows; row++) {
    const own = known(row, row + 1);
    const first = row - (row % horizon);
    const errors = own.length > 0 ? own : known(first, first + horizon);
    for (let i = 0; i < perRow; i++)
      table[row * perRow + i] = errors[Math.floor(((i + 0.5) * errors.length) / perRow)];
  }
  return table;
}

export interface ErrorSpan {
  /** Only errors of steps before this one. */
  readonly origin: number;
  readonly season: number;
  readonly channels: number;
  readonly levels: readonly number[];
}

/** Errors of "the same as one season ago" before an origin, as a window has them; null when there are none. */
export function seasonalErrorsBefore(
  series: TrainingSeries,
  { origin, season, channels, levels }: ErrorSpan,
): readonly ErrorSummary[] | null {
  const { values } = series;
  const oldest = Math.max(season, origin - seasonalErrorSteps(season));
  const isKnown = (step: number) => {
    if (isFilled(series, step)) return false;
    for (let c = 0; c < channels; c++) if (!Number.isFinite(values[step * channels + c])) return false;
    return true;
  };
  const steps: number[] = [];
  for (let step = oldest; step < origin; step++)
    if (isKnown(step) && isKnown(step - season)) steps.push(step);
  if (steps.length === 0) return null;
  return Array.from({ length: channels }, (_, c) => {
    const sample = new ErrorSample(steps.length);
    const errors = steps.map((step) => values[step * channels + c] - values[(step - season) * channels + c]);
    sample.replaceAll(Float64Array.from(errors));
    return sample.summarize(levels);
  });
}
