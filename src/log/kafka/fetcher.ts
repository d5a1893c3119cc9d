// Fetches committed records of many partitions with one long poll per broker, for all partitions that it leads. Each
// partition is a target: it states the offset it wants and takes the records. A target that wants nothing is left out.
//
// Owns leaders, retries and the link. Does not know who may read a partition or where it starts.

import { type Clock, systemClock } from "../../runtime/clock.ts";
import type { Logger } from "../../runtime/logging.ts";
import { backoff } from "../../runtime/waiting.ts";
import { ANSWER_MS, askTopicIds, assertAnswered, type Link, partitionName } from "./cluster-link.ts";
import {
  assertSuccess,
  BrokerError,
  isMissing,
  isOutOfRange,
  isRetriable,
  NoAnswerError,
  reasonOf,
  refusedKind,
} from "./kafka-errors.ts";
import { type CommittedRecords, committedRecords } from "./wire/fetched-records.ts";
import {
  type FetchedPartition,
  type FetchFrom,
  fetchCommitted,
  listOffsets,
  type TopicPartition,
} from "./wire/protocol.ts";

const FETCH_BYTES = 16 * 1024 * 1024;
const PARTITION_BYTES = 2 * 1024 * 1024;
/** Failed attempts before a warning, and between two warnings: about ten seconds. */
const ATTEMPTS_PER_WARNING = 8;
/** How often leaders are looked up again although nothing has failed. */
const LOOK_UP_MS = 30_000;

const UNKNOWN_SERVER_ERROR = -1;
const UNKNOWN_TOPIC_OR_PARTITION = 3;

/** The offsets that a partition holds: [first, end). */
export interface OffsetRange {
  readonly first: number;
  readonly end: number;
}

export interface FetchedRecords extends CommittedRecords {
  readonly highWatermark: number;
  readonly lastStableOffset: number;
}

export interface FetchTarget extends TopicPartition {
  /** The next offset to fetch; null while nothing is wanted. */
  readonly wanted: number | null;
  /** Takes the records fetched from the wanted offset; there may be none. */
  take(fetched: FetchedRecords): void;
  /** The id of the expected topic; null if the brokers are too old to assign ids. */
  readonly topicId?: string | null;
  /** The topic was deleted or recreated. */
  replaced?(): void;
  /** The wanted offset does not exist. The target chooses another one. */
  outOfRange(range: OffsetRange): void;
  /** The partition cannot be read, and a retry cannot help. */
  fail(error: unknown): void;
}

interface FetcherOptions {
  openLink(): Link;
  /** How long a broker that has nothing new waits before it answers. */
  readonly waitMs: number;
  /** The largest decompressed record batch to read. */
  readonly maxBatchBytes: number;
  readonly logger: Logger;
  readonly clock?: Clock;
}

export class Fetcher {
  readonly #options: FetcherOptions;
  readonly #clock: Clock;
  readonly #targetByName = new Map<string, FetchTarget>();
  readonly #leaderByName = new Map<string, string>();
  /** Failed fetches of a partition since its last successful one. */
  readonly #attemptsByName = new Map<string, number>();
  readonly #pollers = new Map<string, Promise<void>>();
  readonly #closing = new AbortController();
  #link: Link;
  /** Whether the link has looked up leaders. It needs a refresh to learn of changes. */
  #hasConnected = false;
  #isFinding = false;
  #isFindingDue = false;
  #lookedUpMs = 0;
  #wakeAll: () => void = () => {};
  #woken: Promise<void> = Promise.resolve();

  constructor(options: FetcherOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#link = options.openLink();
    this.#rearm();
  }

  add(target: FetchTarget): void {
    this.#targetByName.set(partitionName(target), target);
    this.#findLeaders();
  }

  remove(target: FetchTarget): void {
    const name = partitionName(target);
    if (this.#targetByName.get(name) !== target) return;
    this.#targetByName.delete(name);
    this.#leaderByName.delete(name);
    this.#attemptsByName.delete(name);
  }

  /** To be called when a target wants records again. */
  wake(): void {
    const wakeAll = this.#wakeAll;
    this.#rearm();
    wakeAll();
  }

  /** Does not wait for polls in flight; their answers are discarded. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#targetByName.clear();
    this.wake();
    await this.#link.close();
  }

  #rearm(): void {
    this.#woken = new Promise((resolve) => {
      this.#wakeAll = resolve;
    });
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Looks up the leaders of all targets, one lookup at a time, and once more if called meanwhile. */
  #findLeaders(): void {
    this.#isFindingDue = true;
    if (this.#isFinding) return;
    this.#isFinding = true;
    this.#findLeadersNow();
  }

  async #findLeadersNow(): Promise<void> {
    for (let attempt = 0; this.#isFindingDue && !this.#isClosed; ) {
      this.#isFindingDue = false;
      attempt = await this.#tryToFindLeaders(attempt);
    }
    // Set in the same turn as the last check of #isFindingDue, so no request for a lookup is missed.
    this.#isFinding = false;
  }

