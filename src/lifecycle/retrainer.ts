// The retraining loop of a worker. On schedule it evaluates every series, calls models stale or fit, starts trainings within a
// budget, judges their outcomes, and ends probations. It neither forecasts nor writes: it hands decisions to the lifecycle of
// the partition that owns the series.

import { setImmediate } from "node:timers/promises";
import type { ModelOrderRecord } from "../log/codec/schemas.generated.ts";
import type { Families } from "../models/families.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/logging.ts";
import type { RetrainMetrics } from "../runtime/metric-groups.ts";
import type { FinishedTraining } from "../training/outcome-codec.ts";
import type { ModelTrainer, TrainingTask } from "../training/training-task.ts";
import type { Decision } from "./decision.ts";
import {
  cohortNeeds,
  driftDecision,
  seriesPerTurn,
  type TrainingNeed,
  trainingNeedOf,
} from "./evaluate-series.ts";
import { type JudgingContext, judgeOutcome } from "./judge-outcome.ts";
import { kindOf, NetGains } from "./net-gains.ts";
import { carryOut } from "./orders.ts";
import type { PartitionLifecycle } from "./partition-lifecycle.ts";
import type { ScoredSeries } from "./partition-view.ts";
import { endProbation } from "./probation.ts";
import type { RetrainSettings } from "./rules.ts";
import { EvaluationSchedule } from "./schedule.ts";
import { type GatherHistories, MostUrgent, TrainingBacklog, taskFor } from "./training-backlog.ts";
import { TrainingBudget } from "./training-budget.ts";

interface RetrainerParts {
  /** Of the owned and restored partitions. */
  readonly lifecycles: () => readonly PartitionLifecycle[];
  readonly families: Families;
  /** Trains in this process; null when trainers elsewhere do, or none. */
  readonly trainer: ModelTrainer | null;
  readonly settings: RetrainSettings;
  /** Names of the configured cohorts. */
  readonly cohorts: readonly string[];
  /** Reads the histories of a cohort's members in all partitions. */
  readonly gather: GatherHistories;
  readonly clock: Clock;
  /** Between 0 and 1, for the jitter. */
  readonly random: () => number;
  readonly logger: Logger;
  readonly metrics: RetrainMetrics;
}

/** Pause after finding too little history. Gathering that of a cohort reads the whole state topic. */
const lookAgainMs = 15 * 60_000;
/** Pause for a model after an error. */
const troubleMs = 60_000;

export class Retrainer {
  readonly #parts: RetrainerParts;
  readonly #schedule: EvaluationSchedule;
  readonly #stopping = new AbortController();
  readonly #backlog: TrainingBacklog;
  readonly #budget: TrainingBudget;
  readonly #netGains = new NetGains();
  /** Keys of models whose training includes nets, until it is judged. */
  readonly #withNets = new Set<string>();
  /** Keys of models that are being trained or judged. */
  readonly #busy = new Set<string>();
  readonly #running = new Set<Promise<void>>();
  /** When to look again for enough history, by model key. */
  readonly #looksAgainMs = new Map<string, number>();
  /** End of the pause after an error, by model key. */
  readonly #troubledUntilMs = new Map<string, number>();
  #trainings = 0;
  #checking: Promise<void> | null = null;
  #isCheckDue = false;

  constructor(parts: RetrainerParts) {
    this.#parts = parts;
    const { settings, clock, random } = parts;
    this.#schedule = new EvaluationSchedule(settings.schedule, clock);
    this.#budget = new TrainingBudget(clock, settings.cpuSecondsPerHour);
    this.#backlog = new TrainingBacklog({ clock, random, jitterMs: settings.jitterMs });
  }

  /** `budgetSeconds`: CPU seconds that trainings may take now; null for no limit. */
  get status(): {
    readonly inFlight: number;
    readonly waiting: number;
    readonly budgetSeconds: number | null;
  } {
    const { left } = this.#budget;
    const budgetSeconds = left === Number.POSITIVE_INFINITY ? null : left;
    return { inFlight: this.#trainings, waiting: this.#backlog.size, budgetSeconds };
  }

  /** Checks what is due. Call it when time has passed, a training has ended, or an order has arrived. */
  check(): void {
    if (this.#stopping.signal.aborted) return;
    this.#isCheckDue = true;
    this.#checking ??= this.#checks().finally(() => {
      this.#checking = null;
    });
  }

