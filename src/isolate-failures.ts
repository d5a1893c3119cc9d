// Keeps one record from stopping its partition. When a batch fails because of its content, and not because of the log
// or the engine, the state in memory is ahead of the last commit. The lane is therefore restarted from the last
// commit, and the failed batch is cut into pieces that are processed one at a time:
//
//   reading ──── a batch fails ────► searching ◄───┐ a piece fails: it is cut again
//      ▲                              │       └────┘ a single record fails: it becomes a dead letter
//      └─── all pieces committed ◄────┘
//
// To the lane and everything that belongs to it, a restart looks like a partition that was lost and regained. Input
// that was read but not committed is stored here and handed out again, so the log never has to go back.

import type { Outgoing } from "./domain.ts";
import { type DeadLetterTopic, type RecordRefusal, toDeadLetter } from "./log/dead-letter.ts";
import type { Commit, OwnedPartition, StoredBatch, StoredRecord } from "./log/log.ts";
import type { Clock } from "./runtime/clock.ts";
import { type ErrorCode, ForecastnetError, PartitionLostError } from "./runtime/errors.ts";
import type { Logger } from "./runtime/logging.ts";
import type { SourceMetrics } from "./runtime/metric-groups.ts";

interface IsolationParts {
  readonly deadLetters: DeadLetterTopic;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Pick<SourceMetrics, "deadLetter" | "failedBatch">;
}

/** The owned partition during one run of its lane. */
export interface Attempt extends OwnedPartition {
  /** True while the failing record is being searched for. Nothing else should change meanwhile. */
  readonly isSearching: boolean;
  /** Why observations of a series are set aside unprocessed; null if they are not. Called for each one, in order. */
  quarantineOf(seriesId: string): RecordRefusal | null;
}

/** Processing a batch failed, as opposed to restoring a lane or following its models. */
export class WorkFailed extends Error {
  constructor(cause: unknown) {
    super("processing a batch failed", { cause });
    this.name = "WorkFailed";
  }
}

/** With this, a failed batch of a thousand is down to single records after two cuts. */
const piecesPerCut = 32;
/**
 * If this many records in a row fail with an unexpected error, the records are not the cause, and the worker ends.
 * Failures whose error code blames the data do not count.
 */
const failuresInARow = 20;

/** Runs a lane, and runs it again from the last commit whenever a single record makes it fail. */
export async function isolateFailures(
  owned: OwnedPartition,
  parts: IsolationParts,
  run: (attempt: Attempt) => Promise<void>,
): Promise<void> {
  const isolation = new Isolation(owned, parts);
  for (;;) {
    const attempt = new LaneAttempt(owned, isolation);
    try {
      await run(attempt);
      return;
    } catch (error) {
      await isolation.narrow(error, attempt);
    } finally {
      attempt.end();
    }
  }
}

/** State that outlives the attempts: uncommitted input, and which part of it is suspected. */
class Isolation {
  readonly #owned: OwnedPartition;
  readonly #parts: IsolationParts;
  readonly #input: Relay<StoredBatch>;
  readonly #tailByTopic = new Map<string, Relay<readonly StoredRecord[]>>();
  /** Batches read but not committed, in order. The current attempt has received the first `#given`. */
  readonly #unsettled: StoredBatch[] = [];
  #given = 0;
  /** How many of the first unsettled batches are pieces of a failed batch. */
  #suspects = 0;
  /** Records that failed with an unexpected error since the last success. */
  #failedInARow = 0;
  readonly #quarantine: Quarantine;
  /** The series of the record processed last. */
  #triedSeries: string | null = null;
  #wake: () => void = () => {};

  constructor(owned: OwnedPartition, parts: IsolationParts) {
    this.#owned = owned;
    this.#parts = parts;
    this.#input = new Relay(() => owned.batches());
    this.#quarantine = new Quarantine(parts.clock);
  }

  get isSearching(): boolean {
    return this.#suspects > 0;
  }

  tail(topic: string, fromOffset: number): Relay<readonly StoredRecord[]> {
    const tail = this.#tailByTopic.get(topic) ?? new Relay(() => this.#owned.tail(topic, fromOffset));
    this.#tailByTopic.set(topic, tail);
    return tail;
  }

