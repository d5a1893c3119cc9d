// What has happened to the models so far, as a subscriber of the events topic knows it: the latest lines of news, how
// many decisions of each kind there were, and whose model is stale.

import type { ModelEventKindSymbol, ModelEventRecord } from "../../log/codec/schemas.generated.ts";
import { decisionText, type Tone, toneOf } from "./decision-text.ts";

export interface NewsItem {
  /** Since the demo began. */
  readonly seconds: number;
  readonly text: string;
  readonly tone: Tone;
}

/** The demo may run for days. */
const keptItems = 500;

export class Newsroom {
  readonly #items: NewsItem[] = [];
  readonly #countByKind = new Map<ModelEventKindSymbol, number>();
  readonly #stale = new Set<string>();
  #told = 0;

  /** Lines told so far; a place in the news to go on reading from. */
  get told(): number {
    return this.#told;
  }

  /** Series whose model is known to be stale. */
  get stale(): ReadonlySet<string> {
    return this.#stale;
  }

  countOf(kind: ModelEventKindSymbol): number {
    return this.#countByKind.get(kind) ?? 0;
  }

  /** A decision was read off the topic. */
  hear(event: ModelEventRecord, seconds: number): void {
    const { kind, modelKey } = event;
    this.#countByKind.set(kind, this.countOf(kind) + 1);
    if (kind === "DRIFTED") this.#stale.add(modelKey);
    else if (endsStaleness.has(kind)) this.#stale.delete(modelKey);
    const text = decisionText(event);
    if (text !== null) this.tell({ seconds, text, tone: toneOf(event) });
  }

  tell(item: NewsItem): void {
    this.#told++;
    this.#items.push(item);
    if (this.#items.length > keptItems) this.#items.shift();
  }

  /** The newest `count`, oldest of them first. */
  latest(count: number): readonly NewsItem[] {
    return count <= 0 ? [] : this.#items.slice(-count);
  }

  /** What was told after a place. */
  since(told: number): readonly NewsItem[] {
    return this.latest(this.#told - told);
  }
}

const endsStaleness: ReadonlySet<ModelEventKindSymbol> = new Set([
  "PROMOTED",
  "RECOVERED",
  "ROLLED_BACK",
  "RETIRED",
]);
