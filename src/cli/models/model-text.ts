// Models as text and as JSON: the rows of `models list`, the page of `models show`, and events.

import { type ModelFacts, modelRecordCodec } from "../../log/codec/model-record.ts";
import type { ModelEventRecord, ModelRecord } from "../../log/codec/schemas.generated.ts";
import { isCohortKey } from "../../models/cohort.ts";
import type { Phase } from "../../models/life.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import {
  type Column,
  numberText,
  optionalNumber,
  optionalTime,
  printable,
  tableLines,
  timeText,
} from "../terminal-text.ts";
import type { LiveFacts, ModelEntry } from "./read-models.ts";

const mostEvents = 20;

interface ModelRow {
  readonly modelKey: string;
  readonly kind: "series" | "cohort";
  readonly partition: number;
  readonly phase: Phase;
  /** Of the series' own model; without one, of the method that forecasts it. */
  readonly version: string | null;
  readonly rollingMase: number | null;
  readonly validationMase: number | null;
  readonly trainedAt: string | null;
  readonly isOnProbation: boolean;
  /** The newest decision, or why a record cannot be read. */
  readonly verdict: string | null;
}

const columns: readonly Column<ModelRow>[] = [
  { title: "KEY", text: ({ modelKey }) => modelKey },
  { title: "PHASE", text: ({ phase }) => phase },
  { title: "VERSION", text: ({ version }) => version ?? "–" },
  { title: "MASE", text: ({ rollingMase }) => optionalNumber(rollingMase), isNumber: true },
  { title: "VALIDATED", text: ({ validationMase }) => optionalNumber(validationMase), isNumber: true },
  {
    title: "TRAINED",
    text: ({ trainedAt }) => optionalTime(trainedAt === null ? null : Date.parse(trainedAt)),
  },
  { title: "PROBATION", text: ({ isOnProbation }) => (isOnProbation ? "yes" : "–") },
  { title: "VERDICT", text: ({ verdict }) => verdict ?? "–" },
];

/** Worst rolling MASE first. A null phase lists all phases. */
export function listLines(
  entries: Iterable<ModelEntry>,
  phase: Phase | null,
  limit: number,
  isJson: boolean,
): readonly string[] {
  const found = [...entries]
    .map(toRow)
    .filter((row) => phase === null || row.phase === phase)
    .sort(worstFirst);
  const rows = found.slice(0, limit);
  if (isJson) return [JSON.stringify(rows, null, 2)];
  if (found.length === 0) return [phase === null ? "no series yet" : `no series is ${phase}`];
  const rest = found.length - rows.length;
  return [...tableLines(columns, rows), ...(rest > 0 ? [`and ${rest} more`] : [])];
}

function toRow({ modelKey, partition, model, live, problem }: ModelEntry): ModelRow {
  return {
    modelKey,
    kind: isCohortKey(modelKey) ? "cohort" : "series",
    partition,
    phase: (live?.phase.toLowerCase() as Phase | undefined) ?? (model === null ? "cold" : "champion"),
    version: model?.version ?? live?.modelVersion ?? null,
    rollingMase: live?.scores?.mase ?? null,
    validationMase: model !== null && model.validation.scoredSteps > 0 ? model.validation.mase : null,
    trainedAt: model === null ? null : new Date(model.trainedAt).toISOString(),
    isOnProbation: (live?.probation ?? null) !== null,
    verdict: problem === null ? (live?.verdict ?? null) : `cannot be read: ${problem}`,
  };
}

/** Rows without a score come last. */
function worstFirst(one: ModelRow, other: ModelRow): number {
  const worse = (other.rollingMase ?? -1) - (one.rollingMase ?? -1);
  return worse !== 0 ? worse : one.modelKey < other.modelKey ? -1 : 1;
}

/** One line, and a second line with the event's numbers if it has any. */
export function eventLines(event: ModelEventRecord): readonly string[] {
  const { time, kind, fromVersion, toVersion, reason } = event;
  const word = kind.toLowerCase().replace("_", " ").padEnd(11);
  const versions = toVersion === null ? (fromVersion ?? "") : `${fromVersion ?? "cold"} → ${toVersion}`;
  const numbers = Object.entries(event.numbers).map(([name, value]) => `${name} ${numberText(value)}`);
  const head = [timeText(time), word, ...(versions === "" ? [] : [`${versions}:`]), reason].join("  ");
  return [head, ...(numbers.length > 0 ? [`${" ".repeat(22)}${numbers.join(", ")}`] : [])].map(printable);
}