  /** The next batch for an attempt; undefined if input or attempt have ended. */
  async take(attempt: LaneAttempt): Promise<StoredBatch | undefined> {
    // While searching, one batch at a time, so that it is certain which one failed.
    while (this.isSearching && this.#given > 0 && !attempt.isOver) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    if (attempt.isOver) return undefined;
    this.#triedSeries = null;
    if (this.#given === this.#unsettled.length) {
      const batch = await this.#input.next(attempt).catch((error: unknown) => {
        attempt.logFailure = error;
        throw error;
      });
      if (batch === undefined) return undefined;
      this.#unsettled.push(batch);
      // If the attempt ended meanwhile, the next attempt takes the batch.
      if (attempt.isOver) return undefined;
    }
    return this.#unsettled[this.#given++];
  }

  /** To be called when the first unsettled batch is committed. */
  settled(records: readonly Outgoing[]): void {
    this.#unsettled.shift();
    this.#given--;
    if (records.some(({ topic }) => topic !== this.#parts.deadLetters.topic)) this.#failedInARow = 0;
    if (this.#suspects > 0) this.#suspects--;
    this.#wake();
  }

  /** Takes back the batches given to the attempt and wakes it if it waits. */
  reclaim(): void {
    this.#given = 0;
    this.#wake();
  }

  /** Cuts the failed batch, or sets its single record aside. Throws errors that no record causes. */
  async narrow(failure: unknown, attempt: LaneAttempt): Promise<void> {
    const error = failure instanceof WorkFailed ? failure.cause : failure;
    // Batches are committed in order, so the failed one is the first uncommitted batch that was given out.
    const suspect = this.#given > 0 ? this.#unsettled[0] : undefined;
    attempt.end();
    const isDataFault =
      failure instanceof WorkFailed && attempt.logFailure !== error && isCausedByData(error);
    if (suspect === undefined || suspect.records.length === 0 || !isDataFault || this.#owned.lost.aborted)
      throw error;
    const { metrics, logger } = this.#parts;
    const { topic, partition, records } = suspect;
    const detail = error instanceof Error ? error.message : String(error);
    metrics.failedBatch();
    if (records.length > 1) {
      const pieces = cut(suspect);
      this.#unsettled.splice(0, 1, ...pieces);
      this.#suspects = Math.max(0, this.#suspects - 1) + pieces.length;
      const facts = { topic, partition, records: records.length, offset: records[0].offset, reason: detail };
      logger.warn(facts, "batch failed, retrying its records in smaller batches");
      return;
    }
    if (!hasDataCode(error) && ++this.#failedInARow >= failuresInARow) throw error;
    await this.#setAside(suspect, detail);
  }

  quarantineOf(seriesId: string): RecordRefusal | null {
    if (this.isSearching) this.#triedSeries = seriesId;
    return this.#quarantine.refusalOf(seriesId);
  }

  async #setAside({ topic, partition, records, nextOffset }: StoredBatch, detail: string): Promise<void> {
    const { deadLetters, metrics, logger } = this.#parts;
    const [record] = records;
    const refusal: RecordRefusal = { reason: "failed", detail };
    const letter = toDeadLetter({ topic, partition, record }, refusal, deadLetters);
    await this.#owned.commit({ records: [letter], topic, nextOffset });
    metrics.deadLetter("failed");
    logger.error(
      { topic, partition, offset: record.offset, reason: detail },
      "record set aside as a dead letter, it cannot be processed",
    );
    this.#unsettled.shift();
    this.#suspects = Math.max(0, this.#suspects - 1);
    if (this.#triedSeries !== null) this.#quarantine.failed(this.#triedSeries, detail);
  }
}

/** One run of a lane. After it has ended, its late commits are refused. */
class LaneAttempt implements Attempt {
  readonly partition: number;
  /** The error of the log itself, which no record causes. */
  logFailure: unknown = null;
  readonly #owned: OwnedPartition;
  readonly #isolation: Isolation;
  readonly #over = new AbortController();
  readonly #endWithOwner = () => this.#over.abort();

  constructor(owned: OwnedPartition, isolation: Isolation) {
    this.#owned = owned;
    this.#isolation = isolation;
    this.partition = owned.partition;
    owned.lost.addEventListener("abort", this.#endWithOwner);
    if (owned.lost.aborted) this.#over.abort();
  }

  get lost(): AbortSignal {
    return this.#over.signal;
  }

  get lag(): number | null {
    return this.#owned.lag;
  }

  get isOver(): boolean {
    return this.#over.signal.aborted;
  }

  get isSearching(): boolean {
    return this.#isolation.isSearching;
  }

  end(): void {
    if (!this.isOver) this.#over.abort();
    this.#owned.lost.removeEventListener("abort", this.#endWithOwner);
    this.#isolation.reclaim();
  }

  restore(topic: string): AsyncIterable<readonly StoredRecord[]> {
    return this.#owned.restore(topic);
  }

  async *tail(topic: string, fromOffset: number): AsyncGenerator<readonly StoredRecord[]> {
    const tail = this.#isolation.tail(topic, fromOffset);
    for (let records = await tail.next(this); records !== undefined; records = await tail.next(this)) {
      // Records that arrived after an earlier attempt had ended were restored meanwhile.
      const fresh = records.filter(({ offset }) => offset >= fromOffset);
      if (fresh.length > 0) yield fresh;
    }
  }

  async *batches(): AsyncGenerator<StoredBatch> {
    for (;;) {
      const batch = await this.#isolation.take(this);
      if (batch === undefined) return;
      yield batch;
    }
  }

  async commit(commit: Commit): Promise<void> {
    this.#refuseIfOver();
    try {
      await this.#owned.commit(commit);
    } catch (error) {
      const isTooLarge = error instanceof ForecastnetError && error.code === "RECORD_TOO_LARGE";
      if (!isTooLarge) this.logFailure = error;
      throw error;
    }
    this.#isolation.settled(commit.records);
  }

  async write(records: readonly Outgoing[]): Promise<void> {
    this.#refuseIfOver();
    try {
      await this.#owned.write(records);
    } catch (error) {
      this.logFailure = error;
      throw error;
    }
  }

  quarantineOf(seriesId: string): RecordRefusal | null {
    return this.#isolation.quarantineOf(seriesId);
  }

  #refuseIfOver(): void {
    if (this.isOver) throw new PartitionLostError(this.partition, "its lane has ended");
  }
}

/** Nearly equal pieces, each with its next position. */
function cut(batch: StoredBatch): StoredBatch[] {
  const { records } = batch;
  const length = Math.ceil(records.length / piecesPerCut);
  const pieces: StoredBatch[] = [];
  for (let start = 0; start < records.length; start += length) {
    const piece = records.slice(start, start + length);
    const isLast = start + length >= records.length;
    pieces.push({
      ...batch,
      records: piece,
      nextOffset: isLast ? batch.nextOffset : piece[piece.length - 1].offset + 1,
    });
  }
  return pieces;
}

const dataCodes: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "RECORD_TOO_LARGE",
  "WINDOW_UNFIT",
  "MODEL_UNFIT",
]);

/** Our own errors state their cause: those without a data code are not caused by the input. */
function isCausedByData(error: unknown): boolean {
  return error instanceof ForecastnetError ? hasDataCode(error) : error instanceof Error;
}

function hasDataCode(error: unknown): boolean {
  return error instanceof ForecastnetError && dataCodes.has(error.code);
}

const failuresToQuarantine = 3;
/** How long a failure counts, and how long a series is set aside after its last failure. */
const quarantineMs = 3_600_000;

interface Failures {
  readonly count: number;
  readonly lastMs: number;
  readonly why: string;
}

/**
 * Series whose observations keep failing. Each failure costs a lane its memory and a restore, so a series that has
 * failed several times is set aside unprocessed for a while. Failures that no longer count are dropped.
 */
export class Quarantine {
  readonly #clock: Clock;
  /** Ordered by the last failure, oldest first. */
  readonly #failuresBySeries = new Map<string, Failures>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Number of series with failures that count. */
  get size(): number {
    return this.#failuresBySeries.size;
  }

  failed(seriesId: string, why: string): void {
    this.#dropExpired();
    const count = (this.#failuresBySeries.get(seriesId)?.count ?? 0) + 1;
    this.#failuresBySeries.delete(seriesId);
    this.#failuresBySeries.set(seriesId, { count, lastMs: this.#clock.nowMs(), why });
  }

  /** Why observations of the series are set aside; null if they are not. */
  refusalOf(seriesId: string): RecordRefusal | null {
    const failures = this.#failuresBySeries.get(seriesId);
    if (failures === undefined) return null;
    const { count, lastMs, why } = failures;
    if (this.#isExpired(lastMs)) {
      this.#failuresBySeries.delete(seriesId);
      return null;
    }
    if (count < failuresToQuarantine) return null;
    const detail = `${count} observations of the series failed, so it is set aside for an hour; the last one: ${why}`;
    return { reason: "failed", detail };
  }

  /** Also drops series that never send again. */
  #dropExpired(): void {
    for (const [seriesId, { lastMs }] of this.#failuresBySeries) {
      if (!this.#isExpired(lastMs)) return;
      this.#failuresBySeries.delete(seriesId);
    }
  }

  #isExpired(lastMs: number): boolean {
    return this.#clock.nowMs() - lastMs > quarantineMs;
  }
}

/** An iterator that outlives its readers: an item that arrives after a reader has ended goes to the next reader. */
class Relay<T> {
  readonly #open: () => AsyncIterable<T>;
  #iterator: AsyncIterator<T> | null = null;
  #next: Promise<IteratorResult<T>> | null = null;

  constructor(open: () => AsyncIterable<T>) {
    this.#open = open;
  }

  /** Undefined at the end, or if the reader has ended before the next item arrives. */
  async next(reader: { readonly isOver: boolean }): Promise<T | undefined> {
    this.#iterator ??= this.#open()[Symbol.asyncIterator]();
    if (this.#next === null) {
      this.#next = this.#iterator.next();
      this.#next.catch(() => undefined); // The reader gets the error; between two readers there is none.
    }
    const result = await this.#next;
    if (reader.isOver || result.done === true) return undefined;
    this.#next = null;
    return result.value;
  }
}
