// What came of a request, as the record that tells its asker, and back. A challenger that cannot be written or read
// is left out, with the reason: the others may still be good.

import { avroCodec } from "../../log/codec/avro.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import type { TrainedModel, TrainingResult } from "../training-task.ts";
import { fromModelRecord, toModelRecord } from "./model-record.ts";
import type { Asker } from "./request-codec.ts";

const outcomes = avroCodec("TrainingOutcome");
const records = avroCodec("ModelRecord");

/** A training that was not cut short. */
export type FinishedTraining = Exclude<TrainingResult, { readonly outcome: "cancelled" }>;

export interface Outcome extends Asker {
  readonly result: FinishedTraining;
  readonly endedAtMs: number;
}

export interface ReceivedOutcome extends Outcome {
  /** Why challengers were left out, one reason each. When all were, the result is "failed". */
  readonly unfit: readonly string[];
}

export function encodeOutcome({ requestId, modelKey, result, endedAtMs }: Outcome): Buffer {
  const trained = result.outcome === "trained" ? result.challengers : [];
  const { kept, unfit } = sift(trained, (challenger) =>
    records.encode(toModelRecord(challenger, { requestId, trainedAtMs: endedAtMs })),
  );
  const reason = result.outcome === "failed" ? result.reason : unfitReason(unfit);
  return outcomes.encode({
    ...{ requestId, modelKey, challengers: kept, endedAt: endedAtMs },
    reason: kept.length > 0 ? null : reason,
  });
}

/** Throws STATE_CORRUPT when the bytes are no outcome at all. */
export function decodeOutcome(value: Buffer): ReceivedOutcome {
  const { requestId, modelKey, challengers, reason, endedAt } = outcomes.decode(value);
  const { kept, unfit } = sift(challengers, (bytes) => readChallenger(bytes, modelKey));
  const result: FinishedTraining =
    kept.length > 0
      ? { outcome: "trained", challengers: kept }
      : { outcome: "failed", reason: reason ?? unfitReason(unfit) };
  return { requestId, modelKey, result, endedAtMs: endedAt, unfit };
}

function readChallenger(bytes: Buffer, modelKey: string): TrainedModel {
  const trained = fromModelRecord(records.decode(bytes));
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
