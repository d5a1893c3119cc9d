// Forecast stage: windows in, forecasts out, each with the window it was made from. A window whose series has a model, and
// past enough for it, is forecast by that model, all such windows of a batch in one call per family. Every other window is
// forecast by the cold tier, and so is one whose model fails: each failure is counted, the first of a model is logged. A
// broken engine is not a failure of a model: it fails the batch, which the next owner of the partition repeats.

import type { Batch, RawForecast, Tier, Window } from "../domain.ts";
import { forecastCold } from "../models/cold.ts";
import type { Families } from "../models/families.ts";
import type { Distribution, ForecastAnswer, ForecastTask, Model } from "../models/family.ts";
import type { Clock } from "../runtime/clock.ts";
import { mapEach } from "../runtime/each.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import type { Logger } from "../runtime/logging.ts";
import type { FallbackReason, ForecastMetrics, ModelMetrics } from "../runtime/metric-groups.ts";
import type { ModelStore } from "./model-store.ts";

/** Yields one batch of forecasts per batch of windows. An empty batch flows on as well: it must be settled. */
export function toForecasts(
  batches: AsyncIterable<Batch<Window>>,
  forecaster: Pick<Forecaster, "forecast">,
  metrics: ForecastMetrics,
): AsyncIterableIterator<Batch<RawForecast>> {
  return mapEach(batches, async (batch) => {
    const done = metrics.begin();
    const forecasts = await forecaster.forecast(batch.items);
    const items = forecasts.filter((forecast) => forecast !== null);
    count(items, metrics);
    done();
    return { ...batch, items };
  });
}

function count(forecasts: readonly RawForecast[], metrics: ForecastMetrics): void {
  const counts = new Map<string, { readonly forecast: RawForecast; n: number }>();
  for (const forecast of forecasts) {
    const key = `${forecast.tier}/${forecast.method}`;
    const entry = counts.get(key);
    if (entry === undefined) counts.set(key, { forecast, n: 1 });
    else entry.n++;
  }
  for (const { forecast, n } of counts.values()) metrics.forecasts(forecast.tier, forecast.method, n);
}

interface ForecasterParts {
  readonly models: ModelStore;
  readonly families: Families;
  /** Quantile levels, ascending. */
  readonly levels: readonly number[];
  /** Sample paths per forecast. */
  readonly paths: number;
  readonly clock: Clock;
  readonly metrics: ModelMetrics;
  readonly logger: Logger;
}

export class Forecaster {
  readonly #parts: ForecasterParts;
  /** Models whose failure has been logged. */
  readonly #logged = new WeakSet<Model>();

  constructor(parts: ForecasterParts) {
    this.#parts = parts;
  }

  /** One entry per window; null when the series is too young for any forecast. */
  forecast(
    windows: readonly Window[],
  ): readonly (RawForecast | null)[] | Promise<readonly (RawForecast | null)[]> {
    const { models, levels } = this.#parts;
    if (models.size > 0) return this.#forecastWithModels(windows);
    return windows.map((window) => coldForecastOf(window, levels));
  }

  async #forecastWithModels(windows: readonly Window[]): Promise<readonly (RawForecast | null)[]> {
    const tasks = windows.map((window) => this.#taskOf(window));
    const answers = await this.#ask(tasks.filter((task) => task !== null));
    let next = 0;
    return windows.map((window, i) => {
      const task = tasks[i];
      const forecast = task === null ? null : this.#accept(window, task.model, answers[next++]);
      return forecast ?? coldForecastOf(window, this.#parts.levels);
    });
  }

  /** Null when the series has no model, or a window too short for it. */
  #taskOf(window: Window): ForecastTask | null {
    const { seriesId, channels, values } = window;
    const serving = this.#parts.models.of(seriesId);
    if (serving === undefined) return null;
    const { model, shape } = serving;
    if (channels !== shape.channels) {
      const detail = `model ${model.key}@${model.version} was trained on ${shape.channels} channels, its series has ${channels}`;
      return this.#fallBack(model, "channels", detail);
    }
    return values.length < shape.inputSteps * channels ? null : { model, input: window };
  }

  async #ask(tasks: readonly ForecastTask[]): Promise<readonly ForecastAnswer[]> {
    if (tasks.length === 0) return [];
    const { families, levels, paths, clock, metrics } = this.#parts;
    const startedMs = clock.nowMs();
    const answers = await families.forecast(tasks, { levels, paths });
    metrics.forecastBatch(tasks.length, (clock.nowMs() - startedMs) / 1000);
    return answers;
  }

  #accept(window: Window, model: Model, answer: ForecastAnswer): RawForecast | null {
    if (answer instanceof ForecastnetError) {
      const reason = answer.code === "WINDOW_UNFIT" ? "window-unfit" : "model-unfit";
      return this.#fallBack(model, reason, answer.message);
    }
    const { key: modelKey, version: modelVersion, family: method } = model;
    const tier = modelKey === window.seriesId ? "model" : "cohort";
    return toForecast(window, answer, { tier, method, modelKey, modelVersion }, this.#parts.levels);
  }

  #fallBack(model: Model, reason: FallbackReason, detail: string): null {
    const { metrics, logger } = this.#parts;
    metrics.fallback(reason);
    if (!this.#logged.has(model)) {
      this.#logged.add(model);
      const { key: modelKey, version: modelVersion } = model;
      logger.warn({ modelKey, modelVersion, reason, detail }, "model failed, its series is forecast cold");
    }
    return null;
  }
}

export function coldForecastOf(window: Window, levels: readonly number[]): RawForecast | null {
  const cold = forecastCold(window, levels);
  if (cold === null) return null;
  const { distribution, method, modelVersion } = cold;
  const maker: Maker = { tier: "cold", method, modelKey: window.seriesId, modelVersion };
  return toForecast(window, distribution, maker, levels);
}

interface Maker {
  readonly tier: Tier;
  readonly method: string;
  readonly modelKey: string;
  readonly modelVersion: string;
}

/** Depends on series, origin and model version only, so that a replay gives the same id. */
function forecastId(seriesId: string, originMs: number, modelVersion: string): string {
  return `${seriesId}@${originMs}/${modelVersion}`;
}

function toForecast(
  window: Window,
  { mean, standardDeviation, quantiles }: Distribution,
  { tier, method, modelKey, modelVersion }: Maker,
  levels: readonly number[],
): RawForecast {
  return {
    id: forecastId(window.seriesId, window.originMs, modelVersion),
    window,
    mean: plain(mean),
    standardDeviation: plain(standardDeviation),
    quantiles: quantiles.map((values, l) => ({ level: levels[l], values: plain(values) })),
    tier,
    method,
    modelKey,
    modelVersion,
  };
}

/** Baselines return plain arrays already. */
function plain(numbers: ArrayLike<number>): readonly number[] {
  return Array.isArray(numbers) ? numbers : Array.from(numbers);
}
