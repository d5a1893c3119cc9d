// The loop beside the path: on schedule it looks at every series, calls models stale or fit, begins trainings under a
// budget, judges what comes of them, and watches those just promoted. It forecasts nothing and writes nothing: what
// it decides is handed to the lane that owns the series.

import { setImmediate } from "node:timers/promises";
import type { Engine } from "../engine/engine.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/logging.ts";
import type { RetrainMetrics } from "../runtime/metric-groups.ts";
import { cohortWishes, type GatherHistories } from "./cohorts.ts";
import type { Decision } from "./decision.ts";
import { driftDecision } from "./drift-decision.ts";
import type { LaneDesk } from "./lane-desk.ts";
import { carryOut } from "./orders.ts";
import { endProbation } from "./probation.ts";
import { Schedule } from "./schedule.ts";
import { servingFacts } from "./shelf.ts";
import { taskFor } from "./task-for.ts";
import type { Effort, ModelTrainer, TrainingResult, TrainingTask } from "./training-task.ts";
import { type Court, verdictOn } from "./verdict-on.ts";
import { byRank, type Wish, wishOf } from "./wishes.ts";

export interface RetrainerParts {
  /** Those that are restored. */
  readonly desks: () => readonly LaneDesk[];
  readonly engine: Engine;
  /** Trains here; null when trainers elsewhere do, or nobody. */
  readonly trainer: ModelTrainer | null;
  readonly settings: RetrainSettings;
  /** Names of the cohorts that the configuration knows. */
  readonly cohorts: readonly string[];
  /** The histories of a cohort's members, wherever they live. */
  readonly gather: GatherHistories;
  readonly clock: Clock;
  /** Between 0 and 1, for the jitter. */
  readonly random: () => number;
  readonly logger: Logger;
  readonly metrics: RetrainMetrics;
}

export interface RetrainSettings {
  readonly where: "worker" | "trainers" | "off";
  readonly schedule: string;
  readonly jitterMs: number;
  readonly perCycle: number;
  readonly inFlight: number;
  readonly timeoutMs: number;
  readonly effort: Effort;
  readonly members: number;
}

interface Planned {
  readonly wish: Wish;
  readonly startMs: number;
}

/** Gathering the histories of a cohort reads the whole state topic: so long it is not tried again in vain. */
const lookAgainMs = 15 * 60_000;
/** Series looked at between two turns of the event loop. */
const seriesPerTurn = 500;

export class Retrainer {
  readonly #parts: RetrainerParts;
  readonly #schedule: Schedule;
  readonly #stopping = new AbortController();
  /** Chosen, and waiting for their jitter and a free place. */
  #planned: Planned[] = [];
  /** Keys of what is trained or judged at this moment. */
  readonly #busy = new Set<string>();
  readonly #running = new Set<Promise<void>>();
  /** When to look again at what had no history enough, by model key. */
  readonly #looksAgainMs = new Map<string, number>();
  #trainings = 0;
  #turn: Promise<void> | null = null;
  #isPoked = false;

  constructor(parts: RetrainerParts) {
    this.#parts = parts;
    this.#schedule = new Schedule(parts.settings.schedule, parts.clock);
  }

  get status(): { readonly inFlight: number; readonly waiting: number } {
    return { inFlight: this.#trainings, waiting: this.#planned.length };
  }

  /** Something may be due: time has passed, a training has ended, an order has come. */
  poke(): void {
    if (this.#stopping.signal.aborted) return;
    this.#isPoked = true;
    this.#turn ??= this.#turns().finally(() => {
      this.#turn = null;
    });
  }