  /** Cancels everything in progress, and waits for its end. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#checking;
    await Promise.all(this.#running);
  }

  /** True when nothing in progress can lead to a decision without another check. */
  get isIdle(): boolean {
    return this.#checking === null && this.#running.size === 0;
  }

  /** Resolves when the retrainer is idle. */
  async settled(): Promise<void> {
    while (!this.isIdle) {
      await this.#checking;
      await Promise.all(this.#running);
    }
  }

  async #checks(): Promise<void> {
    while (this.#isCheckDue && !this.#stopping.signal.aborted) {
      this.#isCheckDue = false;
      try {
        if (this.#schedule.takeTurn()) await this.#evaluate();
        for (const lifecycle of this.#parts.lifecycles()) {
          await lifecycle.expiry.sweep();
          this.#handlePending(lifecycle);
        }
        // Requests to trainers elsewhere end at once, and thousands may be due.
        if (this.#startDue() > 0) await setImmediate();
      } catch (error) {
        // Forecasting continues whatever happens to retraining.
        this.#parts.metrics.failed();
        this.#parts.logger.error({ reason: reasonOf(error) }, "retraining check failed");
      }
    }
  }

  /** One turn of the schedule. */
  async #evaluate(): Promise<void> {
    const { lifecycles, settings, logger, metrics } = this.#parts;
    const mostUrgent = new MostUrgent(settings.perCycle);
    const promiseOf = (kind: string) => {
      const gain = this.#netGains.expected(kind);
      return gain < settings.leastGain ? null : gain;
    };
    let looked = 0;
    for (const lifecycle of lifecycles()) {
      for (const seriesId of lifecycle.view.scoreStore.ids()) {
        if (++looked % seriesPerTurn === 0) await setImmediate();
        this.#evaluateSeries(lifecycle, seriesId);
        const need = this.#isFree(lifecycle, seriesId)
          ? trainingNeedOf(lifecycle, seriesId, promiseOf)
          : null;
        if (need !== null) mostUrgent.offer(need);
      }
    }
    for (const need of await cohortNeeds(lifecycles(), this.#parts.cohorts))
      if (this.#isFree(need.lifecycle, need.modelKey)) mostUrgent.offer(need);
    if (settings.where !== "off") for (const need of mostUrgent.needs()) this.#backlog.add(need);
    metrics.evaluated(looked, mostUrgent.offered);
    logger.debug({ series: looked, needs: mostUrgent.offered }, "series evaluated");
  }

  #isFree(lifecycle: PartitionLifecycle, modelKey: string): boolean {
    if ((this.#looksAgainMs.get(modelKey) ?? Number.NEGATIVE_INFINITY) > this.#parts.clock.nowMs())
      return false;
    return !this.#isBusy(lifecycle, modelKey) && !this.#backlog.has(modelKey);
  }

  /** True when the model is in work, or a decision about it has not taken effect yet, or during a pause. */
  #isBusy(lifecycle: PartitionLifecycle, modelKey: string): boolean {
    const isTroubled =
      (this.#troubledUntilMs.get(modelKey) ?? Number.NEGATIVE_INFINITY) > this.#parts.clock.nowMs();
    return this.#busy.has(modelKey) || lifecycle.isDecided(modelKey) || isTroubled;
  }

  #evaluateSeries(lifecycle: PartitionLifecycle, seriesId: string): void {
    const { settings, clock } = this.#parts;
    const live = lifecycle.view.scoreStore.get(seriesId);
    if (live === undefined || this.#isBusy(lifecycle, seriesId)) return;
    const { life } = live;
    if (life.phase === "training") {
      const isLost = settings.where !== "trainers";
      if (isLost || clock.nowMs() - life.sinceMs > settings.timeoutMs)
        lifecycle.decide(abandoned(lifecycle, seriesId, isLost));
      return;
    }
    if (life.probation !== null) {
      this.#run(lifecycle, seriesId, () => endProbation(lifecycle, seriesId, this.#parts.families));
      return;
    }
    const decision = driftDecision(lifecycle, seriesId);
    if (decision !== null) lifecycle.decide(decision);
  }

  /** Outcomes and orders that others have written to the models topic. */
  #handlePending(lifecycle: PartitionLifecycle): void {
    for (const [modelKey, outcome] of lifecycle.outcomes) {
      if (this.#isBusy(lifecycle, modelKey)) continue;
      if (lifecycle.view.scoreStore.get(modelKey)?.life.requestId !== outcome.requestId) {
        lifecycle.dismiss(modelKey, "outcome"); // Of an abandoned training, or a duplicate.
        continue;
      }
      this.#run(lifecycle, modelKey, async () => {
        const decision = await this.#judge(outcome.result, this.#contextOf(lifecycle, modelKey));
        return { ...decision, answers: ["outcome"] };
      });
    }
    for (const [modelKey, order] of lifecycle.orders) {
      if (this.#isBusy(lifecycle, modelKey)) continue;
      if (order.kind === "RETRAIN") this.#handleRetrain(lifecycle, modelKey);
      else this.#run(lifecycle, modelKey, () => this.#carryOut(order, lifecycle));
    }
  }

  /** The order stays on the topic until its training starts, so it survives this worker. */
  #handleRetrain(lifecycle: PartitionLifecycle, modelKey: string): void {
    if (this.#parts.settings.where === "off") {
      lifecycle.decide(refusedRetrain(lifecycle, modelKey, "retrain.where is off: no training is allowed"));
      return;
    }
    const { rulesOf, settingsOf } = lifecycle.view;
    const { bestFamily } = rulesOf(settingsOf(modelKey));
    // A training in progress does not have the newest observations: another one follows it.
    if (lifecycle.view.scoreStore.get(modelKey)?.life.phase !== "training")
      this.#backlog.add({ lifecycle, modelKey, reason: "manual", family: bestFamily, urgency: 0 });
  }

  async #carryOut(order: ModelOrderRecord, lifecycle: PartitionLifecycle): Promise<Decision> {
    const decision = await carryOut(order, this.#contextOf(lifecycle, order.modelKey));
    // A newer order about the model stays pending.
    return lifecycle.orders.get(order.modelKey) === order ? { ...decision, answers: ["order"] } : decision;
  }

  /** Returns the number of trainings started. */
  #startDue(): number {
    const places = this.#budget.left > 0 ? this.#parts.settings.inFlight - this.#trainings : 0;
    const due = this.#backlog.takeDue(
      places,
      ({ lifecycle, modelKey }) => !this.#isBusy(lifecycle, modelKey),
    );
    for (const need of due) this.#run(need.lifecycle, need.modelKey, () => this.#train(need));
    return due.length;
  }

  async #train(need: TrainingNeed): Promise<Decision | null> {
    this.#trainings++;
    try {
      const { lifecycle, modelKey, reason } = need;
      const { trainer, settings, clock, gather } = this.#parts;
      const { rulesOf, settingsOf } = lifecycle.view;
      const signal = AbortSignal.any([this.#stopping.signal, lifecycle.view.lost]);
      const live = lifecycle.view.scoreStore.get(modelKey);
      const task = await taskFor(need, { settings, clock, gather, signal });
      if (isForgotten(lifecycle, modelKey, live)) return null;
      if (task === null) {
        this.#looksAgainMs.set(modelKey, clock.nowMs() + lookAgainMs);
        return reason === "manual"
          ? refusedRetrain(lifecycle, modelKey, "there is too little history to train on")
          : null;
      }
      if (need.family === "linear") this.#withNets.delete(modelKey);
      else this.#withNets.add(modelKey);
      lifecycle.decide({
        kind: "requested",
        modelKey,
        fromVersion: lifecycle.servingVersion(modelKey),
        numbers: {},
        requestId: task.id,
        reason,
        task: trainer === null ? task : null,
        competes: need.family === rulesOf(settingsOf(modelKey)).bestFamily,
        answers: lifecycle.orders.get(modelKey)?.kind === "RETRAIN" ? ["order"] : [],
      });
      // The outcome of a trainer elsewhere comes on the models topic.
      return trainer === null ? null : await this.#trainHere(trainer, task, need);
    } finally {
      this.#trainings--;
    }
  }

  async #trainHere(
    trainer: ModelTrainer,
    task: TrainingTask,
    { lifecycle }: TrainingNeed,
  ): Promise<Decision | null> {
    const { clock, metrics } = this.#parts;
    const startedMs = clock.nowMs();
    const context = this.#contextOf(lifecycle, task.modelKey);
    const [result] = await trainer.train([task], context.signal);
    metrics.trained(result.outcome, (clock.nowMs() - startedMs) / 1000);
    return result.outcome === "cancelled" ? null : this.#judge(result, { ...context, nowMs: clock.nowMs() });
  }

  /** Also takes the training off the budget, and notes what nets have gained over a linear model. */
  async #judge(result: FinishedTraining, context: JudgingContext): Promise<Decision> {
    const { lifecycle, modelKey } = context;
    const { rulesOf, settingsOf, models } = lifecycle.view;
    const { cpuSeconds = 0 } = result;
    this.#budget.spend(cpuSeconds);
    this.#parts.metrics.spent(cpuSeconds);
    const champion = models.of(modelKey)?.facts;
    const decision = await judgeOutcome(result, context);
    const hadNets = this.#withNets.delete(modelKey);
    if (champion?.family !== "linear" || result.outcome !== "trained") return decision;
    const isNet = result.challengers.some(({ model }) => model.family !== "linear");
    const { challengerMase, challengerCrps, championMase, championCrps } = decision.numbers;
    const netGain = 1 - Math.sqrt((challengerMase * challengerCrps) / (championMase * championCrps));
    // Nets that lost to a linear model on the folds are no challengers, and gain nothing.
    const gain = isNet ? netGain : hadNets ? 0 : null;
    if (gain !== null && Number.isFinite(gain))
      this.#netGains.note(kindOf(rulesOf(settingsOf(modelKey)), champion.validation), gain);
    return decision;
  }

