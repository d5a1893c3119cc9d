// The scenario that the demo plays: once the model of one sensor is confirmed, the sensor wears out. The worker has to
// find the model stale, retrain it and recover. The scenario only follows the worker's decisions.
//
//              ┌────────── by itself ──────────┐
//              │                               ▼
//   worn ─► stale ─► training ─► promoted ─► recovered
//              ▲                     │
//              └─── stale again ─────┘

import type { ModelEventKindSymbol, ModelEventRecord } from "../../log/codec/schemas.generated.ts";
import { shortNumber } from "./number-text.ts";

interface ScenarioStep {
  readonly kind: ScenarioStepKind;
  /** Since the demo started. */
  readonly seconds: number;
  readonly text: string;
}

export type ScenarioStepKind = "worn" | "stale" | "training" | "promoted" | "recovered";

/** The decision that leads to each next step; other decisions change nothing. */
const nextSteps: Readonly<
  Record<ScenarioStepKind, Partial<Readonly<Record<ModelEventKindSymbol, ScenarioStepKind>>>>
> = {
  worn: { DRIFTED: "stale" },
  stale: { REQUESTED: "training", RECOVERED: "recovered" },
  training: { PROMOTED: "promoted" },
  promoted: { CONFIRMED: "recovered", DRIFTED: "stale" },
  recovered: {},
};

export class WearScenario {
  readonly seriesId: string;
  readonly #driftRatio: number;
  readonly #steps: ScenarioStep[] = [];
  #isConfirmed = false;
  /** Of the serving model. */
  #validationMase = 0;

  constructor(seriesId: string, driftRatio: number) {
    this.seriesId = seriesId;
    this.#driftRatio = driftRatio;
  }

  get steps(): readonly ScenarioStep[] {
    return this.#steps;
  }

  /** True when the sensor is to wear out. */
  get isDue(): boolean {
    return this.#isConfirmed && this.#steps.length === 0;
  }

  begin(seconds: number): ScenarioStep {
    const text = `${this.seriesId} wears out: from now on it swings wider and slower`;
    return this.#add({ kind: "worn", seconds, text });
  }

  /** Takes a model of the sensor from the models topic. */
  receiveModel(validationMase: number): void {
    this.#validationMase = validationMase;
  }

  /** Takes a decision. Returns the step that starts with it, or null. */
  receive(event: ModelEventRecord, seconds: number): ScenarioStep | null {
    if (event.modelKey !== this.seriesId) return null;
    if (event.kind === "CONFIRMED") this.#isConfirmed = true;
    const present = this.#steps.at(-1);
    const kind = present === undefined ? undefined : nextSteps[present.kind][event.kind];
    if (kind === undefined) return null;
    // A confirmed model is better than its predecessor, but may still be stale.
    if (event.kind === "CONFIRMED" && !(event.numbers.liveMase <= this.#threshold)) return null;
    return this.#add({ kind, seconds, text: this.#textOf(kind, event) });
  }

  get #threshold(): number {
    return this.#driftRatio * this.#validationMase;
  }

  #add(step: ScenarioStep): ScenarioStep {
    this.#steps.push(step);
    return step;
  }

  #textOf(kind: ScenarioStepKind, { numbers }: ModelEventRecord): string {
    const { seriesId } = this;
    switch (kind) {
      case "stale":
        return `${seriesId}: its model is stale; the worker collects data to retrain it`;
      case "training":
        return `${seriesId}: a new model is in training; the old one serves meanwhile`;
      case "promoted":
        return `${seriesId}: the new model has passed the gate and is on probation`;
      default: {
        const mase = shortNumber(numbers.liveMase ?? numbers.rollingMase);
        return `${seriesId} has recovered: live MASE ${mase}, stale above ${shortNumber(this.#threshold)}`;
      }
    }
  }
}
