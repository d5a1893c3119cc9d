// `forecastnet models show`: all that is known of one series or cohort.

import { avroCodec } from "../../log/codec/avro.ts";
import type { ModelEventRecord, ModelRecord } from "../../log/codec/schemas.generated.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import type { Entry, RecordFacts } from "./inventory.ts";
import { toRow } from "./list.ts";
import { eventLines, numberText, optionalNumber, printable, timeText } from "./wording.ts";

const codec = avroCodec("ModelRecord");
const mostEvents = 20;

export interface Shown {
  readonly entry: Entry;
  /** The record as it lies on the topic; null when there is none. */
  readonly stored: Buffer | null;
  /** Oldest first. */
  readonly events: readonly ModelEventRecord[];
}

export function showLines({ entry, stored, events }: Shown): readonly string[] {
  const { modelKey, partition, model, problem } = entry;
  const { kind } = toRow(entry);
  const facts: (readonly [string, string])[] = [
    ...lifeFacts(entry),
    ...(model === null ? [["model", "none of its own"] as const] : modelFacts(model, model.weightBytes)),
    ...(problem === null ? [] : [["cannot be read", problem] as const]),
    ["predecessor", predecessorText(stored)],
  ];
  const newest = events.slice(-mostEvents);
  const left = events.length - newest.length;
  return [
    printable(`${modelKey}  (${kind}, partition ${partition})`),
    ...facts.map(([name, text]) => printable(`  ${name.padEnd(15)}${text}`)),
    events.length === 0
      ? "no events"
      : `events${left > 0 ? `, the newest ${mostEvents} of ${events.length}` : ""}`,
    ...newest.flatMap(eventLines).map((line) => `  ${line}`),
  ];
}

/** The same for programs. */
export function showJson({ entry, stored, events }: Shown): string {
  const { model, live, order, problem } = entry;
  const previous = readPrevious(stored);
  const predecessor = typeof previous === "string" || previous === null ? null : factsOf(previous);
  const all = { ...toRow(entry), live, model, predecessor, order, problem, events };
  return JSON.stringify(all, null, 2);
}

function lifeFacts({ live, order }: Entry): readonly (readonly [string, string])[] {
  const waiting =
    order === null ? [] : [["waiting", `${order.kind} asked for ${timeText(order.askedAt)}`] as const];
  if (live === null) return [["phase", "nothing scored or decided yet"], ...waiting];
  const { phase, phaseSince, driftSince, probation, requestId, verdict, scores, modelVersion } = live;
  const coverage = scores?.coverage.map(
    ({ stated, observed }) => `${numberText(100 * stated)} % holds ${numberText(100 * observed)} %`,
  );
  return [
    ["phase", phase.toLowerCase() + (phaseSince > 0 ? ` since ${timeText(phaseSince)}` : "")],
    ...(driftSince === null ? [] : [["drifting since", timeText(driftSince)] as const]),
    ...(probation === null ? [] : [["probation", probationText(probation)] as const]),
    ...(requestId === null ? [] : [["in training", requestId] as const]),
    ["verdict", verdict ?? "none yet"],
    ["forecast by", modelVersion],
    [
      "live",
      scores === null
        ? "nothing has matured yet"
        : `MASE ${numberText(scores.mase)}, CRPS ${numberText(scores.crps)}, ${scores.scoredSteps} steps scored`,
    ],
    ...(coverage === undefined || coverage.length === 0 ? [] : [["coverage", coverage.join(", ")] as const]),
    ...waiting,
  ];
}

function probationText({
  predecessorMase,
  since,
}: {
  predecessorMase: number | null;
  since: number;
}): string {
  return `since ${timeText(since)}, to beat a MASE of ${optionalNumber(predecessorMase)}`;
}

function modelFacts(model: RecordFacts, weightBytes: number): readonly (readonly [string, string])[] {
  const { version, storage, trainedAt, trainedFrom, trainedTo, validation, lineage, requestId } = model;
  const { mase, crps, baselineMase, baselineCrps, scoredSteps } = validation;
  const baseline = `seasonal-naive ${numberText(baselineMase)}, ${numberText(baselineCrps)}`;
  return [
    ["model", `${version}, ${weightBytes.toLocaleString("en-US")} bytes as ${storage.toLowerCase()}`],
    ["trained", `${timeText(trainedAt)}, on ${timeText(trainedFrom)} to ${timeText(trainedTo)}`],
    [
      "validated",
      scoredSteps === 0
        ? "on nothing"
        : `MASE ${numberText(mase)}, CRPS ${numberText(crps)} over ${scoredSteps} steps; ${baseline}`,
    ],
    ["lineage", lineage === null ? "trained from nothing" : `from ${lineage.version}: ${lineage.reason}`],
    ["request", requestId ?? "none: brought by hand"],
  ];
}

function predecessorText(stored: Buffer | null): string {
  const previous = readPrevious(stored);
  if (previous === null) return "none";
  if (typeof previous === "string") return previous;
  const { version, trainedAt, validation } = previous;
  const mase = validation.scoredSteps > 0 ? numberText(validation.mase) : "–";
  return `${version}, trained ${timeText(trainedAt)}, validated with a MASE of ${mase}`;
}

/** What a rollback would put back; text says why it cannot be read. */
function readPrevious(stored: Buffer | null): ModelRecord | string | null {
  if (stored === null) return null;
  try {
    const { previous } = codec.decode(stored);
    return previous === null ? null : codec.decode(previous);
  } catch (error) {
    if (!(error instanceof ForecastnetError)) throw error;
    return `cannot be read: ${error.message}`;
  }
}

function factsOf({ weights: _, previous: __, ...facts }: ModelRecord): RecordFacts {
  return facts;
}