  #contextOf(lifecycle: PartitionLifecycle, modelKey: string): JudgingContext {
    const { families, gather, clock } = this.#parts;
    const signal = AbortSignal.any([this.#stopping.signal, lifecycle.view.lost]);
    return { lifecycle, modelKey, families, gather, signal, nowMs: clock.nowMs() };
  }

  /** Acts on one model, one action at a time, and hands the decision to the partition. */
  #run(lifecycle: PartitionLifecycle, modelKey: string, act: () => Promise<Decision | null>): void {
    const live = lifecycle.view.scoreStore.get(modelKey);
    this.#busy.add(modelKey);
    this.#troubledUntilMs.delete(modelKey);
    const run = this.#attempt(lifecycle, modelKey, act)
      .then((decision) => {
        // A decision must not recreate a series that was forgotten meanwhile.
        if (decision !== null && !isForgotten(lifecycle, modelKey, live)) lifecycle.decide(decision);
      })
      .finally(() => {
        this.#busy.delete(modelKey);
        this.#running.delete(run);
        this.check();
      });
    this.#running.add(run);
  }

  async #attempt(
    lifecycle: PartitionLifecycle,
    modelKey: string,
    act: () => Promise<Decision | null>,
  ): Promise<Decision | null> {
    try {
      return await act();
    } catch (error) {
      if (this.#stopping.signal.aborted || lifecycle.view.lost.aborted) return null; // Interrupted, not failed.
      const { clock, metrics, logger } = this.#parts;
      this.#troubledUntilMs.set(modelKey, clock.nowMs() + troubleMs);
      metrics.failed();
      logger.error({ modelKey, reason: reasonOf(error) }, "retraining failed");
      return null;
    }
  }
}

/** True when the series had live scores and they are gone, or are those of a new series with the same id. */
function isForgotten(
  lifecycle: PartitionLifecycle,
  modelKey: string,
  liveBefore: ScoredSeries | undefined,
): boolean {
  return liveBefore !== undefined && lifecycle.view.scoreStore.get(modelKey) !== liveBefore;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** `isLost`: the training was in a worker process that is gone. */
function abandoned(lifecycle: PartitionLifecycle, modelKey: string, isLost: boolean): Decision {
  const reason = isLost ? "the worker that trained it is gone" : "no trainer has answered in time";
  const fromVersion = lifecycle.servingVersion(modelKey);
  return { kind: "failed", modelKey, fromVersion, reason, numbers: {} };
}

/** A training that was ordered by hand and cannot start. */
function refusedRetrain(lifecycle: PartitionLifecycle, modelKey: string, reason: string): Decision {
  const about = { modelKey, fromVersion: lifecycle.servingVersion(modelKey), numbers: {} };
  return { ...about, kind: "refused", toVersion: null, reason, isByHand: true, answers: ["order"] };
}
