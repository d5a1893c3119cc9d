// The loop beside the path: on schedule it looks at every series, calls models stale or fit, begins trainings under a
// budget, judges what comes of them, and watches those just promoted. It forecasts nothing and writes nothing: what
// it decides is handed to the lane that owns the series.

import { setImmediate } from "node:timers/promises";
import type { Engine } from "../engine/engine.ts";
import type { ModelOrderRecord } from "../log/codec/schemas.generated.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/logging.ts";
import type { RetrainMetrics } from "../runtime/metric-groups.ts";
import { Backlog } from "./backlog.ts";
import { cohortWishes, type GatherHistories } from "./cohorts.ts";
import type { Decision } from "./decision.ts";
import { driftDecision } from "./drift-decision.ts";
import type { LaneDesk } from "./lane-desk.ts";
import { carryOut } from "./orders.ts";
import { endProbation } from "./probation.ts";
import { Schedule } from "./schedule.ts";
import { taskFor } from "./task-for.ts";
import type { Effort, ModelTrainer, TrainingTask } from "./training-task.ts";
import { givenUp, refusedRetrain, servingVersion } from "./unfinished.ts";
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

/** Gathering the histories of a cohort reads the whole state topic: so long it is not tried again in vain. */
const lookAgainMs = 15 * 60_000;
/** What went wrong is left alone so long: it may go wrong again at once, and again. */
const troubleMs = 60_000;
/** Series looked at between two turns of the event loop. */
const seriesPerTurn = 500;

export class Retrainer {
  readonly #parts: RetrainerParts;
  readonly #schedule: Schedule;
  readonly #stopping = new AbortController();
  readonly #backlog: Backlog;
  /** Keys of what is trained or judged at this moment. */
  readonly #busy = new Set<string>();
  readonly #running = new Set<Promise<void>>();
  /** When to look again at what had no history enough, by model key. */
  readonly #looksAgainMs = new Map<string, number>();
  /** By model key. */
  readonly #troubledUntilMs = new Map<string, number>();
  #trainings = 0;
  #turn: Promise<void> | null = null;
  #isPoked = false;

  constructor(parts: RetrainerParts) {
    this.#parts = parts;
    const { settings, clock, random } = parts;
    this.#schedule = new Schedule(settings.schedule, clock);
    this.#backlog = new Backlog({ clock, random, jitterMs: settings.jitterMs });
  }

  get status(): { readonly inFlight: number; readonly waiting: number } {
    return { inFlight: this.#trainings, waiting: this.#backlog.size };
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
    const chosen = settings.where === "off" ? [] : wishes.sort(byRank).slice(0, settings.perCycle);
    for (const wish of chosen) this.#backlog.add(wish);
    metrics.evaluated(looked, wishes.length);
    logger.debug({ series: looked, wishes: wishes.length }, "models looked at");
  }

  #isFree(desk: LaneDesk, modelKey: string): boolean {
    if ((this.#looksAgainMs.get(modelKey) ?? 0) > this.#parts.clock.nowMs()) return false;
    return !this.#isBusy(desk, modelKey) && !this.#backlog.has(modelKey);
  }

  /** Something is under way about the model, or was decided and has not taken effect: what is seen now is old. */
  #isBusy(desk: LaneDesk, modelKey: string): boolean {
    const isTroubled = (this.#troubledUntilMs.get(modelKey) ?? 0) > this.#parts.clock.nowMs();
    return this.#busy.has(modelKey) || desk.isDecided(modelKey) || isTroubled;
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
      if (order.kind === "RETRAIN") this.#attendRetrain(desk, modelKey);
      else this.#run(desk, modelKey, () => this.#carryOut(order, desk));
    }
  }

  /** The order goes with the training that it leads to; until then it waits, and outlives this worker. */
  #attendRetrain(desk: LaneDesk, modelKey: string): void {
    if (this.#parts.settings.where === "off") {
      desk.decide(refusedRetrain(desk, modelKey, "nobody trains here: retrain.where is off"));
      return;
    }
    // One that is under way was begun without what has come since: another follows it.
    if (desk.parts.book.get(modelKey)?.life.phase !== "training")
      this.#backlog.add({ desk, modelKey, reason: "manual", urgency: 0 });
  }

