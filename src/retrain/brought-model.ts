// A model that a person brings: an exported ModelRecord, checked to its last number before anybody is asked to serve
// it, and made out to the key it is meant for.

import { createHash } from "node:crypto";
import { avroCodec } from "../log/codec/avro.ts";
import type { ModelRecord } from "../log/codec/schemas.generated.ts";
import { decodeModel, encodeModel } from "../models/forecastnet/model-bytes.ts";
import { ForecastnetError } from "../runtime/errors.ts";

const codec = avroCodec("ModelRecord");

export interface BroughtModel {
  readonly modelKey: string;
  readonly version: string;
  /** The record as an order carries it. */
  readonly bytes: Buffer;
}

/** `where` names the source in errors. Throws MODEL_UNFIT when the bytes are not a sound model. */
export function bringModel(bytes: Buffer, modelKey: string | null, where: string): BroughtModel {
  const record = decodeRecord(bytes, where);
  const wanted = modelKey ?? record.modelKey;
  const weights = weightsFor(record, wanted, where);
  const isRenamed = wanted !== record.modelKey;
  const brought: ModelRecord = {
    ...record,
    modelKey: wanted,
    weights,
    checksum: checksumOf(weights),
    lineage: isRenamed
      ? { version: record.version, reason: `brought by hand from ${record.modelKey}` }
      : record.lineage,
    // It replaces what serves where it arrives, not what it replaced where it comes from.
    ...{ previousVersion: null, previous: null, requestId: null },
  };
  return { modelKey: wanted, version: record.version, bytes: codec.encode(brought) };
}

function decodeRecord(bytes: Buffer, where: string): ModelRecord {
  try {
    return codec.decode(bytes);
  } catch (error) {
    if (!(error instanceof ForecastnetError)) throw error;
    throw unfit(`${where} is no exported model: ${error.message}`, error);
  }
}

/** The bytes of a model carry its key: under another key they are written anew. */
function weightsFor(record: ModelRecord, modelKey: string, where: string): Buffer {
  const { version, weights, storage, checksum } = record;
  if (checksum.startsWith("sha256:") && checksum !== checksumOf(weights)) {
    throw unfit(`${where}: the checksum of the record is ${checksum}; its bytes have ${checksumOf(weights)}`);
  }
  const model = decodeModel(weights, where);
  if (model.key !== record.modelKey || model.version !== version) {
    const names = `${record.modelKey}@${version}, the model inside ${model.key}@${model.version}`;
    throw unfit(`${where}: the record says ${names}; expected is one name`);
  }
  if (modelKey === model.key) return weights;
  const renamed = encodeModel({ ...model, key: modelKey }, storage === "FLOAT16" ? "float16" : "float32");
  return Buffer.from(renamed.buffer, renamed.byteOffset, renamed.byteLength);
}

function checksumOf(bytes: Buffer): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

function unfit(message: string, cause?: unknown): ForecastnetError {
  return new ForecastnetError("MODEL_UNFIT", message, { cause });
}