interface ShownModel {
  readonly entry: ModelEntry;
  /** The record on the models topic; null when there is none. */
  readonly stored: Buffer | null;
  /** Oldest first. */
  readonly events: readonly ModelEventRecord[];
}

export function showLines({ entry, stored, events }: ShownModel): readonly string[] {
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

export function showJson({ entry, stored, events }: ShownModel): string {
  const { model, live, order, problem } = entry;
  const previous = readPrevious(stored);
  const predecessor = typeof previous === "string" || previous === null ? null : factsOf(previous);
  const all = { ...toRow(entry), live, model, predecessor, order, problem, events };
  return JSON.stringify(all, null, 2);
}

function lifeFacts({ live, order }: ModelEntry): readonly (readonly [string, string])[] {
  const pending =
    order === null ? [] : [["pending order", `${order.kind} of ${timeText(order.askedAt)}`] as const];
  if (live === null) return [["phase", "nothing scored or decided yet"], ...pending];
  const { phase, phaseSince, driftSince, probation, requestId, verdict, scores, modelVersion } = live;
  const coverage = scores?.coverage.map(
    ({ stated, observed }) => `${numberText(100 * stated)} % interval holds ${numberText(100 * observed)} %`,
  );
  return [
    ["phase", phase.toLowerCase() + (phaseSince > 0 ? ` since ${timeText(phaseSince)}` : "")],
    ...(driftSince === null ? [] : [["drifting since", timeText(driftSince)] as const]),
    ...(probation === null ? [] : [["probation", probationText(probation)] as const]),
    ...(requestId === null ? [] : [["in training", requestId] as const]),
    ["verdict", verdict ?? "none yet"],
    ["forecast by", modelVersion],
    [
      "live scores",
      scores === null
        ? "no forecast has matured yet"
        : `MASE ${numberText(scores.mase)}, CRPS ${numberText(scores.crps)}, ${scores.scoredSteps} steps scored`,
    ],
    ...(coverage === undefined || coverage.length === 0 ? [] : [["coverage", coverage.join(", ")] as const]),
    ...pending,
  ];
}

function probationText({ predecessorMase, since }: NonNullable<LiveFacts["probation"]>): string {
  return `since ${timeText(since)}, against a MASE of ${optionalNumber(predecessorMase)}`;
}

function modelFacts(model: ModelFacts, weightBytes: number): readonly (readonly [string, string])[] {
  const { version, storage, trainedAt, trainedFrom, trainedTo, validation, lineage, requestId } = model;
  const { mase, crps, baselineMase, baselineCrps, scoredSteps } = validation;
  const baseline = `seasonal-naive ${numberText(baselineMase)}, ${numberText(baselineCrps)}`;
  return [
    ["model", `${version}, ${weightBytes.toLocaleString("en-US")} bytes as ${storage.toLowerCase()}`],
    ["trained", `${timeText(trainedAt)}, on ${timeText(trainedFrom)} to ${timeText(trainedTo)}`],
    [
      "validated",
      scoredSteps === 0
        ? "not at all"
        : `MASE ${numberText(mase)}, CRPS ${numberText(crps)} over ${scoredSteps} steps; ${baseline}`,
    ],
    ["lineage", lineage === null ? "trained from scratch" : `from ${lineage.version}: ${lineage.reason}`],
    ["request", requestId ?? "none: imported by hand"],
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

/** The model that a rollback would restore. A string says why it cannot be read. */
function readPrevious(stored: Buffer | null): ModelRecord | string | null {
  if (stored === null) return null;
  try {
    const { previous } = modelRecordCodec.decode(stored);
    return previous === null ? null : modelRecordCodec.decode(previous);
  } catch (error) {
    if (!(error instanceof ForecastnetError)) throw error;
    return `cannot be read: ${error.message}`;
  }
}

function factsOf({ weights: _, previous: __, ...facts }: ModelRecord): ModelFacts {
  return facts;
}