  /** Returns the number of failed attempts so far. */
  async #tryToFindLeaders(attempt: number): Promise<number> {
    this.#lookedUpMs = this.#clock.nowMs();
    try {
      await this.#lookUpTopics();
      const missing = this.#assignPollers();
      if (missing === null) return 0;
      this.#warn(attempt, missing);
      await backoff(Math.min(attempt + 1, 3), this.#closing.signal);
    } catch (error) {
      if (this.#isClosed) return attempt;
      if (!isWorthLookingUp(error)) {
        this.#failAll(error);
        return 0;
      }
      this.#warn(attempt, error);
      await this.#replaceLink();
      await backoff(attempt, this.#closing.signal);
      this.#isFindingDue = true;
    }
    return attempt + 1;
  }

  /** Adds topics one by one, because a refusal does not name its topic and must not affect the others. */
  async #lookUpTopics(): Promise<void> {
    if (this.#hasConnected) await this.#link.refresh();
    let missing: unknown = null;
    for (const topic of this.#topics()) {
      try {
        await this.#link.connect([topic]);
        this.#hasConnected = true;
      } catch (error) {
        if (refusedKind(error) === "topic") this.#failTopic(topic, error);
        else if (isMissing(error)) missing = error;
        else throw error;
      }
    }
    if (missing !== null && !this.#hasConnected) throw missing;
  }

  #topics(): ReadonlySet<string> {
    return new Set([...this.#targetByName.values()].map(({ topic }) => topic));
  }

  /**
   * A leader that is cut off from its peers does not know that other brokers lead its partitions by now. It answers
   * fetches with no records and no error. Checked after each poll and not by a timer, because a partition that is not
   * polled waits for nothing.
   */
  async #findLeadersWhenDue(): Promise<void> {
    const nowMs = this.#clock.nowMs();
    if (nowMs - this.#lookedUpMs < LOOK_UP_MS) return;
    this.#lookedUpMs = nowMs;
    try {
      // A refresh would ask a connected broker, which may be the one that is cut off.
      await this.#link.learnFrom(this.#link.anyBroker(), [...this.#topics()]);
    } catch (error) {
      this.#options.logger.debug({ reason: reasonOf(error) }, "broker did not name leaders");
    }
    this.#findLeaders();
  }

  /** Assigns every target to the poller of its leader. Returns an error if a target has no leader yet. */
  #assignPollers(): NoAnswerError | null {
    let missing: NoAnswerError | null = null;
    for (const [name, target] of this.#targetByName) {
      try {
        this.#leaderByName.set(name, this.#link.leaderOf(target));
      } catch (error) {
        if (!(error instanceof NoAnswerError)) throw error;
        this.#leaderByName.delete(name);
        missing = error;
      }
    }
    // Only now, so that the first poll includes all partitions of its broker.
    for (const leader of this.#leaderByName.values()) {
      if (!this.#pollers.has(leader)) this.#pollers.set(leader, this.#keepPolling(leader));
    }
    this.wake();
    if (missing !== null) this.#isFindingDue = true;
    return missing;
  }

  /** When a poller ends after a failure, later targets get a new one. */
  async #keepPolling(nodeId: string): Promise<void> {
    await this.#poll(nodeId);
    this.#pollers.delete(nodeId);
  }

  async #poll(nodeId: string): Promise<void> {
    for (let attempt = 0; !this.#isClosed; ) {
      const asked = this.#wantedOf(nodeId);
      if (asked.length === 0) {
        await this.#woken;
        continue;
      }
      try {
        await this.#fetch(nodeId, asked);
        attempt = 0;
        this.#findLeadersWhenDue();
      } catch (error) {
        if (this.#isClosed) return;
        if (!isWorthLookingUp(error)) return this.#failAll(error);
        this.#warn(attempt, error);
        await backoff(attempt++, this.#closing.signal);
        this.#findLeaders();
      }
    }
  }

  #wantedOf(nodeId: string): FetchFrom[] {
    const asked: FetchFrom[] = [];
    for (const [name, target] of this.#targetByName) {
      if (this.#leaderByName.get(name) !== nodeId) continue;
      const { topic, partition, wanted } = target;
      if (wanted !== null) asked.push({ topic, partition, offset: wanted, maxBytes: PARTITION_BYTES });
    }
    return asked;
  }

  async #fetch(nodeId: string, asked: readonly FetchFrom[]): Promise<void> {
    const { waitMs: maxWaitMs } = this.#options;
    // A broker fills its answer in the order of the request, so each partition gets its turn at the front.
    const turn = Math.floor(Math.random() * asked.length);
    const inTurn = [...asked.slice(turn), ...asked.slice(0, turn)];
    const request = fetchCommitted(inTurn, { maxWaitMs, maxBytes: FETCH_BYTES });
    const answer = await this.#link.ask(nodeId, request, maxWaitMs + ANSWER_MS);
    assertSuccess(answer.errorCode, `Fetch from broker ${nodeId}`);
    const offsetByName = new Map(asked.map((from) => [partitionName(from), from.offset]));
    for (const fetched of answer.partitions) {
      const name = partitionName(fetched);
      const target = this.#targetByName.get(name);
      const offset = offsetByName.get(name);
      if (target === undefined || offset === undefined || !this.#isWanted(target, offset)) continue;
      try {
        await this.#deliver(target, offset, fetched);
        this.#attemptsByName.delete(name);
      } catch (error) {
        if (isRetriableRead(error)) this.#setAside(name, error);
        else target.fail(error);
      }
    }
  }

  /** Whether the target was neither removed nor moved to another offset meanwhile. */
  #isWanted(target: FetchTarget, offset: number): boolean {
    return this.#targetByName.get(partitionName(target)) === target && target.wanted === offset;
  }

  async #deliver(target: FetchTarget, offset: number, fetched: FetchedPartition): Promise<void> {
    const { errorCode, recordSet, abortedTransactions, highWatermark, lastStableOffset } = fetched;
    if (errorCode === 0) {
      const { maxBatchBytes } = this.#options;
      const committed = committedRecords(recordSet, abortedTransactions, offset, maxBatchBytes);
      target.take({ ...committed, highWatermark, lastStableOffset });
      return;
    }
    const error = new BrokerError(errorCode, `Fetch of ${partitionName(target)} from offset ${offset}`);
    if (isMissing(error)) await this.#checkTopic(target.topic);
    if (!isOutOfRange(error)) throw error;
    const range = await findRange(this.#link, target);
    if (this.#isWanted(target, offset)) target.outOfRange(range);
  }

  /** The partition waits until its leader has been looked up again. Other partitions of the broker continue. */
  async #setAside(name: string, error: unknown): Promise<void> {
    const attempt = this.#attemptsByName.get(name) ?? 0;
    this.#attemptsByName.set(name, attempt + 1);
    this.#leaderByName.delete(name);
    this.#warn(attempt, error);
    await backoff(attempt, this.#closing.signal);
    this.#findLeaders();
  }

  /** A partition unknown to its broker has moved, or its topic is gone, which affects all partitions of the topic. */
  async #checkTopic(topic: string): Promise<void> {
    const [found] = await askTopicIds(this.#link, [topic]);
    if (found === undefined) return; // Without topic ids we assume that the partition has moved.
    const { errorCode, topicId } = found;
    const isGone = errorCode === UNKNOWN_TOPIC_OR_PARTITION;
    if (!isGone) assertSuccess(errorCode, `Metadata of ${topic}`);
    if (!isGone && topicId === null) return;
    for (const target of [...this.#targetByName.values()]) {
      if (target.topic === topic && (isGone || target.topicId !== topicId)) target.replaced?.();
    }
  }

  #failAll(error: unknown): void {
    for (const target of [...this.#targetByName.values()]) target.fail(error);
  }

  #failTopic(topic: string, error: unknown): void {
    for (const target of [...this.#targetByName.values()]) {
      if (target.topic !== topic) continue;
      this.remove(target);
      target.fail(error);
    }
  }

  #warn(attempt: number, error: unknown): void {
    warnOfFailure(this.#options.logger, attempt, error);
  }

  async #replaceLink(): Promise<void> {
    const { logger, openLink } = this.#options;
    const old = this.#link;
    this.#link = openLink();
    this.#hasConnected = false;
    await old
      .close()
      .catch((error: unknown) =>
        logger.debug({ reason: reasonOf(error) }, "connection closed with an error"),
      );
  }
}

/** A new lookup of topics fixes retriable failures and finds the topic that a broker refuses. */
function isWorthLookingUp(error: unknown): boolean {
  return isRetriableRead(error) || refusedKind(error) === "topic";
}

/**
 * For requests without side effects. Brokers report internal failures, such as unreadable tiered storage, as
 * UNKNOWN_SERVER_ERROR. A read can be retried; after a write, the outcome would be unknown.
 */
export function isRetriableRead(error: unknown): boolean {
  return isRetriable(error) || (error instanceof BrokerError && error.code === UNKNOWN_SERVER_ERROR);
}

/** To be called after every failed attempt, counted from 0. Warns after every eighth. */
export function warnOfFailure(logger: Logger, attempt: number, error: unknown, facts: object = {}): void {
  if (attempt % ATTEMPTS_PER_WARNING !== ATTEMPTS_PER_WARNING - 1) return;
  logger.warn({ ...facts, reason: reasonOf(error) }, "log did not answer, trying again");
}

/** The offsets that a partition holds now. */
export async function findRange(link: Link, place: TopicPartition): Promise<OffsetRange> {
  const ask = async (which: "earliest" | "latest") => {
    const answers = await link.ask(link.leaderOf(place), listOffsets([place], which));
    assertAnswered([place], answers, "ListOffsets");
    return answers[0].offset;
  };
  return { first: await ask("earliest"), end: await ask("latest") };
}
