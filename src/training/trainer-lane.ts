// Works off the requests of one partition of the training topic:
//
//   read ─► cut into runs ─► for each run: count the attempt ─► train ─► one transaction:
//                                                                        outcomes to the models topic
//                                                                        dead letters
//                                                                        attempts deleted
//                                                                        position moved
//
// A run is a group of requests that are trained and answered together. A request that was started before is a run of its own.
// The answer to a request is its outcome, for the worker that asked; a request that cannot be trained also becomes a dead
// letter. An answer too large for its topic is replaced by a smaller one, so that the queue does not stand still.
//
// A trainer that dies has committed the attempt and nothing else, so the next owner starts the same requests again. One that
// has lost the partition cannot commit. Everything that outlives a lane is on the topics.

import type { Outgoing } from "../domain.ts";
import { outcomeKey } from "../log/codec/model-keys.ts";
import { type DeadLetterTopic, toDeadLetter } from "../log/dead-letter.ts";
import type { Commit, OwnedPartition, StoredBatch, StoredRecord } from "../log/log.ts";
import type { Families } from "../models/families.ts";
import type { Clock } from "../runtime/clock.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import type { Logger } from "../runtime/logging.ts";
import type { RetrainMetrics, SourceMetrics } from "../runtime/metric-groups.ts";
import { AttemptCounts } from "./attempt-counts.ts";
import { encodeOutcome, type FinishedTraining } from "./outcome-codec.ts";
import { type Asker, decodeRequest, type RefusedRequest } from "./request-codec.ts";
import type { ModelTrainer, TrainingResult, TrainingTask } from "./training-task.ts";
import type { TrainingTurns } from "./training-turns.ts";

export interface TrainerLaneParts {
  readonly trainer: ModelTrainer;
  readonly families: Families;
  readonly modelsTopic: string;
  readonly attemptsTopic: string;
  readonly deadLetters: DeadLetterTopic;
  /** A request that was started this often is not started again. */
  readonly mostAttempts: number;
  /** Shared by all lanes of the process. */
  readonly turns: TrainingTurns;
  /** When aborted, nothing is started any more. */
  readonly stopping: AbortSignal;
  /** When aborted, trainings in progress are cancelled. */
  readonly givingUp: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: { readonly source: SourceMetrics; readonly retrain: Pick<RetrainMetrics, "trained"> };
}

export class TrainerLane {
  readonly #owned: OwnedPartition;
  readonly #parts: TrainerLaneParts;
  readonly #attempts: AttemptCounts;
  /** When aborted, nothing is started any more. */
  readonly #ending: AbortSignal;
  /** When aborted, trainings in progress are cancelled. */
  readonly #cancelling: AbortSignal;
  #inFlight = 0;

  constructor(owned: OwnedPartition, parts: TrainerLaneParts) {
    this.#owned = owned;
    this.#parts = parts;
    this.#attempts = new AttemptCounts(parts.attemptsTopic, owned.partition);
    this.#ending = AbortSignal.any([owned.lost, parts.stopping]);
    this.#cancelling = AbortSignal.any([owned.lost, parts.givingUp]);
  }

  /** Requests in training. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Until the partition is lost or the trainer stops. */
  async run(): Promise<void> {
    const { logger, mostAttempts: most } = this.#parts;
    await this.#attempts.restore(this.#owned, logger);
    const rule = { attemptsOf: (id: string) => this.#attempts.of(id), most };
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
      // The new owner of the partition repeats all of it.
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
    const records = this.#attempts.begin(
      tasks.map(({ id }) => id),
      startedMs,
    );
    // The position stays before the first of these requests.
    await this.#owned.commit({ ...position, records });
    this.#inFlight = tasks.length;
    try {
      const results = await trainer.train(tasks, this.#cancelling);
      const isOurs = this.#cancelling.aborted || results.every(({ outcome }) => outcome !== "cancelled");
      if (!isOurs)
        throw new ForecastnetError("ENGINE_FAILED", "a training was cancelled without being asked to");
      const seconds = (clock.nowMs() - startedMs) / 1000;
      for (const { outcome } of results) metrics.retrain.trained(outcome, seconds);
      return results;
    } finally {
      this.#inFlight = 0;
    }
  }

  /** Answers the run up to the first cancelled training. The rest is left to the next owner. */
  async #settle(run: Run, requestTopic: string, results: readonly TrainingResult[]): Promise<void> {
    const { clock, modelsTopic, deadLetters, families } = this.#parts;
    const nowMs = clock.nowMs();
    const { partition } = this.#owned;
    const place = { requestTopic, partition, modelsTopic, deadLetters, families, nowMs };
    const answered: RunItem[] = [];
    const answers: TrainingAnswer[] = [];
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
      ...this.#attempts.end(answered.flatMap(idOf)),
      ...this.#attempts.takeBack(left.flatMap(idOfTask), nowMs),
    ];
    await commitAnswers(this.#owned, { topic: requestTopic, nextOffset, records: attempts }, answers);
    this.#report(answered, left, results.slice(0, next));
  }

