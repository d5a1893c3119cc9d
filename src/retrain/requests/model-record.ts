// A trained model as the record that carries it, and back. The bytes in the record are the whole model, with its name
// and a checksum; the fields around them tell people and gates how it came to be.

import { createHash } from "node:crypto";
import type { ModelRecord, StorageSymbol } from "../../log/codec/schemas.generated.ts";
import type { ForecastNetModel } from "../../models/forecastnet/model.ts";
import { decodeModel, encodeModel, type Storage } from "../../models/forecastnet/model-bytes.ts";
import { meanOf } from "../../models/scores.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import type { TrainedModel } from "../training-task.ts";

export interface RecordFacts {
  /** Null when it was brought by hand. */
  readonly requestId: string | null;
  readonly trainedAtMs: number;
  /**
   * Float32 unless told otherwise: float16 moves a weight by up to 1 part in 2,048, which a net that feeds on its own
   * forecasts adds up over the horizon, and a usual model is far smaller than what the topic takes.
   */
  readonly storage?: Storage;
}

const symbolByStorage: Readonly<Record<Storage, StorageSymbol>> = { float32: "FLOAT32", float16: "FLOAT16" };

/** Throws MODEL_UNFIT for a model that could not be read back. */
export function toModelRecord(trained: TrainedModel, facts: RecordFacts): ModelRecord {
  const { model, folds, naiveErrors, trainedFromMs, trainedToMs } = trained;
  const { requestId, trainedAtMs, storage = "float32" } = facts;
  const weights = Buffer.from(encodeModel(model, storage));
  return {
    modelKey: model.key,
    version: model.version,
    previousVersion: null,
    spec: describeNets(trained),
    weights,
    storage: symbolByStorage[storage],
    checksum: `sha256:${createHash("sha256").update(weights).digest("hex")}`,
    scaler: { offset: [...model.scaler.offset], scale: [...model.scaler.scale] },
    ...{ trainedAt: trainedAtMs, trainedFrom: trainedFromMs, trainedTo: trainedToMs },
    validation: {
      mase: finite(folds.mase),
      crps: finite(folds.crps * meanOf(naiveErrors)),
      // Not known before the gate has judged seasonal-naive on the same tail.
      ...{ baselineMase: 0, baselineCrps: 0 },
      naiveErrors: [...naiveErrors],
      scoredSteps: folds.points,
    },
    lineage: null,
    requestId,
    previous: null,
  };
}

/** Throws MODEL_UNFIT when the bytes are damaged, of a release this one does not know, or another model's. */
export function fromModelRecord(record: ModelRecord): TrainedModel {
  const { validation, trainedFrom, trainedTo } = record;
  const { mase, crps, naiveErrors, scoredSteps } = validation;
  return {
    model: readOwnModel(record),
    basis: readBasis(record.spec),
    folds: { mase, crps: crps / meanOf(naiveErrors), points: scoredSteps },
    naiveErrors,
    ...{ trainedFromMs: trainedFrom, trainedToMs: trainedTo },
  };
}

function readOwnModel({ modelKey, version, weights }: ModelRecord): ForecastNetModel {
  const where = `record of ${modelKey}@${version}`;
  const model = decodeModel(weights, where);
  if (model.key === modelKey && model.version === version) return model;
  const found = `${model.key}@${model.version}`;
  throw new ForecastnetError("MODEL_UNFIT", `${where}: weights are those of ${found}; expected are its own`);
}

function describeNets({ basis, model }: TrainedModel): string {
  return JSON.stringify({ basis, nets: model.members.map(({ spec, share }) => ({ share, ...spec })) });
}

/** For people only: a record from elsewhere may describe itself otherwise. */
function readBasis(spec: string): TrainedModel["basis"] {
  return spec.startsWith('{"basis":"recent"') ? "recent" : "whole";
}

/** A model that validated on nothing has no scores; the record says so by its scored steps, not by NaN. */
function finite(score: number): number {
  return Number.isFinite(score) ? score : 0;
}
