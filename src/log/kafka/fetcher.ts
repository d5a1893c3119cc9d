// Fetches committed records for all readers of a process, with one poll per broker for all partitions that it leads. Each
// reader of a partition is a target: it states the offset it wants and takes the records. No target delays another: one that
// is full is left out of the polls, and one in trouble is looked after beside them.
//
// Owns leaders, retries and the link, which is open while there are targets. Does not know who may read a partition or
// where it starts.

import { type Clock, systemClock } from "../../runtime/clock.ts";
import type { Logger } from "../../runtime/logging.ts";
import { backoff } from "../../runtime/waiting.ts";
import { ANSWER_MS, askTopicIds, type Link, partitionName } from "./cluster-link.ts";
import { FetchSession, isSessionLost } from "./fetch-session.ts";
import { type FetchTarget, FetchTargets, type Poll } from "./fetch-targets.ts";
import {
  assertSuccess,
  BrokerError,
  isMissing,
  isOutOfRange,
  isRetriableRead,
  NoAnswerError,
  reasonOf,
  refusedKind,
  warnOfFailure,
} from "./kafka-errors.ts";
import { findRange } from "./offset-ranges.ts";
import { committedRecords } from "./wire/fetched-records.ts";
import { type FetchedPartition, fetchCommitted } from "./wire/protocol.ts";

const FETCH_BYTES = 16 * 1024 * 1024;
/** How often leaders are looked up again although nothing has failed. */
const LOOK_UP_MS = 30_000;
/**
 * How long a broker without new records waits before it answers, at first. A poll cannot be interrupted, so a target that
 * is added or wants records again waits for its end. While nothing comes and nothing changes, each wait is twice as long as
 * the one before.
 */
const SHORT_WAIT_MS = 100;

const UNKNOWN_TOPIC_OR_PARTITION = 3;

interface FetcherOptions {
  openLink(): Link;
  /** The longest time that a broker without new records waits before it answers. New records end the wait. */
  readonly longestWaitMs: number;
  readonly logger: Logger;
  readonly clock?: Clock;
}

/** A broker, and what it knows of our fetches. */
interface Polled {
  readonly link: Link;
  readonly nodeId: string;
  readonly session: FetchSession;
}

export class Fetcher {
  readonly #options: FetcherOptions;
  readonly #clock: Clock;
  readonly #targets = new FetchTargets();
  /** Failed fetches of a target since its last successful one. */
  readonly #attemptsByTarget = new Map<FetchTarget, number>();
  readonly #pollers = new Map<string, Promise<void>>();
  readonly #closing = new AbortController();
  #targetsAdded = 0;
  #link: Link | null = null;
  /** The topics that were looked up over the link. */
  readonly #knownTopics = new Set<string>();
  #isFinding = false;
  #isFindingDue = false;
  #lookedUpMs = 0;
  #wakeAll: () => void = () => {};
  #woken: Promise<void> = Promise.resolve();

  constructor(options: FetcherOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#rearm();
  }

