// A training task as the record that requests it from a trainer, and back. Anybody may write a request, so every field is
// checked and unknown fields of the plan are named. A bad request is answered with what is wrong, and does not end the trainer
// that reads it.

import type { History } from "../domain.ts";
import { avroCodec } from "../log/codec/avro.ts";
import type {
  HistoryRecord,
  TrainingReasonSymbol,
  TrainingRequestRecord,
} from "../log/codec/schemas.generated.ts";
import type { RecordRefusal } from "../log/dead-letter.ts";
import { efforts } from "../models/family.ts";
import { choiceProblems, countProblems, isRecord, shown } from "../models/field-problems.ts";
import { parseInterval } from "../models/interval.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import type { TrainingPlan, TrainingReason, TrainingTask } from "./training-task.ts";

const codec = avroCodec("TrainingRequest");

const symbolByReason: Readonly<Record<TrainingReason, TrainingReasonSymbol>> = {
  new: "NEW",
  drift: "DRIFT",
  age: "AGE",
  manual: "MANUAL",
  refresh: "REFRESH",
  upgrade: "UPGRADE",
};
const reasons = Object.keys(symbolByReason) as readonly TrainingReason[];

/** The request and the model that an answer is for. */
export interface Asker {
  readonly requestId: string;
  readonly modelKey: string;
}

export interface RefusedRequest {
  readonly refusal: RecordRefusal;
  /** Null when the record does not name it. */
  readonly asker: Asker | null;
}

type ReadRequest = { readonly task: TrainingTask } | RefusedRequest;

export function encodeRequest(task: TrainingTask): Buffer {
  const { id, modelKey, reason, plan, histories, requestedAtMs } = task;
  return codec.encode({
    id,
    modelKey,
    spec: encodePlan(plan),
    histories: histories.map(encodeHistory),
    reason: symbolByReason[reason],
    requestedAt: requestedAtMs,
    attempt: 1,
  });
}

export function decodeRequest(value: Buffer | null): ReadRequest {
  if (value === null) return undecodable("the record has no value");
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
    // NUL starts the suffix of outcomes and orders on the models topic.
    ...(modelKey.includes("\u0000") ? [`modelKey: ${shown(modelKey)}; give a name without NUL`] : []),
  ];
}

/** Without a plan, only checks that do not need it. */
function historiesProblems(histories: readonly HistoryRecord[], plan: TrainingPlan | null): string[] {
  if (histories.length === 0) return ["histories: none; give at least one"];
  const [{ channels }] = histories;
  const problems = histories.flatMap((history, h) => {
    const isAlike = history.channels === channels;
    const unlike = isAlike ? [] : [`has ${history.channels} channels, the first has ${channels}`];
    const where = `history ${h} (${shown(history.seriesId)})`;
    return [...shapeProblems(history), ...unlike].map((problem) => `${where} ${problem}`);
  });
  // The steps of a malformed history cannot be counted.
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
    problems.push("has an infinite value; give finite numbers, and NaN in a gap");
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
 * Too little for any model; only the training knows whether there is enough for a good one. Some members of a cohort may be
 * too young as long as others are not.
 */
function lengthProblems(histories: readonly HistoryRecord[], { horizon, holdBack }: TrainingPlan): string[] {
  const steps = Math.max(...histories.map(({ channels, values }) => values.length / (8 * channels)));
  const least = holdBack + horizon + 1; // One step of input, and the targets of one forecast.
  if (steps >= least) return [];
  const needed = `${least} are needed to hold back ${holdBack} and forecast ${horizon}`;
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
    seriesId,
    interval,
    firstTime: firstTimeMs,
    channels,
    values: Buffer.from(values.buffer, values.byteOffset, values.byteLength),
    filled: filled && Buffer.from(filled.buffer, filled.byteOffset, filled.byteLength),
  };
}

function decodeHistory({ seriesId, interval, firstTime, channels, values, filled }: HistoryRecord): History {
  return {
    seriesId,
    interval,
    firstTimeMs: firstTime,
    channels,
    values: floatsOf(values),
    filled: filled && Uint8Array.from(filled),
  };
}

/** A copy, because the bytes in a larger buffer need not be aligned. */
function floatsOf(bytes: Buffer): Float64Array {
  const floats = new Float64Array(bytes.length / 8);
  new Uint8Array(floats.buffer).set(bytes);
  return floats;
}

/** The family of a plan that names none. */
const usualFamily = "forecastnet";
const forms: readonly TrainingPlan["form"][] = ["auto", "FN", "cFN", "FN2", "cFN2"];

const problemsByField: Readonly<Record<keyof TrainingPlan, (value: unknown) => string[]>> = {
  family: (value) =>
    typeof value === "string" && value !== ""
      ? []
      : [`family: ${shown(value)}; give the name of a model family`],
  horizon: (value) => countProblems("horizon", value),
  season: (value) => countProblems("season", value),
  form: (value) => choiceProblems("form", value, forms),
  effort: (value) => choiceProblems("effort", value, efforts),
  members: (value) => countProblems("members", value),
  holdBack: (value) => countProblems("holdBack", value, { least: 0 }),
  recentFromMs: (value) =>
    value === null || Number.isFinite(value)
      ? []
      : [`recentFromMs: ${shown(value)}; give a time in milliseconds or null`],
  refreshes: (value) =>
    typeof value === "string" && value !== ""
      ? []
      : [`refreshes: ${shown(value)}; give a version, or leave it out`],
};

const fields = Object.keys(problemsByField) as readonly (keyof TrainingPlan)[];

/** Trainers of the previous release know one family, and refuse a field that they do not know. */
function encodePlan(plan: TrainingPlan): string {
  const { family, ...others } = plan;
  return JSON.stringify(family === usualFamily ? others : plan, [...fields]);
}

/** The plan, or everything that is wrong with it. */
function decodePlan(text: string): TrainingPlan | readonly string[] {
  const parsed = parseJson(text);
  if (!isRecord(parsed)) return [`spec: ${shown(text)}; give a JSON object`];
  const value: Readonly<Record<string, unknown>> = { family: usualFamily, ...parsed };
  const unknown = Object.keys(value).filter((name) => !Object.hasOwn(problemsByField, name));
  const problems = [
    ...unknown.map((name) => `${shown(name)} is not a field of a spec; give ${fields.join(", ")}`),
    ...fields.flatMap((field) =>
      Object.hasOwn(value, field)
        ? problemsByField[field](value[field])
        : field === "refreshes"
          ? []
          : [`${field} is missing`],
    ),
  ];
  return problems.length > 0 ? problems : (value as unknown as TrainingPlan);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // The caller reports and shows it.
  }
}
