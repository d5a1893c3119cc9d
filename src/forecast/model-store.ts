// The models that serve the series of one partition, by the series they serve. Takes in model records, from the
// models topic or as they are promoted, and refuses those that cannot serve: their series stay cold.

import type { SeriesSettings } from "../domain.ts";
import type { ModelRecord } from "../log/codec/schemas.generated.ts";
import { type ForecastNetModel, inputLengthOf } from "../models/forecastnet/model.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import { readModel } from "./read-model.ts";

/** A model and what a window must have to be forecast by it. */
export interface ServingModel {
  readonly model: ForecastNetModel;
  readonly channels: number;
  /** Unbroken steps that must end at the origin. */
  readonly inputSteps: number;
}

/**
 * Why a model does not serve. "unreadable": its record is damaged, or of a release this one does not know;
 * "horizon": it looks ahead another number of steps than its series is configured for; "targets": it forecasts only
 * some of its channels, while a forecast message holds them all; "history": it looks back further than is kept.
 */
export type RefusalReason = "unreadable" | "horizon" | "targets" | "history";

export interface Refusal {
  readonly modelKey: string;
  readonly reason: RefusalReason;
  /** What is wrong and what was expected, for a person. */
  readonly detail: string;
}

export interface ModelStoreDeps {
  readonly settingsOf: (seriesId: string) => SeriesSettings;
  /** Hears of models that will not be asked for again. */
  readonly release: (model: ForecastNetModel) => void;
}

export class ModelStore {
  readonly #deps: ModelStoreDeps;
  readonly #servingBySeries = new Map<string, ServingModel>();

  constructor(deps: ModelStoreDeps) {
    this.#deps = deps;
  }

  get size(): number {
    return this.#servingBySeries.size;
  }

  of(seriesId: string): ServingModel | undefined {
    return this.#servingBySeries.get(seriesId);
  }

  /** How many steps the series' model looks back on; 0 without one. */
  modelStepsOf(seriesId: string): number {
    return this.#servingBySeries.get(seriesId)?.inputSteps ?? 0;
  }

  /**
   * The record's model serves from now on, in place of the one before. One that cannot serve leaves its series
   * without a model, as it would be after a restart. Returns why, or null.
   */
  put(record: ModelRecord): Refusal | null {
    const { modelKey } = record;
    this.remove(modelKey);
    try {
      const model = readModel(record);
      const refusal = refusalOf(model, this.#deps.settingsOf(modelKey));
      if (refusal !== null) return { modelKey, ...refusal };
      const { channels } = model.members[0].spec;
      this.#servingBySeries.set(modelKey, { model, channels, inputSteps: inputLengthOf(model) });
      return null;
    } catch (error) {
      if (!(error instanceof ForecastnetError)) throw error;
      return { modelKey, reason: "unreadable", detail: error.message };
    }
  }

  remove(modelKey: string): void {
    const serving = this.#servingBySeries.get(modelKey);
    if (serving === undefined) return;
    this.#servingBySeries.delete(modelKey);
    this.#deps.release(serving.model);
  }

  clear(): void {
    for (const modelKey of [...this.#servingBySeries.keys()]) this.remove(modelKey);
  }
}

function refusalOf(model: ForecastNetModel, settings: SeriesSettings): Omit<Refusal, "modelKey"> | null {
  const { horizon, channels, targets } = model.members[0].spec;
  const name = `model ${model.key}@${model.version}`;
  if (horizon !== settings.horizon) {
    const detail = `${name} looks ${horizon} steps ahead, its series is configured for ${settings.horizon}: train it again`;
    return { reason: "horizon", detail };
  }
  if (targets.length !== channels) {
    const detail = `${name} forecasts channels ${targets.join(", ")} of its ${channels}: train one that forecasts them all`;
    return { reason: "targets", detail };
  }
  const inputSteps = inputLengthOf(model);
  if (inputSteps > settings.history) {
    const detail = `${name} looks back on ${inputSteps} steps, its series keeps ${settings.history}: raise series.history`;
    return { reason: "history", detail };
  }
  return null;
}
