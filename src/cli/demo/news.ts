// The decisions about models that the demo has read from the events topic: the latest as lines of text, a count of each
// kind, and the series whose model is stale.

import type { ModelEventKindSymbol, ModelEventRecord } from "../../log/codec/schemas.generated.ts";
import { shortNumber, wholePercent } from "./number-text.ts";

/** Whether a line is good or bad news; the view chooses the colour. */
export type Tone = "good" | "bad" | "plain";

export interface NewsItem {
  /** Since the demo started. */
  readonly seconds: number;
  readonly text: string;
  readonly tone: Tone;
}

/** A bound, because the demo may run for days. */
const mostItems = 500;

const endsStaleness: ReadonlySet<ModelEventKindSymbol> = new Set([
  "PROMOTED",
  "RECOVERED",
  "ROLLED_BACK",
  "RETIRED",
]);

export class NewsFeed {
  readonly #items: NewsItem[] = [];
  readonly #countByKind = new Map<ModelEventKindSymbol, number>();
  readonly #stale = new Set<string>();
  #added = 0;

  /** Lines added so far: a position for `since`. */
  get added(): number {
    return this.#added;
  }

  /** Series whose model is stale. */
  get stale(): ReadonlySet<string> {
    return this.#stale;
  }

  countOf(kind: ModelEventKindSymbol): number {
    return this.#countByKind.get(kind) ?? 0;
  }

  /** Takes a decision from the events topic. */
  receive(event: ModelEventRecord, seconds: number): void {
    const { kind, modelKey } = event;
    this.#countByKind.set(kind, this.countOf(kind) + 1);
    if (kind === "DRIFTED") this.#stale.add(modelKey);
    else if (endsStaleness.has(kind)) this.#stale.delete(modelKey);
    const text = decisionText(event);
    if (text !== null) this.add({ seconds, text, tone: toneByKind[kind] });
  }

  add(item: NewsItem): void {
    this.#added++;
    this.#items.push(item);
    if (this.#items.length > mostItems) this.#items.shift();
  }

  /** The newest `count` lines, oldest first. */
  latest(count: number): readonly NewsItem[] {
    return count <= 0 ? [] : this.#items.slice(-count);
  }

  /** The lines added after a position. */
  since(added: number): readonly NewsItem[] {
    return this.latest(this.#added - added);
  }
}

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
  FORGOTTEN: "plain",
};

const wordsByKind: Readonly<Record<ModelEventKindSymbol, string>> = {
  OTHER: "decided",
  DRIFTED: "drifting",
  REQUESTED: "training requested",
  FAILED: "training failed",
  REFUSED: "challenger refused",
  PROMOTED: "promoted",
  ROLLED_BACK: "rolled back",
  RECOVERED: "recovered",
  CONFIRMED: "confirmed",
  RETIRED: "back to seasonal-naive",
  FORGOTTEN: "forgotten",
};

/** Null for a decision that is no news: the first training of a series. */
function decisionText(event: ModelEventRecord): string | null {
  const { kind, modelKey, reason, numbers } = event;
  if (kind === "DRIFTED") return `${modelKey}: ${driftText(numbers)}`;
  if (kind !== "REQUESTED") return `${modelKey}: ${wordsByKind[kind]}, ${reason}`;
  if (reason === "new") return null;
  return `${modelKey}: retraining, ${reason === "drift" ? "because it drifts" : reason}`;
}

function driftText({ rollingMase, validationMase, coverage }: ModelEventRecord["numbers"]): string {
  const validated = validationMase === undefined ? "" : ` (validated ${shortNumber(validationMase)})`;
  const covered = coverage === undefined ? "" : `, coverage ${wholePercent(coverage)}`;
  return `drifting, MASE ${shortNumber(rollingMase ?? Number.NaN)}${validated}${covered}`;
}
