// Forecast stage: windows in, forecasts out, each with the window it was made from. A window whose series has a model, and
// past enough for it, is forecast by that model, all such windows of a batch in one call per family. Every other window is
// forecast by the cold tier, and so is one whose model fails: each failure is counted, the first of a model is logged. A
// broken engine is not a failure of a model: it fails the batch, which the next owner of the partition repeats.

import type { Batch, RawForecast, Tier, Window } from "../domain.ts";
import { type BaselineArrays, baselineArrays } from "../models/baseline.ts";
import { boundDistribution } from "../models/bounds.ts";
import type { Families } from "../models/families.ts";
import type { Distribution, ForecastAnswer, ForecastTask, Model } from "../models/family.ts";
import { forecastPersistence, persistenceVersion } from "../models/persistence/family.ts";
import { forecastSeasonalNaive, seasonalNaiveVersion } from "../models/seasonal-naive/family.ts";
import type { Clock } from "../runtime/clock.ts";
import { mapEach } from "../runtime/each.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import type { Logger } from "../runtime/logging.ts";
import type { FallbackReason, ForecastMetrics, ModelMetrics, TurnTimer } from "../runtime/metric-groups.ts";
import type { ModelStore } from "./model-store.ts";

/** Each is made when it is read, so they can be read once. The next one may use its arrays again. */
type ForecastsInTurn = Iterable<RawForecast>;

/**
 * Yields one batch of forecasts per batch of windows. An empty batch flows on as well: it must be settled. Forecasts are
 * made as they are read: those of a whole batch take megabytes, which the garbage collector would copy.
 */
export function toForecasts(
  batches: AsyncIterable<Batch<Window>>,
  forecaster: Pick<Forecaster, "forecast">,
  metrics: ForecastMetrics,
): AsyncIterableIterator<Batch<RawForecast, ForecastsInTurn>> {
  return mapEach(batches, async (batch) => {
    const timer = metrics.turns();
    timer.resume();
    const forecasts = await forecaster.forecast(batch.items);
    timer.pause();
    return { ...batch, items: inTurn(forecasts, timer, metrics) };
  });
}

function* inTurn(
  forecasts: Iterable<RawForecast | null>,
  timer: TurnTimer,
  metrics: ForecastMetrics,
): Generator<RawForecast> {
  const counts = new MethodCounts();
  timer.resume();
  for (const forecast of forecasts) {
    if (forecast === null) continue;
    counts.add(forecast);
    timer.pause();
    yield forecast;
    timer.resume();
  }
  counts.report(metrics);
  timer.pause();
  timer.end();
}

interface MethodCount {
  readonly tier: Tier;
  readonly method: string;
  n: number;
}

/** Counts forecasts by tier and method. There are few of them. */
class MethodCounts {
  readonly #counts: MethodCount[] = [];

  add({ tier, method }: RawForecast): void {
    for (const count of this.#counts) {
      if (count.tier === tier && count.method === method) {
        count.n++;
        return;
      }
    }
    this.#counts.push({ tier, method, n: 1 });
  }

  report(metrics: ForecastMetrics): void {
    for (const { tier, method, n } of this.#counts) metrics.forecasts(tier, method, n);
  }
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

type MadeInTurn = Iterable<RawForecast | null>;

export class Forecaster {
  readonly #parts: ForecasterParts;
  /** Models whose failure has been logged. */
  readonly #logged = new WeakSet<Model>();
  readonly #arrays: ColdArrays;

  constructor(parts: ForecasterParts) {
    this.#parts = parts;
    this.#arrays = new ColdArrays(parts.levels.length);
  }

  /**
   * One entry per window; null when the series is too young for any forecast. Models are asked at once; the entries are
   * made as they are read, and are valid until the next one is.
   */
  forecast(windows: readonly Window[]): MadeInTurn | Promise<MadeInTurn> {
    const { models } = this.#parts;
    return models.size > 0 ? this.#forecastWithModels(windows) : this.#forecastCold(windows);
  }

  *#forecastCold(windows: readonly Window[]): MadeInTurn {
    for (const window of windows) yield coldForecastOf(window, this.#parts.levels, this.#arrays);
  }

  async #forecastWithModels(windows: readonly Window[]): Promise<MadeInTurn> {
    const tasks = windows.map((window) => this.#taskOf(window));
    const answers = await this.#ask(tasks.filter((task) => task !== null));
    return this.#withAnswers(windows, tasks, answers);
  }

  *#withAnswers(
    windows: readonly Window[],
    tasks: readonly (ForecastTask | null)[],
    answers: readonly ForecastAnswer[],
  ): MadeInTurn {
    let next = 0;
    for (let i = 0; i < windows.length; i++) {
      const task = tasks[i];
      const forecast = task === null ? null : this.#accept(windows[i], task.model, answers[next++]);
      yield forecast ?? coldForecastOf(windows[i], this.#parts.levels, this.#arrays);
    }
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

/** Arrays of the last forecast of each size. An array for each forecast would keep the garbage collector busy. */
class ColdArrays {
  readonly #levels: number;
  readonly #byOutputs = new Map<number, BaselineArrays>();

  constructor(levels: number) {
    this.#levels = levels;
  }

  for({ channels, settings }: Window): BaselineArrays {
    const outputs = channels * settings.horizon;
    let arrays = this.#byOutputs.get(outputs);
    if (arrays === undefined) {
      arrays = baselineArrays(outputs, this.#levels);
      this.#byOutputs.set(outputs, arrays);
    }
    return arrays;
  }
}

/**
 * The cold tier: seasonal naive from two seasons on, persistence before, within the bounds of the series. Null when the window
 * has a single step: how the series moves is not known yet. With `arrays`, the forecast is valid until the next one.
 */
export function coldForecastOf(
  window: Window,
  levels: readonly number[],
  arrays: ColdArrays | null = null,
): RawForecast | null {
  const { seriesId: modelKey, seasonalErrors, settings } = window;
  const target = arrays?.for(window);
  if (seasonalErrors !== null) {
    const seasonal = boundDistribution(
      forecastSeasonalNaive(window, seasonalErrors, levels, target),
      settings.bounds,
    );
    const maker: Maker = {
      tier: "cold",
      method: "seasonal-naive",
      modelKey,
      modelVersion: seasonalNaiveVersion,
    };
    return toForecast(window, seasonal, maker, levels);
  }
  if (window.values.length < 2 * window.channels) return null;
  const persistent = boundDistribution(forecastPersistence(window, levels, target), settings.bounds);
  const maker: Maker = { tier: "cold", method: "persistence", modelKey, modelVersion: persistenceVersion };
  return toForecast(window, persistent, maker, levels);
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
