// `forecastnet models list`: one line a series or cohort, worst rolling MASE first.

import { isCohortKey } from "../../models/cohort.ts";
import type { Phase } from "../../retrain/life.ts";
import type { Entry } from "./inventory.ts";
import type { ListOptions } from "./options.ts";
import { type Column, optionalNumber, tableLines, timeText } from "./wording.ts";

export interface ModelRow {
  readonly modelKey: string;
  readonly kind: "series" | "cohort";
  readonly partition: number;
  readonly phase: Phase;
  /** Of its own model; what its forecasts are made by when it has none. */
  readonly version: string | null;
  readonly rollingMase: number | null;
  readonly validationMase: number | null;
  readonly trainedAt: string | null;
  readonly isOnProbation: boolean;
  /** The newest decision, or what is wrong with what is stored. */
  readonly verdict: string | null;
}

const columns: readonly Column<ModelRow>[] = [
  { title: "KEY", text: ({ modelKey }) => modelKey },
  { title: "PHASE", text: ({ phase }) => phase },
  { title: "VERSION", text: ({ version }) => version ?? "–" },
  { title: "MASE", text: ({ rollingMase }) => optionalNumber(rollingMase), isNumber: true },
  { title: "VALIDATED", text: ({ validationMase }) => optionalNumber(validationMase), isNumber: true },
  { title: "TRAINED", text: ({ trainedAt }) => (trainedAt === null ? "–" : timeText(Date.parse(trainedAt))) },
  { title: "PROBATION", text: ({ isOnProbation }) => (isOnProbation ? "yes" : "–") },
  { title: "VERDICT", text: ({ verdict }) => verdict ?? "–" },
];

export function listLines(
  entries: Iterable<Entry>,
  { phase, limit, isJson }: ListOptions,
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

export function toRow({ modelKey, partition, model, live, problem }: Entry): ModelRow {
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

/** Those without a score come last. */
function worstFirst(one: ModelRow, other: ModelRow): number {
  const worse = (other.rollingMase ?? -1) - (one.rollingMase ?? -1);
  return worse !== 0 ? worse : one.modelKey < other.modelKey ? -1 : 1;
}