  add(target: FetchTarget): void {
    this.#targets.add(target);
    this.#targetsAdded++;
    if (!this.#knownTopics.has(target.topic) || this.#assign(target) !== null) this.#findLeaders();
    else this.#startPolling();
  }

  remove(target: FetchTarget): void {
    if (!this.#targets.remove(target)) return;
    this.#attemptsByTarget.delete(target);
    if (this.#targets.size === 0) void this.#closeLink();
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
    this.#targets.clear();
    this.wake();
    await this.#closeLink();
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
    for (let attempt = 0; this.#isFindingDue && this.#targets.size > 0 && !this.#isClosed; ) {
      this.#isFindingDue = false;
      attempt = await this.#tryToFindLeaders(attempt);
    }
    // Set in the same turn as the last check of #isFindingDue, so no request for a lookup is missed.
    this.#isFinding = false;
  }

  /** Returns the number of failed attempts so far. */
  async #tryToFindLeaders(attempt: number): Promise<number> {
    this.#lookedUpMs = this.#clock.nowMs();
    this.#link ??= this.#options.openLink();
    const link = this.#link;
    try {
      await this.#lookUpTopics(link);
      if (link !== this.#link) throw new NoAnswerError("the link is closed");
      const missing = this.#assignAll();
      this.#startPolling();
      if (missing === null) return 0;
      this.#isFindingDue = true;
      this.#warn(attempt, missing);
      await backoff(Math.min(attempt + 1, 3), this.#closing.signal);
    } catch (error) {
      this.#isFindingDue = true;
      // Closed meanwhile, because there were no targets for a while.
      if (link !== this.#link) return attempt;
      if (!isWorthLookingUp(error)) {
        this.#isFindingDue = false;
        this.#failAll(error);
        return 0;
      }
      this.#warn(attempt, error);
      await this.#closeLink();
      await backoff(attempt, this.#closing.signal);
    }
    return attempt + 1;
  }

  /** Adds topics one by one, because a refusal does not name its topic and must not affect the others. */
  async #lookUpTopics(link: Link): Promise<void> {
    if (this.#knownTopics.size > 0) await link.refresh();
    let missing: unknown = null;
    for (const topic of this.#targets.topics) {
      try {
        await link.connect([topic]);
        if (link === this.#link) this.#knownTopics.add(topic);
      } catch (error) {
        if (refusedKind(error) === "topic") this.#failTopic(topic, error);
        else if (isMissing(error)) missing = error;
        else throw error;
      }
    }
    if (missing !== null && this.#knownTopics.size === 0) throw missing;
  }

  /**
   * A leader that is cut off from its peers does not know that other brokers lead its partitions by now. It answers
   * fetches with no records and no error. Checked after each poll and not by a timer, because a partition that is not
   * polled waits for nothing.
   */
  async #findLeadersWhenDue(link: Link): Promise<void> {
    const nowMs = this.#clock.nowMs();
    if (nowMs - this.#lookedUpMs < LOOK_UP_MS) return;
    this.#lookedUpMs = nowMs;
    try {
      // A refresh would ask a connected broker, which may be the one that is cut off.
      await link.learnFrom(link.anyBroker(), this.#targets.topics);
    } catch (error) {
      this.#options.logger.debug({ reason: reasonOf(error) }, "broker did not name leaders");
    }
    this.#findLeaders();
  }

  /** Returns an error if a target has no leader yet. */
  #assignAll(): NoAnswerError | null {
    let missing: NoAnswerError | null = null;
    for (const target of this.#targets.all) missing = this.#assign(target) ?? missing;
    return missing;
  }

  #assign(target: FetchTarget): NoAnswerError | null {
    try {
      if (this.#link === null) throw new NoAnswerError("the link is closed");
      this.#targets.setLeader(target, this.#link.leaderOf(target));
      return null;
    } catch (error) {
      if (!(error instanceof NoAnswerError)) throw error;
      this.#targets.setLeader(target, null);
      return error;
    }
  }

  /** To be called after all targets are assigned, so that the first poll includes all partitions of its broker. */
  #startPolling(): void {
    for (const leader of this.#targets.leaders) {
      if (!this.#pollers.has(leader)) this.#pollers.set(leader, this.#keepPolling(leader));
    }
    this.wake();
  }

  /** When a poller ends after a failure, later targets get a new one. */
  async #keepPolling(nodeId: string): Promise<void> {
    await this.#poll(nodeId);
    this.#pollers.delete(nodeId);
  }

  async #poll(nodeId: string): Promise<void> {
    let [attempt, waitMs, asked] = [0, 0, 0];
    const session = new FetchSession();
    let targetsAdded = this.#targetsAdded;
    while (!this.#isClosed) {
      const link = this.#link;
      // A broker answers only for partitions with news. A new target wants an answer all the same.
      if (targetsAdded !== this.#targetsAdded) session.restart();
      targetsAdded = this.#targetsAdded;
      const poll = this.#targets.planPoll(nodeId);
      const { size } = poll.fromByName;
      if (link === null || size === 0) {
        await this.#woken;
        continue;
      }
      if (poll.isPartial || size !== asked) waitMs = 0;
      asked = size;
      waitMs = Math.min(Math.max(2 * waitMs, SHORT_WAIT_MS), this.#options.longestWaitMs);
      try {
        if (await this.#fetch({ link, nodeId, session }, poll, waitMs)) waitMs = 0;
        attempt = 0;
        this.#findLeadersWhenDue(link);
      } catch (error) {
        session.restart();
        if (this.#isClosed) return;
        if (link !== this.#link) continue;
        if (!isWorthLookingUp(error)) return this.#failAll(error);
        this.#warn(attempt, error);
        await backoff(attempt++, this.#closing.signal);
        this.#findLeaders();
      }
    }
  }

  /** Returns whether anything came. */
  async #fetch(at: Polled, { fromByName }: Poll, maxWaitMs: number): Promise<boolean> {
    const { link, nodeId, session } = at;
    const request = fetchCommitted(session.changesTo(fromByName), { maxWaitMs, maxBytes: FETCH_BYTES });
    const answer = await link.ask(nodeId, request, maxWaitMs + ANSWER_MS);
    if (isSessionLost(answer.errorCode)) {
      session.restart();
      return true;
    }
    assertSuccess(answer.errorCode, `Fetch from broker ${nodeId}`);
    session.confirm(answer.sessionId);
    const targetsByName = this.#targets.byName();
    let hasCome = false;
    for (const fetched of answer.partitions) {
      const name = partitionName(fetched);
      const offset = fromByName.get(name)?.offset;
      if (fetched.errorCode !== 0 || fetched.recordSet.length > 0) hasCome = true;
      for (const target of targetsByName.get(name) ?? []) {
        if (offset === undefined || !this.#targets.isWanted(target, offset)) continue;
        if (fetched.errorCode === 0) this.#deliver(target, offset, fetched);
        else this.#recover(link, target, offset, fetched.errorCode);
      }
    }
    return hasCome;
  }

  #deliver(target: FetchTarget, offset: number, fetched: FetchedPartition): void {
    const { recordSet, abortedTransactions, highWatermark, lastStableOffset } = fetched;
    try {
      const committed = committedRecords(recordSet, abortedTransactions, offset, target.maxBatchBytes);
      target.take({ ...committed, highWatermark, lastStableOffset });
      this.#attemptsByTarget.delete(target);
    } catch (error) {
      target.fail(error);
    }
    if (recordSet.length > 0) this.#targets.endTurn(target);
  }

  /** The target is not polled meanwhile; the others of its broker are. */
  async #recover(link: Link, target: FetchTarget, offset: number, errorCode: number): Promise<void> {
    this.#targets.setLeader(target, null);
    const error = new BrokerError(errorCode, `Fetch of ${partitionName(target)} from offset ${offset}`);
    try {
      if (isMissing(error)) await this.#checkTopic(link, target.topic);
      if (!isOutOfRange(error)) throw error;
      const range = await findRange(link, target);
      if (!this.#targets.isWanted(target, offset)) return;
      target.outOfRange(range);
      this.#attemptsByTarget.delete(target);
      this.#findLeaders();
    } catch (failure) {
      if (isRetriableRead(failure)) await this.#setAside(target, failure);
      else target.fail(failure);
    }
  }

  /** The target waits until its leader has been looked up again. */
  async #setAside(target: FetchTarget, error: unknown): Promise<void> {
    const attempt = this.#attemptsByTarget.get(target) ?? 0;
    if (!this.#targets.has(target)) return;
    this.#attemptsByTarget.set(target, attempt + 1);
    this.#warn(attempt, error);
    await backoff(attempt, this.#closing.signal);
    this.#findLeaders();
  }

  /** A partition unknown to its broker has moved, or its topic is gone, which affects all partitions of the topic. */
  async #checkTopic(link: Link, topic: string): Promise<void> {
    const [found] = await askTopicIds(link, [topic]);
    if (found === undefined) return; // Without topic ids we assume that the partition has moved.
    const { errorCode, topicId } = found;
    const isGone = errorCode === UNKNOWN_TOPIC_OR_PARTITION;
    if (!isGone) assertSuccess(errorCode, `Metadata of ${topic}`);
    if (!isGone && topicId === null) return;
    for (const target of this.#targets.all) {
      if (target.topic === topic && (isGone || target.topicId !== topicId)) target.replaced?.();
    }
  }

  #failAll(error: unknown): void {
    for (const target of this.#targets.all) target.fail(error);
  }

  #failTopic(topic: string, error: unknown): void {
    for (const target of this.#targets.all) {
      if (target.topic !== topic) continue;
      this.remove(target);
      target.fail(error);
    }
  }

  #warn(attempt: number, error: unknown): void {
    warnOfFailure(this.#options.logger, attempt, error);
  }

  async #closeLink(): Promise<void> {
    const link = this.#link;
    this.#link = null;
    this.#knownTopics.clear();
    await link
      ?.close()
      .catch((error: unknown) =>
        this.#options.logger.debug({ reason: reasonOf(error) }, "connection closed with an error"),
      );
  }
}

/** A new lookup of topics fixes retriable failures and finds the topic that a broker refuses. */
function isWorthLookingUp(error: unknown): boolean {
  return isRetriableRead(error) || refusedKind(error) === "topic";
}
