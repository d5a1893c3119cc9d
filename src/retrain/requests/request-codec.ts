// A training task as the record that asks a trainer for it, and back. Whatever is wrong with a request is answered in
// words: a request that nobody can train must not end the trainer that reads it.

import { avroCodec } from "../../log/codec/avro.ts";
import type {
  HistoryRecord,
  TrainingReasonSymbol,
  TrainingRequestRecord,
} from "../../log/codec/schemas.generated.ts";
import type { Refusal } from "../../log/dead-letter.ts";
import { countProblems, shown } from "../../models/forecastnet/field-problems.ts";
import { parseInterval } from "../../models/interval.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import type { History, TrainingPlan, TrainingReason, TrainingTask } from "../training-task.ts";
import { decodePlan, encodePlan } from "./plan-codec.ts";

const codec = avroCodec("TrainingRequest");

const symbolByReason: Readonly<Record<TrainingReason, TrainingReasonSymbol>> = {
  new: "NEW",
  drift: "DRIFT",
  age: "AGE",
  manual: "MANUAL",
};
const reasons = Object.keys(symbolByReason) as readonly TrainingReason[];

/** Who waits for an answer. */
export interface Asker {
  readonly requestId: string;
  readonly modelKey: string;
}

export interface RefusedRequest {
  readonly refusal: Refusal;
  /** Null when the record does not say. */
  readonly asker: Asker | null;
}

export type ReadRequest = { readonly task: TrainingTask } | RefusedRequest;

export function encodeRequest(task: TrainingTask): Buffer {
  const { id, modelKey, reason, plan, histories, requestedAtMs } = task;
  return codec.encode({
    ...{ id, modelKey, spec: encodePlan(plan), histories: histories.map(encodeHistory) },
    ...{ reason: symbolByReason[reason], requestedAt: requestedAtMs, attempt: 1 },
  });
}

export function decodeRequest(value: Buffer | null): ReadRequest {
  if (value === null) return undecodable("the record is empty; a request has a value");
  let record: TrainingRequestRecord;
  try {
    record = codec.decode(value);
  } catch (error) {
    if (!(error instanceof ForecastnetError)) throw error;
    return undecodable(error.message);
  }
  return readRecord(record);
}

function undecodable(detail: string): RefusedRequest {
  return { refusal: { reason: "undecodable", detail }, asker: null };
}

function readRecord(record: TrainingRequestRecord): ReadRequest {
  const { id, modelKey, histories, reason, requestedAt } = record;
  const named = nameProblems(record);
  const plan = decodePlan(record.spec);
  const problems = isPlan(plan)
    ? [...named, ...historiesProblems(histories, plan)]
    : [...named, ...plan, ...historiesProblems(histories, null)];
  if (problems.length > 0 || !isPlan(plan)) {
    return {
      refusal: { reason: "bad-request", detail: problems.join("; ") },
      asker: named.length > 0 ? null : { requestId: id, modelKey },
    };
  }
  const asked = reasons.find((name) => symbolByReason[name] === reason) ?? "manual";
  const task = { id, modelKey, reason: asked, plan, requestedAtMs: requestedAt };
  return { task: { ...task, histories: histories.map(decodeHistory) } };
}

function isPlan(plan: TrainingPlan | readonly string[]): plan is TrainingPlan {
  return !Array.isArray(plan);
}

function nameProblems({ id, modelKey }: TrainingRequestRecord): string[] {
  return [
    ...(id === "" ? ["id is empty; name the request"] : []),
    ...(modelKey === "" ? ["modelKey is empty; name the model"] : []),
    // A NUL separates a key from what lies beside it on the models topic.
    ...(modelKey.includes("\u0000") ? [`modelKey: ${shown(modelKey)}; give a name without NUL`] : []),
  ];
}

/** Without a plan only what does not depend on it is looked at. */
function historiesProblems(histories: readonly HistoryRecord[], plan: TrainingPlan | null): string[] {
  if (histories.length === 0) return ["histories are none; give at least one"];
  const [{ channels }] = histories;
  const problems = histories.flatMap((history, h) => {
    const isAlike = history.channels === channels;
    const unlike = isAlike ? [] : [`has ${history.channels} channels, the first has ${channels}`];
    const where = `history ${h} (${shown(history.seriesId)})`;
    return [...shapeProblems(history), ...unlike].map((problem) => `${where} ${problem}`);
  });
  // The steps of a history out of shape cannot be counted.
  return problems.length > 0 || plan === null ? problems : lengthProblems(histories, plan);
}

function shapeProblems({ seriesId, interval, channels, values, filled }: HistoryRecord): string[] {
  const bytesPerStep = 8 * channels;
  const counted = countProblems("channels", channels);
  if (counted.length > 0) return counted;
  const steps = values.length / bytesPerStep;
  const problems = [...(seriesId === "" ? ["has no seriesId"] : []), ...intervalProblems(interval)];
  if (!Number.isInteger(steps)) {
    problems.push(`has ${values.length} bytes of values; give a multiple of ${bytesPerStep}`);
  } else if (filled !== null && filled.length !== steps) {
    problems.push(`has ${filled.length} marks of filled slots; give one for each of its ${steps} steps`);
  } else if (floatsOf(values).some((value) => Math.abs(value) === Number.POSITIVE_INFINITY)) {
    problems.push("has a value without bound; give numbers, and NaN for what is missing");
  }
  return problems;
}

function intervalProblems(interval: string): string[] {
  try {
    parseInterval(interval);
    return [];
  } catch (error) {
    return [(error as Error).message];
  }
}

/**
 * What nobody could learn from; whether there is enough for a good model only the training can tell. A cohort may
 * have members too young to teach it anything, as long as it has others.
 */
function lengthProblems(histories: readonly HistoryRecord[], { horizon, holdBack }: TrainingPlan): string[] {
  const steps = Math.max(...histories.map(({ channels, values }) => values.length / (8 * channels)));
  const least = holdBack + horizon + 1; // The first step to look back on, the others to look ahead.
  if (steps >= least) return [];
  const needed = `${least} are needed to hold back ${holdBack} and look ${horizon} ahead`;
  return [`the longest history has ${steps} steps; at least ${needed}`];
}

function encodeHistory({
  seriesId,
  interval,
  firstTimeMs,
  channels,
  values,
  filled,
}: History): HistoryRecord {
  return {
    ...{ seriesId, interval, firstTime: firstTimeMs, channels },
    values: Buffer.from(values.buffer, values.byteOffset, values.byteLength),
    filled: filled && Buffer.from(filled.buffer, filled.byteOffset, filled.byteLength),
  };
}

function decodeHistory({ seriesId, interval, firstTime, channels, values, filled }: HistoryRecord): History {
  return {
    ...{ seriesId, interval, firstTimeMs: firstTime, channels },
    values: floatsOf(values),
    filled: filled && Uint8Array.from(filled),
  };
}

/** A copy: the bytes lie anywhere in a larger buffer, and numbers want to be aligned. */
function floatsOf(bytes: Buffer): Float64Array {
  const floats = new Float64Array(bytes.length / 8);
  new Uint8Array(floats.buffer).set(bytes);
  return floats;
}
