// A decision about a model as one line of news.

import type { ModelEventKindSymbol, ModelEventRecord } from "../../log/codec/schemas.generated.ts";
import { shortNumber, wholePercent } from "./wording.ts";

/** How news sounds; the view decides how it looks. */
export type Tone = "good" | "bad" | "plain";

const toneByKind: Readonly<Record<ModelEventKindSymbol, Tone>> = {
  OTHER: "plain",
  DRIFTED: "bad",
  REQUESTED: "plain",
  FAILED: "bad",
  REFUSED: "plain",
  PROMOTED: "good",
  ROLLED_BACK: "bad",
  RECOVERED: "good",
  CONFIRMED: "good",
  RETIRED: "bad",
};

const wordsByKind: Readonly<Record<ModelEventKindSymbol, string>> = {
  OTHER: "decided",
  DRIFTED: "drifts",
  REQUESTED: "training asked for",
  FAILED: "training failed",
  REFUSED: "challenger refused",
  PROMOTED: "promoted",
  ROLLED_BACK: "rolled back",
  RECOVERED: "recovered",
  CONFIRMED: "confirmed",
  RETIRED: "back to seasonal-naive",
};

export function toneOf({ kind }: ModelEventRecord): Tone {
  return toneByKind[kind];
}

/** Null for what is no news: that a series without a model is being given one. */
export function decisionText(event: ModelEventRecord): string | null {
  const { kind, modelKey, reason, numbers } = event;
  if (kind === "DRIFTED") return `${modelKey}: ${driftText(numbers)}`;
  if (kind !== "REQUESTED") return `${modelKey}: ${wordsByKind[kind]}, ${reason}`;
  if (reason === "new") return null;
  return `${modelKey}: in training again, ${reason === "drift" ? "because it drifts" : reason}`;
}

function driftText({ rollingMase, validationMase, coverage }: ModelEventRecord["numbers"]): string {
  const validated = validationMase === undefined ? "" : ` (validated ${shortNumber(validationMase)})`;
  const held = coverage === undefined ? "" : `, interval held ${wholePercent(coverage)}`;
  return `drifts, MASE ${shortNumber(rollingMase ?? Number.NaN)}${validated}${held}`;
}
