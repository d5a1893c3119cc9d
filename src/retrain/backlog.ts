// Trainings that were chosen and wait for their jitter and for a free place; one a model.

import type { Clock } from "../runtime/clock.ts";
import { byRank, type Wish } from "./wishes.ts";

export interface BacklogRules {
  readonly clock: Clock;
  /** So long a training waits at most, that a fleet does not train at once. */
  readonly jitterMs: number;
  /** Between 0 and 1. */
  readonly random: () => number;
}

interface Planned {
  readonly wish: Wish;
  readonly startMs: number;
}

export class Backlog {
  readonly #rules: BacklogRules;
  readonly #plannedByKey = new Map<string, Planned>();

  constructor(rules: BacklogRules) {
    this.#rules = rules;
  }

  get size(): number {
    return this.#plannedByKey.size;
  }

  has(modelKey: string): boolean {
    return this.#plannedByKey.has(modelKey);
  }

  /** In place of what was planned for the model before. */
  add(wish: Wish): void {
    const { clock, jitterMs, random } = this.#rules;
    // Nobody waits for the jitter of what was asked for by hand.
    const delayMs = wish.reason === "manual" ? 0 : jitterMs * random();
    this.#plannedByKey.set(wish.modelKey, { wish, startMs: clock.nowMs() + delayMs });
  }

  /** Takes out those whose time has come, as many as there are places, the worst first. */
  takeDue(places: number, isFree: (wish: Wish) => boolean): readonly Wish[] {
    const nowMs = this.#rules.clock.nowMs();
    for (const { wish } of [...this.#plannedByKey.values()]) {
      if (wish.desk.parts.lost.aborted) this.#plannedByKey.delete(wish.modelKey);
    }
    const due = [...this.#plannedByKey.values()]
      .filter(({ wish, startMs }) => startMs <= nowMs && isFree(wish))
      .map(({ wish }) => wish)
      .sort(byRank)
      .slice(0, Math.max(0, places));
    for (const { modelKey } of due) this.#plannedByKey.delete(modelKey);
    return due;
  }
}
