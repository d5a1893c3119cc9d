// The models that serve the series of one partition: a series' own model, or else its cohort's. Models come as records, from
// the models topic when the partition is taken over, or from promotions. A record that cannot serve is refused; only its own
// series goes without a model.

import { setImmediate } from "node:timers/promises";
import type { SeriesSettings } from "../domain.ts";
import { modelRecordCodec, type ServingModel, toServingModel } from "../log/codec/model-record.ts";
import type { ModelRecord } from "../log/codec/schemas.generated.ts";
import { cohortKey, isCohortKey } from "../models/cohort.ts";
import type { Families } from "../models/families.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import type { RefusalReason } from "../runtime/metric-groups.ts";

export interface ModelRefusal {
  readonly modelKey: string;
  /**
   * Why the model cannot serve. "unreadable": its record is damaged or of an unknown release. "horizon": its horizon is
   * not that of the series' configuration. "targets": it forecasts only some of its channels, but a forecast message has
   * all. "history": it needs a longer window than `series.history`.
   */
  readonly reason: RefusalReason;
  /** What is wrong and what to do. */
  readonly detail: string;
}

interface ModelStoreDeps {
  readonly settingsOf: (seriesId: string) => SeriesSettings;
  readonly families: Families;
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

  /** The model stored under this key. */
  get(modelKey: string): ServingModel | undefined {
    return this.#servingByKey.get(modelKey);
  }

  /** The model that serves a series: its own, or else its cohort's if that fits the settings of the series. */
  of(seriesId: string): ServingModel | undefined {
    const own = this.#servingByKey.get(seriesId);
    if (own !== undefined || this.#servingByKey.size === 0) return own;
    const settings = this.#deps.settingsOf(seriesId);
    if (settings.cohort === "") return undefined;
    const shared = this.#servingByKey.get(cohortKey(settings.cohort));
    return shared === undefined || refusalOf(shared, settings) !== null ? undefined : shared;
  }

  /** Steps that a window must have for the series' model; 0 without a model. */
  modelStepsOf(seriesId: string): number {
    return this.of(seriesId)?.shape.inputSteps ?? 0;
  }

  /** Replaces the serving model by that of the record. On a refusal, the serving model stays. */
  put(record: ModelRecord): ModelRefusal | null {
    const { modelKey } = record;
    try {
      const serving = toServingModel(record, this.#deps.families);
      // Members of a cohort may differ in their settings, so `of` checks each.
      const refusal = isCohortKey(modelKey) ? null : refusalOf(serving, this.#deps.settingsOf(modelKey));
      if (refusal !== null) return { modelKey, ...refusal };
      this.remove(modelKey);
      this.#servingByKey.set(modelKey, serving);
      return null;
    } catch (error) {
      if (!(error instanceof ForecastnetError)) throw error;
      return { modelKey, reason: "unreadable", detail: error.message };
    }
  }

  /** Drops the bytes of the predecessor, which only a model on probation needs. */
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
    this.#deps.families.release(serving.model);
  }

  clear(): void {
    for (const modelKey of [...this.#servingByKey.keys()]) this.remove(modelKey);
  }
}

function refusalOf(
  { model, shape }: ServingModel,
  settings: SeriesSettings,
): Omit<ModelRefusal, "modelKey"> | null {
  const { horizon, channels, targets, inputSteps } = shape;
  const name = `model ${model.key}@${model.version}`;
  if (horizon !== settings.horizon) {
    const detail = `${name} forecasts ${horizon} steps, its series is configured for ${settings.horizon}: train it again`;
    return { reason: "horizon", detail };
  }
  if (targets.length !== channels) {
    const detail = `${name} forecasts channels ${targets.join(", ")} of ${channels}: train one that forecasts all`;
    return { reason: "targets", detail };
  }
  if (inputSteps > settings.history) {
    const detail = `${name} needs ${inputSteps} steps, its series keeps ${settings.history}: raise series.history`;
    return { reason: "history", detail };
  }
  return null;
}

/** Checking a model takes about a millisecond; other lanes and heartbeats must not wait for all of them. */
const MODELS_PER_TURN = 16;

export async function restoreModels(
  store: ModelStore,
  valueByKey: Map<string, Buffer>,
): Promise<readonly ModelRefusal[]> {
  const refusals: ModelRefusal[] = [];
  let read = 0;
  for (const [key, value] of valueByKey) {
    valueByKey.delete(key); // Frees the bytes: a large fleet's models need not be in memory twice.
    const refusal = putStored(store, key, value);
    if (refusal !== null) refusals.push(refusal);
    if (++read % MODELS_PER_TURN === 0) await setImmediate();
  }
  return refusals;
}

function putStored(store: ModelStore, key: string, value: Buffer): ModelRefusal | null {
  try {
    const record = modelRecordCodec.decode(value);
    if (record.modelKey === key) return store.put(record);
    const detail = `the record under the key ${key} is of the model ${record.modelKey}: write each model under its own key`;
    return { modelKey: key, reason: "unreadable", detail };
  } catch (error) {
    if (!(error instanceof ForecastnetError)) throw error;
    return { modelKey: key, reason: "unreadable", detail: error.message };
  }
}
