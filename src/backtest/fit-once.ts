// The plain protocol of forecasting papers: a model is fitted once, to the past before the test part, and forecasts from origins that
// lie a horizon apart. No gate, no retraining, no calibration: what a family is worth by itself. Grid, gaps, seasons and windows
// are those of the worker.

import type { Window } from "../domain.ts";
import { openInProcessEngine } from "../engine/in-process-engine.ts";
import { coldForecastOf } from "../forecast/to-forecasts.ts";
import { createFamilies, type Families } from "../models/families.ts";
import type { Model } from "../models/family.ts";
import { cpuSeconds } from "../runtime/clock.ts";
import type { AppConfig } from "../runtime/config/schema.ts";
import { seriesRules } from "../runtime/config/series-rules.ts";
import { trainTask } from "../training/train-task.ts";
import { Series } from "../window/series.ts";
import type { SystemOptions, SystemResult } from "./replay-system.ts";
import { resultsOf, type ScoredSeries, scoredSeriesOf } from "./scored-series.ts";
import type { SeriesPoints } from "./series-points.ts";

interface FitParts {
  readonly config: AppConfig;
  readonly families: Families;
}

export async function fitOnce(
  all: readonly SeriesPoints[],
  { config, testShare, onProgress }: Omit<SystemOptions, "resolutionMs">,
): Promise<SystemResult> {
  const startedAt = cpuSeconds();
  const settingsOf = seriesRules(config.series);
  const scored = scoredSeriesOf(all, settingsOf, testShare);
  const engine = await openInProcessEngine({ kind: "simd" });
  const parts = { config, families: createFamilies(engine) };
  let done = 0;
  try {
    for (const points of all) {
      const own = scored.get(points.seriesId);
      if (own !== undefined)
        await forecastSeries(new Series(points.seriesId, settingsOf(points.seriesId)), points, own, parts);
      done += points.values.length;
      onProgress?.(done);
    }
  } finally {
    await engine.close();
  }
  return { series: resultsOf(all, scored), decisions: [], cpuSeconds: cpuSeconds() - startedAt };
}

async function forecastSeries(
  series: Series,
  points: SeriesPoints,
  scored: ScoredSeries,
  parts: FitParts,
): Promise<void> {
  const { levels } = parts.config.output;
  const windows: Window[] = [];
  let model: Model | null = null;
  let isFitted = false;
  let nextOrigin = Number.NEGATIVE_INFINITY;
  for (const [i, timeMs] of points.timesMs.entries()) {
    // Before the first point of the test part is known.
    if (!isFitted && timeMs >= scored.testFromMs) {
      isFitted = true;
      model = await fit(series, parts);
      takeWindow();
    }
    series.push({ seriesId: points.seriesId, timeMs, values: [points.values[i]] });
    if (isFitted && (series.grid?.newestSlot ?? nextOrigin) >= nextOrigin) takeWindow();
  }
  await forecastAll(windows, model, scored, parts);

  function takeWindow(): void {
    if (series.grid === null) return;
    const steps = model === null ? 0 : parts.families.of(model).shapeOf(model).inputSteps;
    windows.push(series.takeWindow(levels, 0, steps));
    nextOrigin = series.grid.newestSlot + series.settings.horizon;
  }
}

/** Null where the configuration trains nothing, and where there is too little to train on. */
async function fit(series: Series, { config, families }: FitParts): Promise<Model | null> {
  if (config.retrain.where === "off") return null;
  series.reconsiderSeasons();
  const history = series.history();
  if (history === null) return null;
  const { effort, members } = config.retrain;
  const { horizon, season, form, family } = series.settings;
  const task = {
    id: `${series.seriesId}/0`,
    modelKey: series.seriesId,
    reason: "manual" as const,
    histories: [history],
    requestedAtMs: 0,
    plan: { family, horizon, season, form, effort, members, holdBack: 0, recentFromMs: null },
  };
  const result = await trainTask(families, task, new AbortController().signal);
  return result.outcome === "trained" ? (result.challengers[0]?.model ?? null) : null;
}

/** The cold tier forecasts without a model, and where its window is too short for the model. */
async function forecastAll(
  windows: readonly Window[],
  model: Model | null,
  scored: ScoredSeries,
  { config, families }: FitParts,
): Promise<void> {
  const { levels } = config.output;
  const inputSteps = model === null ? Number.POSITIVE_INFINITY : families.of(model).shapeOf(model).inputSteps;
  const fitting = windows.filter(({ values, channels }) => values.length >= inputSteps * channels);
  const tasks = model === null ? [] : fitting.map((input) => ({ model, input }));
  const answers = await families.forecast(tasks, { levels, paths: config.engine.paths });
  const answerByWindow = new Map(tasks.map(({ input }, i) => [input, answers[i]]));
  for (const window of windows) {
    const answer = answerByWindow.get(window);
    const { originMs: origin, stepTimesMs: times, settings } = window;
    const about = { origin, times: [...times], horizon: settings.horizon };
    if (answer !== undefined && !(answer instanceof Error)) {
      const quantiles = answer.quantiles.map((values, l) => ({
        level: levels[l],
        values: Array.from(values),
      }));
      scored.add({ ...about, mean: Array.from(answer.mean), quantiles });
      continue;
    }
    const cold = coldForecastOf(window, levels);
    if (cold === null) continue;
    const quantiles = cold.quantiles.map(({ level, values }) => ({ level, values: [...values] }));
    scored.add({ ...about, mean: [...cold.mean], quantiles });
  }
}