  /** Cancels what is under way; resolves once nothing is. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#turn;
    await Promise.all(this.#running);
  }

  /** Resolves when nothing is under way that could still lead to a decision without another poke. */
  async settled(): Promise<void> {
    while (this.#turn !== null || this.#running.size > 0) {
      await this.#turn;
      await Promise.all(this.#running);
    }
  }

  async #turns(): Promise<void> {
    while (this.#isPoked && !this.#stopping.signal.aborted) {
      this.#isPoked = false;
      try {
        if (this.#schedule.takeTurn()) await this.#evaluate();
        for (const desk of this.#parts.desks()) this.#attend(desk);
        this.#startDue();
      } catch (error) {
        // Forecasts go on whatever becomes of retraining.
        this.#parts.metrics.failed();
        this.#parts.logger.error({ reason: reasonOf(error) }, "retraining turn failed");
      }
    }
  }

  /** One turn of the schedule. */
  async #evaluate(): Promise<void> {
    const { desks, settings, logger, metrics } = this.#parts;
    const wishes: Wish[] = [];
    let looked = 0;
    for (const desk of desks()) {
      for (const seriesId of desk.parts.book.ids()) {
        if (++looked % seriesPerTurn === 0) await setImmediate();
        this.#lookAt(desk, seriesId);
        const wish = this.#isFree(desk, seriesId) ? wishOf(desk, seriesId) : null;
        if (wish !== null) wishes.push(wish);
      }
    }
    wishes.push(
      ...cohortWishes(desks(), this.#parts.cohorts).filter(({ desk, modelKey }) =>
        this.#isFree(desk, modelKey),
      ),
    );
    if (settings.where !== "off") this.#plan(wishes.sort(byRank).slice(0, settings.perCycle));
    metrics.evaluated(looked, wishes.length);
    logger.debug({ series: looked, wishes: wishes.length }, "models looked at");
  }

  #isFree(desk: LaneDesk, modelKey: string): boolean {
    if ((this.#looksAgainMs.get(modelKey) ?? 0) > this.#parts.clock.nowMs()) return false;
    return !this.#isBusy(desk, modelKey) && !this.#planned.some(({ wish }) => wish.modelKey === modelKey);
  }

  /** Something is under way about the model, or was decided and has not taken effect: what is seen now is old. */
  #isBusy(desk: LaneDesk, modelKey: string): boolean {
    return this.#busy.has(modelKey) || desk.isDecided(modelKey);
  }

  #lookAt(desk: LaneDesk, seriesId: string): void {
    const { settings, clock } = this.#parts;
    const live = desk.parts.book.get(seriesId);
    if (live === undefined || this.#isBusy(desk, seriesId)) return;
    const { life } = live;
    if (life.phase === "training") {
      const isLost = settings.where !== "trainers";
      if (isLost || clock.nowMs() - life.sinceMs > settings.timeoutMs)
        desk.decide(givenUp(desk, seriesId, isLost));
      return;
    }
    if (life.probation !== null) {
      this.#run(desk, seriesId, () => endProbation(desk, seriesId, this.#parts.engine));
      return;
    }
    const decision = driftDecision(desk, seriesId);
    if (decision !== null) desk.decide(decision);
  }

  #plan(wishes: readonly Wish[]): void {
    const { clock, settings, random } = this.#parts;
    const nowMs = clock.nowMs();
    for (const wish of wishes) {
      // Nobody waits for the jitter of what was asked for by hand.
      const delayMs = wish.reason === "manual" ? 0 : settings.jitterMs * random();
      this.#planned.push({ wish, startMs: nowMs + delayMs });
    }
  }

