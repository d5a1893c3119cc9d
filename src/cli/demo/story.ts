// The story of one sensor: once its model has proved itself the sensor becomes another one. It is up to the worker to
// notice, to learn it anew and to recover; the story only listens to what the worker tells.
//
//                 ┌────────── by itself ────────┐
//                 │                             ▼
//   changed ─► noticed ─► learning ─► learnt ─► recovered
//                 ▲                      │
//                 └─── learnt by half ───┘

import type { ModelEventKindSymbol, ModelEventRecord } from "../../log/codec/schemas.generated.ts";
import { shortNumber } from "./wording.ts";

export interface Chapter {
  readonly kind: ChapterKind;
  readonly seconds: number;
  readonly text: string;
}

export type ChapterKind = "changed" | "noticed" | "learning" | "learnt" | "recovered";

/** Which decision leads where; the others leave the story where it stands. */
const nextChapters: Readonly<
  Record<ChapterKind, Partial<Readonly<Record<ModelEventKindSymbol, ChapterKind>>>>
> = {
  changed: { DRIFTED: "noticed" },
  noticed: { REQUESTED: "learning", RECOVERED: "recovered" },
  learning: { PROMOTED: "learnt" },
  learnt: { CONFIRMED: "recovered", DRIFTED: "noticed" },
  recovered: {},
};

export class Story {
  readonly seriesId: string;
  readonly #driftRatio: number;
  readonly #chapters: Chapter[] = [];
  #isProven = false;
  /** Of the model that serves. */
  #validationMase = 0;

  constructor(seriesId: string, driftRatio: number) {
    this.seriesId = seriesId;
    this.#driftRatio = driftRatio;
  }

  get chapters(): readonly Chapter[] {
    return this.#chapters;
  }

  /** True when it is time for the sensor to change. */
  get isDue(): boolean {
    return this.#isProven && this.#chapters.length === 0;
  }

  begin(seconds: number): Chapter {
    const text = `${this.seriesId} is worn out from now on: it swings wider and slower`;
    return this.#add({ kind: "changed", seconds, text });
  }

  /** A model of the sensor was read off its topic. */
  meet(validationMase: number): void {
    this.#validationMase = validationMase;
  }

  /** The chapter that begins with the decision; null when none does. */
  hear(event: ModelEventRecord, seconds: number): Chapter | null {
    if (event.modelKey !== this.seriesId) return null;
    if (event.kind === "CONFIRMED") this.#isProven = true;
    const present = this.#chapters.at(-1);
    const kind = present === undefined ? undefined : nextChapters[present.kind][event.kind];
    if (kind === undefined) return null;
    // A model may be better than the one before it and still be a bad one.
    if (event.kind === "CONFIRMED" && !(event.numbers.liveMase <= this.#threshold)) return null;
    return this.#add({ kind, seconds, text: this.#textOf(kind, event) });
  }

  get #threshold(): number {
    return this.#driftRatio * this.#validationMase;
  }

  #add(chapter: Chapter): Chapter {
    this.#chapters.push(chapter);
    return chapter;
  }

  #textOf(kind: ChapterKind, { numbers }: ModelEventRecord): string {
    const { seriesId } = this;
    switch (kind) {
      case "noticed":
        return `${seriesId}: found stale; the worker gathers enough of the new to learn it`;
      case "learning":
        return `${seriesId}: a model learns what it does now; the old one goes on meanwhile`;
      case "learnt":
        return `${seriesId}: the new model has passed the gate, and is on probation`;
      default: {
        const mase = shortNumber(numbers.liveMase ?? numbers.rollingMase);
        return `${seriesId} has recovered: live MASE ${mase}, stale would be ${shortNumber(this.#threshold)}`;
      }
    }
  }
}
