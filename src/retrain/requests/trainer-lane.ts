// Works off the requests of one partition of the training topic:
//
//   read ─► cut into runs ─► for each run: count the attempt ─► train ─► one transaction:
//                                                                        outcomes to the models topic
//                                                                        dead letters
//                                                                        attempts deleted
//                                                                        position moved
//
// A trainer that dies in between has committed the attempt and nothing else, so that the next owner begins the same
// requests again. One that has lost the partition cannot commit. Nothing but what the topics hold outlives a lane.

import type { DeadLetterTopic } from "../../log/dead-letter.ts";
import type { OwnedPartition, StoredBatch } from "../../log/log.ts";
import type { Clock } from "../../runtime/clock.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import type { Logger } from "../../runtime/logging.ts";
import type { RetrainMetrics, SourceMetrics } from "../../runtime/metric-groups.ts";
import type { ModelTrainer, TrainingResult, TrainingTask } from "../training-task.ts";
import { answersTo } from "./answers.ts";
import { AttemptBook } from "./attempt-book.ts";
import { commitFitting, type Fitting } from "./commit-fitting.ts";
import { cutRuns, type Run, type RunItem } from "./runs.ts";
import type { Turns } from "./turns.ts";

export interface TrainerLaneParts {
  readonly trainer: ModelTrainer;
  readonly modelsTopic: string;
  readonly attemptsTopic: string;
  readonly deadLetters: DeadLetterTopic;
  /** A request begun so many times is begun no more. */
  readonly mostAttempts: number;
  /** Shared by all lanes of the process. */
  readonly turns: Turns;
  /** Nothing is begun any more. */
  readonly stopping: AbortSignal;
  /** What is under way is given up. */
  readonly givingUp: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: { readonly source: SourceMetrics; readonly retrain: Pick<RetrainMetrics, "trained"> };
}

export class TrainerLane {
  readonly #owned: OwnedPartition;
  readonly #parts: TrainerLaneParts;
  readonly #book: AttemptBook;
  /** Work is not begun once it fires. */
  readonly #ending: AbortSignal;
  /** Work under way ends when it fires. */
  readonly #cancelling: AbortSignal;
  #inFlight = 0;

  constructor(owned: OwnedPartition, parts: TrainerLaneParts) {
    this.#owned = owned;
    this.#parts = parts;
    this.#book = new AttemptBook(parts.attemptsTopic, owned.partition);
    this.#ending = AbortSignal.any([owned.lost, parts.stopping]);
    this.#cancelling = AbortSignal.any([owned.lost, parts.givingUp]);
  }

  /** Requests that are being trained now. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Until the partition is lost or the trainer stops. */
  async run(): Promise<void> {
    const { logger, mostAttempts: most } = this.#parts;
    await this.#book.restore(this.#owned, logger);
    const rule = { attemptsOf: (id: string) => this.#book.of(id), most };
    for await (const batch of this.#owned.batches()) {
      for (const run of cutRuns(batch, rule)) {
        if (this.#ending.aborted) return;
        await this.#workOff(run, batch);
      }
    }
  }

  async #workOff(run: Run, { topic }: StoredBatch): Promise<void> {
    const tasks = run.items.flatMap((item) => (item.kind === "task" ? [item.task] : []));
    let results: readonly TrainingResult[] = [];
    if (tasks.length > 0) {
      const endTurn = await this.#parts.turns.take(run.isAlone, this.#ending);
      if (endTurn === null) return;
      try {
        results = await this.#train(tasks, { topic, nextOffset: run.items[0].record.offset });
      } finally {
        endTurn();
      }
      // Whoever owns the partition now does it all again.
      if (this.#owned.lost.aborted) return;
    }
    await this.#settle(run, topic, results);
  }

  async #train(
    tasks: readonly TrainingTask[],
    position: { readonly topic: string; readonly nextOffset: number },
  ): Promise<readonly TrainingResult[]> {
    const { clock, metrics, trainer } = this.#parts;
    const startedMs = clock.nowMs();
    const records = this.#book.begin(
      tasks.map(({ id }) => id),
      startedMs,
    );
    // The position stays where it is: before the first of these requests.
    await this.#owned.commit({ ...position, records });
    this.#inFlight = tasks.length;
    try {
      const results = await trainer.train(tasks, this.#cancelling);
      const isOurs = this.#cancelling.aborted || results.every(({ outcome }) => outcome !== "cancelled");
      if (!isOurs)
        throw new ForecastnetError("ENGINE_FAILED", "a training was broken off though nobody asked");
      const seconds = (clock.nowMs() - startedMs) / 1000;
      for (const { outcome } of results) metrics.retrain.trained(outcome, seconds);
      return results;
    } finally {
      this.#inFlight = 0;
    }
  }

  /** Answers the run up to the first training that was given up; from there on it is left to the next owner. */
  async #settle(run: Run, requestTopic: string, results: readonly TrainingResult[]): Promise<void> {
    const { clock, modelsTopic, deadLetters } = this.#parts;
    const nowMs = clock.nowMs();
    const place = { requestTopic, partition: this.#owned.partition, modelsTopic, deadLetters, nowMs };
    const answered: RunItem[] = [];
    const answers: Fitting[] = [];
    let next = 0;
    for (const item of run.items) {
      const result = item.kind === "task" ? results[next++] : null;
      if (result?.outcome === "cancelled") break;
      answers.push(...answersTo(item, result, place));
      answered.push(item);
    }
    const left = run.items.slice(answered.length);
    const nextOffset = left.length > 0 ? left[0].record.offset : run.nextOffset;
    const attempts = [
      ...this.#book.end(answered.flatMap(idOf)),
      ...this.#book.takeBack(left.flatMap(idOfTask), nowMs),
    ];
    await commitFitting(this.#owned, { topic: requestTopic, nextOffset, records: attempts }, answers);
    this.#tell(answered, left, results.slice(0, next));
  }

  /** Only of what is committed. */
  #tell(answered: readonly RunItem[], left: readonly RunItem[], results: readonly TrainingResult[]): void {
    const { logger, metrics } = this.#parts;
    const { partition } = this.#owned;
    for (const item of answered) {
      if (item.kind !== "refused") continue;
      const { refusal, asker, record } = item;
      metrics.source.deadLetter(refusal.reason);
      logger.warn({ partition, offset: record.offset, ...asker, ...refusal }, "training request refused");
    }
    if (results.length === 0) return;
    const count = (wanted: TrainingResult["outcome"]) =>
      results.filter(({ outcome }) => outcome === wanted).length;
    const counts = { trained: count("trained"), failed: count("failed"), givenUp: left.length };
    logger.info({ partition, ...counts }, "training requests worked off");
  }
}

function idOfTask(item: RunItem): string[] {
  return item.kind === "task" ? [item.task.id] : [];
}

/** The request that an answer puts an end to. */
function idOf(item: RunItem): string[] {
  return item.kind === "refused" && item.asker !== null ? [item.asker.requestId] : idOfTask(item);
}