  /** Outcomes and orders that others laid on the topic. */
  #attend(desk: LaneDesk): void {
    for (const [modelKey, outcome] of desk.outcomes) {
      if (this.#isBusy(desk, modelKey)) continue;
      if (desk.parts.book.get(modelKey)?.life.requestId !== outcome.requestId) {
        desk.dismiss(modelKey, "outcome"); // Given up meanwhile, or answered twice.
        continue;
      }
      this.#run(desk, modelKey, async () => {
        const decision = await verdictOn(outcome.result, this.#courtOf(desk, modelKey));
        return { ...decision, settles: ["outcome"] };
      });
    }
    for (const [modelKey, order] of desk.orders) {
      if (this.#isBusy(desk, modelKey)) continue;
      if (order.kind !== "RETRAIN") {
        this.#run(desk, modelKey, () => carryOut(order, this.#courtOf(desk, modelKey)));
        continue;
      }
      desk.dismiss(modelKey, "order");
      if (this.#isFree(desk, modelKey)) this.#plan([{ desk, modelKey, reason: "manual", urgency: 0 }]);
    }
  }

  #startDue(): void {
    const { clock, settings } = this.#parts;
    const nowMs = clock.nowMs();
    const isLost = ({ wish }: Planned) => wish.desk.parts.lost.aborted;
    this.#planned = this.#planned.filter((planned) => !isLost(planned));
    const due = this.#planned.filter(({ startMs }) => startMs <= nowMs);
    const started = due.slice(0, Math.max(0, settings.inFlight - this.#trainings));
    this.#planned = this.#planned.filter((planned) => !started.includes(planned));
    for (const { wish } of started) this.#run(wish.desk, wish.modelKey, () => this.#train(wish));
  }

  async #train(wish: Wish): Promise<Decision | null> {
    const { desk, modelKey, reason } = wish;
    const { trainer, settings, clock, metrics, gather } = this.#parts;
    const signal = AbortSignal.any([this.#stopping.signal, desk.parts.lost]);
    const task = await taskFor(wish, { settings, clock, gather, signal });
    const fromVersion = versionOf(desk, modelKey);
    const about = { modelKey, fromVersion, numbers: {} };
    if (task === null) {
      this.#looksAgainMs.set(modelKey, clock.nowMs() + lookAgainMs);
      return null;
    }
    const asked = { ...about, kind: "requested", requestId: task.id, reason } as const;
    desk.decide({ ...asked, task: trainer === null ? task : null });
    if (trainer === null) return null; // The outcome comes by the models topic.
    this.#trainings++;
    const startedMs = clock.nowMs();
    try {
      const result = await trainHere(trainer, task, signal);
      metrics.trained(result.outcome, (clock.nowMs() - startedMs) / 1000);
      return result.outcome === "cancelled" ? null : await verdictOn(result, this.#courtOf(desk, modelKey));
    } finally {
      this.#trainings--;
    }
  }

  #courtOf(desk: LaneDesk, modelKey: string): Court {
    const { engine, gather, clock } = this.#parts;
    const signal = AbortSignal.any([this.#stopping.signal, desk.parts.lost]);
    return { desk, modelKey, engine, gather, signal, nowMs: clock.nowMs() };
  }

  /** Does something about one model; no two at once. What is decided goes to the lane. */
  #run(desk: LaneDesk, modelKey: string, act: () => Promise<Decision | null>): void {
    this.#busy.add(modelKey);
    const run = this.#attempt(modelKey, act)
      .then((decision) => {
        if (decision !== null) desk.decide(decision);
      })
      .finally(() => {
        this.#busy.delete(modelKey);
        this.#running.delete(run);
        this.poke();
      });
    this.#running.add(run);
  }

  async #attempt(modelKey: string, act: () => Promise<Decision | null>): Promise<Decision | null> {
    try {
      return await act();
    } catch (error) {
      this.#parts.metrics.failed();
      this.#parts.logger.error({ modelKey, reason: reasonOf(error) }, "retraining failed");
      return null;
    }
  }
}

async function trainHere(
  trainer: ModelTrainer,
  task: TrainingTask,
  signal: AbortSignal,
): Promise<TrainingResult> {
  const [result] = await trainer.train([task], signal);
  return result;
}

function versionOf(desk: LaneDesk, modelKey: string): string | null {
  const serving = desk.parts.shelf.of(modelKey);
  return serving === undefined ? null : servingFacts(serving).version;
}

function givenUp(desk: LaneDesk, modelKey: string, isLost: boolean): Decision {
  const reason = isLost ? "the worker that trained it is gone" : "no trainer has answered in time";
  return { kind: "failed", modelKey, fromVersion: versionOf(desk, modelKey), reason, numbers: {} };
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
