// The forecaster of series that may have a model: those that have one, and past enough for it, go to the engine
// in one batch; the others stay cold. So does a window whose model fails: counted each time, told once per model.
// A broken engine is another matter: it fails the batch, which is then done again by whoever comes next.

import type { Forecast, Window } from "../domain.ts";
import type { Distribution, Engine, ForecastAnswer, ForecastTask } from "../engine/engine.ts";
import type { ForecastNetModel } from "../models/forecastnet/model.ts";
import type { Clock } from "../runtime/clock.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import type { Logger } from "../runtime/logging.ts";
import type { FallbackReason, ModelMetrics } from "../runtime/metric-groups.ts";
import { coldForecastOf, createColdForecaster } from "./cold-forecaster.ts";
import { type Forecaster, forecastId } from "./forecaster.ts";
import type { ModelStore } from "./model-store.ts";

export interface ModelForecasterParts {
  readonly models: ModelStore;
  readonly engine: Engine;
  /** Of the quantiles. */
  readonly levels: readonly number[];
  /** Sample paths per forecast. */
  readonly paths: number;
  readonly clock: Clock;
  readonly metrics: ModelMetrics;
  readonly logger: Logger;
}

export function createModelForecaster(parts: ModelForecasterParts): Forecaster {
  const { models, levels } = parts;
  const cold = createColdForecaster(levels);
  const server = new ModelServer(parts);
  return {
    forecast: (windows) => (models.size === 0 ? cold.forecast(windows) : server.forecast(windows)),
  };
}

class ModelServer {
  readonly #parts: ModelForecasterParts;
  /** Models whose failure has been told. */
  readonly #told = new WeakSet<ForecastNetModel>();

  constructor(parts: ModelForecasterParts) {
    this.#parts = parts;
  }

  async forecast(windows: readonly Window[]): Promise<readonly (Forecast | null)[]> {
    const tasks = windows.map((window) => this.#taskOf(window));
    const answers = await this.#ask(tasks.filter((task) => task !== null));
    let next = 0;
    return windows.map((window, i) => {
      const task = tasks[i];
      const served = task === null ? null : this.#served(window, task.model, answers[next++]);
      return served ?? coldForecastOf(window, this.#parts.levels);
    });
  }

  /** Null when the series has no model, or not the past that its model needs. */
  #taskOf({ seriesId, channels, values }: Window): ForecastTask | null {
    const serving = this.#parts.models.of(seriesId);
    if (serving === undefined) return null;
    const { model } = serving;
    if (channels !== serving.channels) {
      const detail = `model ${model.key}@${model.version} was trained on ${serving.channels} channels, its series has ${channels}`;
      return this.#fallBack(model, "channels", detail);
    }
    return values.length < serving.inputSteps * channels ? null : { model, window: values };
  }

  async #ask(tasks: readonly ForecastTask[]): Promise<readonly ForecastAnswer[]> {
    if (tasks.length === 0) return [];
    const { engine, levels, paths, clock, metrics } = this.#parts;
    const startedMs = clock.nowMs();
    const answers = await engine.forecast(tasks, { levels, paths, keepPaths: false });
    metrics.forecastBatch(tasks.length, (clock.nowMs() - startedMs) / 1000);
    return answers;
  }

  #served(window: Window, model: ForecastNetModel, answer: ForecastAnswer): Forecast | null {
    if (answer instanceof ForecastnetError) {
      const reason = answer.code === "WINDOW_UNFIT" ? "window-unfit" : "model-unfit";
      return this.#fallBack(model, reason, answer.message);
    }
    return toForecast(window, model, answer, this.#parts.levels);
  }

  #fallBack(model: ForecastNetModel, reason: FallbackReason, detail: string): null {
    const { metrics, logger } = this.#parts;
    metrics.fallback(reason);
    if (!this.#told.has(model)) {
      this.#told.add(model);
      const { key: modelKey, version: modelVersion } = model;
      logger.warn({ modelKey, modelVersion, reason, detail }, "model failed, its series is forecast cold");
    }
    return null;
  }
}

/** A distribution's arrays hold target after target, and a serving model's targets are all its channels. */
function toForecast(
  window: Window,
  model: ForecastNetModel,
  { mean, standardDeviation, quantiles }: Distribution,
  levels: readonly number[],
): Forecast {
  const { seriesId, originMs, settings, interval, channels, stepTimesMs } = window;
  const { filledShare, freshSteps, skippedOrigins } = window;
  return {
    id: forecastId(seriesId, originMs, model.version),
    ...{ seriesId, originMs, interval, horizon: settings.horizon, channels, stepTimesMs },
    mean: Array.from(mean),
    standardDeviation: Array.from(standardDeviation),
    quantiles: quantiles.map((values, l) => ({ level: levels[l], values: Array.from(values) })),
    tier: model.key === seriesId ? "model" : "cohort",
    ...{ method: "forecastnet", modelKey: model.key, modelVersion: model.version },
    ...{ filledShare, freshSteps, skippedOrigins, calibration: null, scores: null },
  };
}