  /** Logs and counts what is committed. */
  #report(answered: readonly RunItem[], left: readonly RunItem[], results: readonly TrainingResult[]): void {
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

/** The request that is answered. */
function idOf(item: RunItem): string[] {
  return item.kind === "refused" && item.asker !== null ? [item.asker.requestId] : idOfTask(item);
}

type RunItem = { readonly record: StoredRecord } & (
  | { readonly kind: "task"; readonly task: TrainingTask }
  | ({ readonly kind: "refused" } & RefusedRequest)
  /** The same request as an earlier item of the run. */
  | { readonly kind: "repeated" }
);

interface Run {
  readonly items: readonly RunItem[];
  /** The position after the run. */
  readonly nextOffset: number;
  readonly isAlone: boolean;
}

interface AttemptRule {
  /** How often the work on a request was started. */
  readonly attemptsOf: (requestId: string) => number;
  /** Most attempts. */
  readonly most: number;
}

function cutRuns({ records, nextOffset }: StoredBatch, rule: AttemptRule): Run[] {
  const groups: { items: RunItem[]; isAlone: boolean }[] = [];
  for (const record of records) {
    const item = readItem(record, rule);
    const isAlone = item.kind === "task" && rule.attemptsOf(item.task.id) > 0;
    const last = groups.at(-1);
    if (last === undefined || isAlone || last.isAlone) groups.push({ items: [item], isAlone });
    else last.items.push(isRepeated(item, last.items) ? { kind: "repeated", record } : item);
  }
  return groups.map((group, g) => {
    const next = groups[g + 1]?.items[0].record.offset ?? nextOffset;
    return { ...group, nextOffset: next };
  });
}

function readItem(record: StoredRecord, { attemptsOf, most }: AttemptRule): RunItem {
  const read = decodeRequest(record.value);
  if (!("task" in read)) return { kind: "refused", record, ...read };
  const { id, modelKey } = read.task;
  const attempts = attemptsOf(id);
  if (attempts < most) return { kind: "task", record, task: read.task };
  const detail = `the work on request ${id} was started ${attempts} times and never ended`;
  const refusal = { reason: "poisoned-request", detail } as const;
  return { kind: "refused", record, refusal, asker: { requestId: id, modelKey } };
}

function isRepeated(item: RunItem, earlier: readonly RunItem[]): boolean {
  return (
    item.kind === "task" && earlier.some((other) => other.kind === "task" && other.task.id === item.task.id)
  );
}

/** Origin of a request, and destination of its answers. */
interface AnswerPlace {
  readonly requestTopic: string;
  /** Of the training topic and of the models topic; the worker that asked owns it. */
  readonly partition: number;
  readonly modelsTopic: string;
  readonly deadLetters: DeadLetterTopic;
  readonly families: Families;
  readonly nowMs: number;
}

/** The result is null for an item without a training of its own. */
function answersTo(item: RunItem, result: FinishedTraining | null, place: AnswerPlace): TrainingAnswer[] {
  switch (item.kind) {
    case "repeated":
      return []; // The earlier request is answered.
    case "refused":
      return refusalOf(item, place);
    case "task": {
      const { id: requestId, modelKey } = item.task;
      return result === null ? [] : [outcomeOf({ requestId, modelKey }, result, place)];
    }
  }
}

function refusalOf(item: RunItem & { readonly kind: "refused" }, place: AnswerPlace): TrainingAnswer[] {
  const { record, refusal, asker } = item;
  const { requestTopic: topic, partition, deadLetters } = place;
  const letter = (value: Buffer | null, detail: string) =>
    toDeadLetter({ topic, partition, record: { ...record, value } }, { ...refusal, detail }, deadLetters);
  const deadLetter: TrainingAnswer = {
    record: letter(record.value, refusal.detail),
    smaller: (why) => letter(null, `${refusal.detail}; its value is omitted: ${why}`),
  };
  if (asker === null) return [deadLetter];
  const reason = `${refusal.reason}: ${refusal.detail}`;
  return [deadLetter, outcomeOf(asker, { outcome: "failed", reason }, place)];
}

function outcomeOf(asker: Asker, result: FinishedTraining, place: AnswerPlace): TrainingAnswer {
  const { modelsTopic: topic, partition, families, nowMs: endedAtMs } = place;
  const toRecord = (told: FinishedTraining): Outgoing => ({
    topic,
    partition,
    key: Buffer.from(outcomeKey(asker.modelKey)),
    value: encodeOutcome({ ...asker, result: told, endedAtMs }, families),
  });
  const smaller = (why: string) =>
    toRecord({ outcome: "failed", reason: `the trained model cannot be written: ${why}` });
  return { record: toRecord(result), smaller: result.outcome === "trained" ? smaller : null };
}

interface TrainingAnswer {
  readonly record: Outgoing;
  /** The record to write instead when the topic refuses this one for a reason. Null when there is none. */
  readonly smaller: ((why: string) => Outgoing) | null;
}

/** Commits everything in one transaction, and replaces as few records by smaller ones as possible. */
async function commitAnswers(
  owned: OwnedPartition,
  commit: Commit,
  answers: readonly TrainingAnswer[],
): Promise<void> {
  const chosen = [...answers];
  for (;;) {
    try {
      const records = [...chosen.map(({ record }) => record), ...commit.records];
      return await owned.commit({ ...commit, records });
    } catch (error) {
      if (!(error instanceof ForecastnetError) || error.code !== "RECORD_TOO_LARGE") throw error;
      const index = largestIn(chosen, error.context.topic);
      if (index === -1) throw error;
      const { record, smaller } = chosen[index];
      chosen[index] = { record: smaller?.(error.message) ?? record, smaller: null };
    }
  }
}

function largestIn(answers: readonly TrainingAnswer[], topic: unknown): number {
  let found = -1;
  for (const [i, { record, smaller }] of answers.entries()) {
    if (smaller === null || record.topic !== topic) continue;
    if (found === -1 || sizeOf(record) > sizeOf(answers[found].record)) found = i;
  }
  return found;
}

function sizeOf({ value }: Outgoing): number {
  return value?.length ?? 0;
}