  async #carryOut(order: ModelOrderRecord, desk: LaneDesk): Promise<Decision> {
    const decision = await carryOut(order, this.#courtOf(desk, order.modelKey));
    // Another that has taken its place meanwhile is carried out next.
    return desk.orders.get(order.modelKey) === order ? { ...decision, settles: ["order"] } : decision;
  }

  #startDue(): void {
    const places = this.#parts.settings.inFlight - this.#trainings;
    const due = this.#backlog.takeDue(places, ({ desk, modelKey }) => !this.#isBusy(desk, modelKey));
    for (const wish of due) this.#run(wish.desk, wish.modelKey, () => this.#train(wish));
  }

  async #train(wish: Wish): Promise<Decision | null> {
    this.#trainings++;
    try {
      const { desk, modelKey, reason } = wish;
      const { trainer, settings, clock, gather } = this.#parts;
      const signal = AbortSignal.any([this.#stopping.signal, desk.parts.lost]);
      const task = await taskFor(wish, { settings, clock, gather, signal });
      if (task === null) {
        this.#looksAgainMs.set(modelKey, clock.nowMs() + lookAgainMs);
        return reason === "manual"
          ? refusedRetrain(desk, modelKey, "there is no history to learn from")
          : null;
      }
      desk.decide({
        ...{ kind: "requested", modelKey, fromVersion: servingVersion(desk, modelKey), numbers: {} },
        ...{ requestId: task.id, reason, task: trainer === null ? task : null },
        settles: desk.orders.get(modelKey)?.kind === "RETRAIN" ? ["order"] : [],
      });
      // Without a trainer of its own the worker hears of the outcome by the models topic.
      return trainer === null ? null : await this.#trainHere(trainer, task, wish);
    } finally {
      this.#trainings--;
    }
  }

  async #trainHere(trainer: ModelTrainer, task: TrainingTask, { desk }: Wish): Promise<Decision | null> {
    const { clock, metrics } = this.#parts;
    const startedMs = clock.nowMs();
    const court = this.#courtOf(desk, task.modelKey);
    const [result] = await trainer.train([task], court.signal);
    metrics.trained(result.outcome, (clock.nowMs() - startedMs) / 1000);
    return result.outcome === "cancelled" ? null : verdictOn(result, { ...court, nowMs: clock.nowMs() });
  }

  #courtOf(desk: LaneDesk, modelKey: string): Court {
    const { engine, gather, clock } = this.#parts;
    const signal = AbortSignal.any([this.#stopping.signal, desk.parts.lost]);
    return { desk, modelKey, engine, gather, signal, nowMs: clock.nowMs() };
  }

  /** Does something about one model; no two at once. What is decided goes to the lane. */
  #run(desk: LaneDesk, modelKey: string, act: () => Promise<Decision | null>): void {
    this.#busy.add(modelKey);
    this.#troubledUntilMs.delete(modelKey);
    const run = this.#attempt(desk, modelKey, act)
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

  async #attempt(
    desk: LaneDesk,
    modelKey: string,
    act: () => Promise<Decision | null>,
  ): Promise<Decision | null> {
    try {
      return await act();
    } catch (error) {
      if (this.#stopping.signal.aborted || desk.parts.lost.aborted) return null; // Cut short: nothing went wrong.
      const { clock, metrics, logger } = this.#parts;
      this.#troubledUntilMs.set(modelKey, clock.nowMs() + troubleMs);
      metrics.failed();
      logger.error({ modelKey, reason: reasonOf(error) }, "retraining failed");
      return null;
    }
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
