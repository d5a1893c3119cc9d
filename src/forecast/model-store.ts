// The models that serve the series of one partition: a series' own, or else its cohort's. Takes in model records,
// from the models topic or as they are promoted, and refuses those that cannot serve: their series stay cold.

import type { SeriesSettings } from "../domain.ts";
import type { ModelRecord } from "../log/codec/schemas.generated.ts";
import { cohortKey, isCohortKey } from "../models/cohort.ts";
import { type ForecastNetModel, inputLengthOf } from "../models/forecastnet/model.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import { readModel } from "./read-model.ts";

/** What the record tells of a model beside its bytes. */
export type ModelFacts = Omit<ModelRecord, "weights" | "previous">;

/** A model and what a window must have to be forecast by it. */
export interface ServingModel {
  readonly model: ForecastNetModel;
  readonly facts: ModelFacts;
  /** The encoded record that this one replaced; null when there is none, or when it was let go. */
  readonly previous: Buffer | null;
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
  readonly #servingByKey = new Map<string, ServingModel>();

  constructor(deps: ModelStoreDeps) {
    this.#deps = deps;
  }

  get size(): number {
    return this.#servingByKey.size;
  }

  /** The model of this very key. */
  get(modelKey: string): ServingModel | undefined {
    return this.#servingByKey.get(modelKey);
  }

  /** The model that serves a series: its own, or else its cohort's, if that looks as far ahead and back as it must. */
  of(seriesId: string): ServingModel | undefined {
    const own = this.#servingByKey.get(seriesId);
    if (own !== undefined || this.#servingByKey.size === 0) return own;
    const settings = this.#deps.settingsOf(seriesId);
    if (settings.cohort === "") return undefined;
    const shared = this.#servingByKey.get(cohortKey(settings.cohort));
    return shared === undefined || refusalOf(shared.model, settings) !== null ? undefined : shared;
  }

  /** How many steps the series' model looks back on; 0 without one. */
  modelStepsOf(seriesId: string): number {
    return this.of(seriesId)?.inputSteps ?? 0;
  }

  /** The record's model serves from now on, in place of the one before, unless it cannot: then why. */
  put(record: ModelRecord): Refusal | null {
    const { modelKey } = record;
    try {
      const model = readModel(record);
      // A cohort's members may differ in their settings: whether it fits is asked of each.
      const refusal = isCohortKey(modelKey) ? null : refusalOf(model, this.#deps.settingsOf(modelKey));
      if (refusal !== null) return { modelKey, ...refusal };
      const { weights: _, previous, ...facts } = record;
      const { channels } = model.members[0].spec;
      this.remove(modelKey);
      this.#servingByKey.set(modelKey, {
        ...{ model, facts, channels, inputSteps: inputLengthOf(model) },
        previous: previous === null ? null : Buffer.from(previous),
      });
      return null;
    } catch (error) {
      if (!(error instanceof ForecastnetError)) throw error;
      return { modelKey, reason: "unreadable", detail: error.message };
    }
  }

  /** Lets go of the predecessor's bytes: only a model on probation may need them at any time. */
  forgetPrevious(modelKey: string): void {
    const serving = this.#servingByKey.get(modelKey);
    if (serving !== undefined) this.#servingByKey.set(modelKey, { ...serving, previous: null });
  }

  keys(): Iterable<string> {
    return this.#servingByKey.keys();
  }

  remove(modelKey: string): void {
    const serving = this.#servingByKey.get(modelKey);
    if (serving === undefined) return;
    this.#servingByKey.delete(modelKey);
    this.#deps.release(serving.model);
  }

  clear(): void {
    for (const modelKey of [...this.#servingByKey.keys()]) this.remove(modelKey);
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
