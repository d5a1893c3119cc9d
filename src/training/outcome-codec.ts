// The outcome of a training as the record that answers its request, and back. A challenger that cannot be written or read is
// left out, with the reason; the others may still be good.

import { avroCodec } from "../log/codec/avro.ts";
import { fromModelRecord, modelRecordCodec, toModelRecord } from "../log/codec/model-record.ts";
import type { Families } from "../models/families.ts";
import type { TrainedModel } from "../models/family.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import type { Asker } from "./request-codec.ts";
import type { TrainingResult } from "./training-task.ts";

const outcomes = avroCodec("TrainingOutcome");

/** A training that was not cancelled. */
export type FinishedTraining = Exclude<TrainingResult, { readonly outcome: "cancelled" }>;

interface TrainingOutcome extends Asker {
  readonly result: FinishedTraining;
  readonly endedAtMs: number;
}

export interface ReceivedOutcome extends TrainingOutcome {
  /** One reason for each challenger that was left out. When all were, the result is "failed". */
  readonly unfit: readonly string[];
}

export function encodeOutcome(
  { requestId, modelKey, result, endedAtMs }: TrainingOutcome,
  families: Families,
): Buffer {
  const trained = result.outcome === "trained" ? result.challengers : [];
  const { kept, unfit } = sift(trained, (challenger) =>
    modelRecordCodec.encode(toModelRecord(challenger, { requestId, trainedAtMs: endedAtMs }, families)),
  );
  const reason = result.outcome === "failed" ? result.reason : unfitReason(unfit);
  return outcomes.encode({
    requestId,
    modelKey,
    challengers: kept,
    endedAt: endedAtMs,
    reason: kept.length > 0 ? null : reason,
    cpuSeconds: result.cpuSeconds ?? null,
  });
}

/** Throws STATE_CORRUPT when the bytes are not an outcome. */
export function decodeOutcome(value: Buffer, families: Families): ReceivedOutcome {
  const { requestId, modelKey, challengers, reason, endedAt, cpuSeconds } = outcomes.decode(value);
  const { kept, unfit } = sift(challengers, (bytes) => readChallenger(bytes, modelKey, families));
  const cost = cpuSeconds === null ? {} : { cpuSeconds };
  const result: FinishedTraining =
    kept.length > 0
      ? { outcome: "trained", challengers: kept, ...cost }
      : { outcome: "failed", reason: reason ?? unfitReason(unfit), ...cost };
  return { requestId, modelKey, result, endedAtMs: endedAt, unfit };
}

function readChallenger(bytes: Buffer, modelKey: string, families: Families): TrainedModel {
  const trained = fromModelRecord(modelRecordCodec.decode(bytes), families);
  const { key } = trained.model;
  if (key === modelKey) return trained;
  throw new ForecastnetError("MODEL_UNFIT", `a challenger for ${modelKey} is a model of ${key}`);
}

interface Sifted<T> {
  readonly kept: readonly T[];
  readonly unfit: readonly string[];
}

function sift<From, To>(items: readonly From[], convert: (item: From) => To): Sifted<To> {
  const kept: To[] = [];
  const unfit: string[] = [];
  for (const item of items) {
    try {
      kept.push(convert(item));
    } catch (error) {
      if (!(error instanceof ForecastnetError)) throw error;
      unfit.push(error.message);
    }
  }
  return { kept, unfit };
}

function unfitReason(unfit: readonly string[]): string {
  return unfit.length === 0 ? "the training gave no challenger" : `no challenger is fit: ${unfit.join("; ")}`;
}
