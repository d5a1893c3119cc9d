// Converts models to records of the models topic and back. The bytes in a record are the whole model, with its name and a
// checksum of its own; the other fields say how it was made. Training writes records, the forecast stage serves from them,
// people export and import them: all conversions are here.

import { createHash } from "node:crypto";
import type { ServingFacts } from "../../domain.ts";
import { isCohortKey } from "../../models/cohort.ts";
import type { Families } from "../../models/families.ts";
import type { Model, ModelShape, Storage, TrainedModel } from "../../models/family.ts";
import { meanOf } from "../../models/scores.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import { avroCodec } from "./avro.ts";
import type { ModelRecord, StorageSymbol } from "./schemas.generated.ts";

export const modelRecordCodec = avroCodec("ModelRecord");

/** A record without the bytes of the model. */
export type ModelFacts = Omit<ModelRecord, "weights" | "previous">;

/** A model that serves. */
export interface ServingModel {
  readonly model: Model;
  readonly shape: ModelShape;
  readonly facts: ModelFacts;
  /** The encoded record of the predecessor; null when there is none, or after probation. */
  readonly previous: Buffer | null;
}

interface RecordFacts {
  /** Null when the model was imported by hand. */
  readonly requestId: string | null;
  readonly trainedAtMs: number;
}

const symbolByStorage: Readonly<Record<Storage, StorageSymbol>> = { float32: "FLOAT32", float16: "FLOAT16" };

/** Throws MODEL_UNFIT for a model that cannot be read back. */
export function toModelRecord(trained: TrainedModel, facts: RecordFacts, families: Families): ModelRecord {
  const { model, storage, basis, folds, naiveErrors, trainedFromMs, trainedToMs } = trained;
  const { requestId, trainedAtMs } = facts;
  const family = families.of(model);
  const weights = Buffer.from(family.encode(model, storage));
  return {
    modelKey: model.key,
    version: model.version,
    previousVersion: null,
    family: model.family,
    spec: JSON.stringify({ basis, ...JSON.parse(family.describe(model)) }),
    weights,
    storage: symbolByStorage[storage],
    checksum: checksumOf(weights),
    scaler: { offset: [...(model.scaler?.offset ?? [])], scale: [...(model.scaler?.scale ?? [])] },
    trainedAt: trainedAtMs,
    trainedFrom: trainedFromMs,
    trainedTo: trainedToMs,
    validation: {
      mase: finite(folds.mase),
      crps: finite(folds.crps * meanOf(naiveErrors)),
      // Unknown until the gate has scored the baseline.
      baselineMase: 0,
      baselineCrps: 0,
      naiveErrors: [...naiveErrors],
      scoredSteps: folds.points,
    },
    lineage: null,
    requestId,
    previous: null,
  };
}

/** A model without scored steps has no scores. Its record has 0 instead of NaN. */
function finite(score: number): number {
  return Number.isFinite(score) ? score : 0;
}

/** Throws MODEL_UNFIT when the bytes are damaged, of a format this release does not know, or of another model. */
export function readModel({ modelKey, version, family, weights }: ModelRecord, families: Families): Model {
  const where = `record of ${modelKey}@${version}`;
  const model = families.named(family, where).decode(weights, where);
  if (model.key === modelKey && model.version === version) return model;
  const found = `${model.key}@${model.version}`;
  throw unfit(`${where}: its weights are those of ${found}`);
}

/** Throws MODEL_UNFIT, as `readModel` does. */
export function fromModelRecord(record: ModelRecord, families: Families): TrainedModel {
  const { validation, trainedFrom, trainedTo, spec } = record;
  const { mase, crps, naiveErrors, scoredSteps } = validation;
  return {
    model: readModel(record, families),
    storage: storageOf(record),
    basis: spec.startsWith('{"basis":"recent"') ? "recent" : "whole",
    folds: { mase, crps: crps / meanOf(naiveErrors), points: scoredSteps },
    naiveErrors,
    trainedFromMs: trainedFrom,
    trainedToMs: trainedTo,
  };
}

/** Throws MODEL_UNFIT, as `readModel` does. */
export function toServingModel(record: ModelRecord, families: Families): ServingModel {
  const model = readModel(record, families);
  const { weights: _, previous, ...facts } = record;
  return {
    model,
    shape: families.of(model).shapeOf(model),
    facts,
    previous: previous === null ? null : Buffer.from(previous),
  };
}

export function servingFacts({ facts }: ServingModel): ServingFacts {
  const { modelKey, version, validation, trainedAt, trainedTo } = facts;
  return {
    modelKey,
    version,
    // Members of a cohort differ in scale: each has its own naive errors.
    naiveErrors: isCohortKey(modelKey) ? [] : validation.naiveErrors,
    validationMase: validation.scoredSteps > 0 ? validation.mase : null,
    trainedAtMs: trainedAt,
    trainedToMs: trainedTo,
  };
}

/**
 * The record of a serving model, from memory. Encoding its weights again gives the same bytes. It has no predecessor:
 * that is dropped after probation, and an imported record has none.
 */
export function toExportRecord({ model, facts }: ServingModel, families: Families): ModelRecord {
  const encoded = families.of(model).encode(model, storageOf(facts));
  const weights = Buffer.from(encoded.buffer, encoded.byteOffset, encoded.byteLength);
  return { ...facts, weights, checksum: checksumOf(weights), previousVersion: null, previous: null };
}

export interface ImportableModel {
  readonly modelKey: string;
  readonly version: string;
  /** The encoded record, for an order. */
  readonly bytes: Buffer;
}

/**
 * Checks every byte of an exported record and gives it another key; null keeps its own. `where` names the source in
 * errors. Throws MODEL_UNFIT when the bytes are not a valid model.
 */
export function readExportedModel(
  bytes: Buffer,
  { modelKey, where }: { readonly modelKey: string | null; readonly where: string },
  families: Families,
): ImportableModel {
  const record = decodeRecord(bytes, where);
  const key = modelKey ?? record.modelKey;
  const weights = weightsFor(record, key, where, families);
  const importable: ModelRecord = {
    ...record,
    modelKey: key,
    weights,
    checksum: checksumOf(weights),
    lineage:
      key === record.modelKey
        ? record.lineage
        : { version: record.version, reason: `imported by hand from ${record.modelKey}` },
    // Its predecessor is what it replaces there, not what it replaced where it was exported.
    previousVersion: null,
    previous: null,
    requestId: null,
  };
  return { modelKey: key, version: record.version, bytes: modelRecordCodec.encode(importable) };
}

function decodeRecord(bytes: Buffer, where: string): ModelRecord {
  try {
    return modelRecordCodec.decode(bytes);
  } catch (error) {
    if (!(error instanceof ForecastnetError)) throw error;
    throw unfit(`${where} is not an exported model: ${error.message}`, error);
  }
}

/** The key is part of the bytes, so under another key they are encoded again. */
function weightsFor(record: ModelRecord, modelKey: string, where: string, families: Families): Buffer {
  const { version, weights, checksum } = record;
  if (checksum.startsWith("sha256:") && checksum !== checksumOf(weights)) {
    throw unfit(
      `${where}: the checksum of the record is ${checksum}, that of its bytes ${checksumOf(weights)}`,
    );
  }
  const family = families.named(record.family, where);
  const model = family.decode(weights, where);
  if (model.key !== record.modelKey || model.version !== version) {
    const found = `${model.key}@${model.version}`;
    throw unfit(`${where}: the record is of ${record.modelKey}@${version}, the model inside of ${found}`);
  }
  if (modelKey === model.key) return weights;
  const renamed = family.encode({ ...model, key: modelKey }, storageOf(record));
  return Buffer.from(renamed.buffer, renamed.byteOffset, renamed.byteLength);
}

function storageOf({ storage }: Pick<ModelRecord, "storage">): Storage {
  return storage === "FLOAT16" ? "float16" : "float32";
}

function checksumOf(bytes: Buffer): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

function unfit(message: string, cause?: unknown): ForecastnetError {
  return new ForecastnetError("MODEL_UNFIT", message, { cause });
}
