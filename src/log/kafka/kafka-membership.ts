// A member of the consumer group: opens an ownership for each partition it gains and ends it when the partition goes.
//   - still assigned, and no assignment missed: the ownership continues;
//   - no longer assigned: the ownership ends;
//   - dropped by the group, or an assignment missed: another member may have owned our partitions meanwhile, so every
//     ownership ends and is opened again.

import type { Clock } from "../../runtime/clock.ts";
import { ForecastnetError, PartitionLostError } from "../../runtime/errors.ts";
import type { Logger } from "../../runtime/logging.ts";
import { firesWithin, settlesWithin, untilFired } from "../../runtime/waiting.ts";
import type { Membership, MembershipStatus, PartitionHandler, Subscription } from "../log.ts";
import { BatchPacer } from "./batch-pacer.ts";
import { type Link, partitionName } from "./cluster-link.ts";
import type { Fetcher } from "./fetcher.ts";
import { type Assignment, GroupMember } from "./group-member.ts";
import { groupReason, logFailure, reasonOf } from "./kafka-errors.ts";
import { KafkaOwnership } from "./kafka-ownership.ts";
import type { KafkaReads } from "./kafka-reads.ts";
import { InputReplacedError } from "./owned-kafka-partition.ts";
import {
  fromPositionsRecord,
  type InputGap,
  type PositionRule,
  positionsKey,
  type StoredPositions,
} from "./positions.ts";
import type { FindTopic, ProducerSettings } from "./producer.ts";
import { SharedTransactions } from "./shared-transactions.ts";
import type { TransactionSettings } from "./transaction-session.ts";
import { Transactor } from "./transactor.ts";

interface MembershipOptions {
  readonly subscription: Subscription;
  readonly handler: PartitionHandler;
  readonly sessionTimeoutMs: number;
  readonly transactions: TransactionSettings;
  readonly producer: ProducerSettings;
  readonly positionRule: PositionRule;
  /** The largest decompressed record batch of the input. */
  readonly maxBatchBytes: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly findTopic: FindTopic;
  readonly reads: KafkaReads;
  readonly fetcher: Fetcher;
  /** For the group. */
  openLink(): Link;
  /** For the transactions of a partition. */
  openTransactionLink(partition: number): Link;
  onGap(gap: InputGap): void;
}

export class KafkaMembership implements Membership {
  readonly done: Promise<void>;
  readonly #options: MembershipOptions;
  readonly #member: GroupMember;
  readonly #ownershipByPartition = new Map<number, KafkaOwnership>();
  readonly #closingByPartition = new Map<number, Promise<void>>();
  readonly #contradictionByPartition = new Map<number, ForecastnetError>();
  readonly #health: GroupHealth;
  readonly #pacer: BatchPacer;
  readonly #transactions: SharedTransactions;
  #isStopping = false;
  #resolveDone: () => void = () => {};
  #rejectDone: (error: unknown) => void = () => {};

  constructor(options: MembershipOptions) {
    this.#options = options;
    const { subscription, sessionTimeoutMs, openLink } = options;
    this.#health = new GroupHealth(options.clock, sessionTimeoutMs);
    this.#pacer = new BatchPacer(subscription.batchIntervalMs ?? 0);
    this.#member = new GroupMember({
      openLink,
      group: subscription.group,
      inputs: subscription.inputs,
      sessionTimeoutMs,
      held: () => [...this.#ownershipByPartition.keys()],
      onAssigned: (assignment) => this.#onAssigned(assignment),
      onConfirmed: () => this.#health.answered(),
      onTrouble: (error) => this.#onTrouble(error),
      onFailed: (error) => this.#onGroupFailure(error),
    });
    this.#transactions = new SharedTransactions({
      member: () => this.#member.identity,
      watcher: this.#pacer,
      onEnd: options.transactions.onEnd,
    });
    this.done = new Promise((resolve, reject) => {
      this.#resolveDone = resolve;
      this.#rejectDone = reject;
    });
    this.done.catch(() => undefined); // A caller that never reads `done` must not crash the process.
  }

  join(): Promise<void> {
    return this.#member.start();
  }

  status(): MembershipStatus {
    const ownerships = [...this.#ownershipByPartition.values()];
    const reading = ownerships.filter(({ isReading }) => isReading);
    return {
      isJoined: this.#member.isJoined && reading.length === ownerships.length,
      partitions: ownerships.map(({ owned }) => owned.partition).sort((a, b) => a - b),
      lag: reading.length === 0 ? null : reading.reduce((sum, { owned }) => sum + (owned.lag ?? 0), 0),
      outage: this.#health.outage ?? this.#contradiction,
    };
  }

  get #contradiction(): string | null {
    const [error] = this.#contradictionByPartition.values();
    return error === undefined ? null : `${error.code}: ${error.message}`;
  }

  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    for (const [partition, { owned }] of [...this.#ownershipByPartition]) {
      // A handler that has not started to read has nothing to settle.
      if (owned.hasStarted) owned.drain();
      else this.#lose(partition);
    }
    const isDrained = await settlesWithin(this.#allClosed(), graceMs);
    if (!isDrained) {
      for (const partition of [...this.#ownershipByPartition.keys()]) this.#lose(partition);
      await settlesWithin(this.#allClosed(), 1_000);
    }
    for (const { owned } of this.#ownershipByPartition.values()) this.#stopFetching(owned);
    await this.#member.leave();
    this.#resolveDone();
    if (!isDrained) {
      throw new ForecastnetError(
        "SHUTDOWN_FORCED",
        `lanes were still busy after ${graceMs} ms and were dropped`,
      );
    }
  }

  #onAssigned({ memberId, partitionsByTopic, isContinuous }: Assignment): void {
    const { inputs, group } = this.#options.subscription;
    const assigned = new Map<number, string[]>();
    for (const topic of inputs) {
      for (const partition of partitionsByTopic.get(topic) ?? []) {
        assigned.set(partition, [...(assigned.get(partition) ?? []), topic]);
      }
    }
    for (const partition of [...this.#ownershipByPartition.keys()]) {
      if (!isContinuous || !assigned.has(partition)) this.#lose(partition);
    }
    const opened = [...assigned.keys()].filter((partition) => !this.#ownershipByPartition.has(partition));
    if (!this.#isStopping)
      for (const partition of opened) this.#open(partition, assigned.get(partition) ?? []);
    const partitions = [...assigned.keys()];
    this.#options.logger.info({ group, memberId, partitions, opened, isContinuous }, "group joined");
  }

  #onTrouble(error: unknown): void {
    const reason = groupReason(error, this.#options.subscription);
    this.#health.failed(reason);
    this.#options.logger.warn({ reason }, "group did not answer, trying again");
  }

  #onGroupFailure(error: unknown): void {
    const reason = groupReason(error, this.#options.subscription);
    this.#fail(logFailure(`the consumer group failed permanently: ${reason}`, error));
  }

  #open(partition: number, topics: readonly string[]): void {
    const { subscription, handler, maxBatchBytes, reads, onGap } = this.#options;
    const ownership = new KafkaOwnership({
      partition,
      topics,
      maxBatchBytes,
      pacer: this.#pacer,
      subscription,
      handler,
      previous: this.#closingByPartition.get(partition),
      transactor: (lost) => this.#transactor(partition, lost),
      reads,
      findRange: (topic, number, signal) => reads.rangeOf(topic, number, signal),
      startFetching: () => this.#startFetching(ownership),
      resume: () => this.#options.fetcher.wake(),
      onGap,
      onError: (error) => this.#onOwnershipError(ownership, error),
    });
    this.#ownershipByPartition.set(partition, ownership);
  }

  #startFetching({ owned, adopted }: KafkaOwnership): void {
    const { partition } = owned;
    for (const { topic, position, onlyIn } of adopted)
      this.#options.logger.warn(
        { partition, topic, position, onlyIn },
        "position found in only one place, resuming from it",
      );
    for (const target of owned.targets) this.#options.fetcher.add(target);
  }

  #stopFetching({ targets }: Pick<KafkaOwnership["owned"], "targets">): void {
    for (const target of targets) this.#options.fetcher.remove(target);
  }

  #lose(partition: number): void {
    const ownership = this.#ownershipByPartition.get(partition);
    if (ownership === undefined) return;
    this.#ownershipByPartition.delete(partition);
    this.#contradictionByPartition.delete(partition);
    this.#stopFetching(ownership.owned);
    ownership.lose();
    const closing = ownership.closed.then(() => {
      if (this.#closingByPartition.get(partition) === closing) this.#closingByPartition.delete(partition);
    });
    this.#closingByPartition.set(partition, closing);
    this.#options.logger.info({ partition }, "partition lost");
  }

  async #onOwnershipError(ownership: KafkaOwnership, error: unknown): Promise<void> {
    const { lost, partition } = ownership.owned;
    // Another member owns the partition by now, so this error has no consequences.
    if (lost.aborted)
      return this.#options.logger.debug({ partition, reason: reasonOf(error) }, "lost lane ended");
    // The next owner does what the stop interrupted.
    if (this.#isStopping && error instanceof ForecastnetError && error.retryable) return;
    if (error instanceof InputReplacedError) return this.#reopen(ownership, error.message);
    if (!(error instanceof PartitionLostError)) return this.#fail(error);
    // In a rebalance, another member may fence us before we receive the new assignment.
    const isExplained = await firesWithin(lost, 2 * this.#options.sessionTimeoutMs);
    if (isExplained || this.#isStopping) return;
    // A former owner committed after the group had assigned the partition to us, so our state differs from what is
    // stored.
    this.#reopen(ownership, `another owner has committed: ${error.message}`);
  }

  #reopen({ owned: { partition }, topics }: KafkaOwnership, reason: string): void {
    if (this.#isStopping) return;
    this.#options.logger.warn({ partition, reason }, "reopening partition");
    this.#lose(partition);
    this.#open(partition, topics);
  }

  #fail(error: unknown): void {
    this.#rejectDone(error);
  }

  #transactor(partition: number, lost: AbortSignal): Transactor {
    const { subscription, transactions, producer, positionRule, findTopic, logger } = this.#options;
    const { group, inputs, positionsTopic, outputs, spreadOutputs = [] } = subscription;
    return new Transactor({
      openLink: () => this.#options.openTransactionLink(partition),
      group,
      partition,
      inputs,
      positionsTopic,
      outputs,
      spreadOutputs,
      positionRule,
      transactions: this.#transactions,
      timeoutMs: transactions.timeoutMs,
      producer,
      lost,
      findTopic,
      readPositions: () => this.#readPositions(partition, lost),
      confirmMembership: () => {
        const confirmed = this.#health.nextAnswer();
        this.#member.confirm();
        return untilFired(confirmed, lost);
      },
      onTrouble: (reason) => {
        this.#health.failed(reason);
        logger.warn({ partition, reason }, "log did not answer, trying again");
      },
      onHanging: (partitions, outcome) =>
        logger.warn(
          { partition, places: partitions.map(partitionName), outcome },
          "ended a transaction that the cluster had left open",
        ),
      onContradiction: (error) => this.#onContradiction(partition, error),
    });
  }

  async #readPositions(partition: number, signal: AbortSignal): Promise<StoredPositions | null> {
    const { reads, subscription } = this.#options;
    const record = await reads.newestOf(subscription.positionsTopic, partition, positionsKey, signal);
    return record === null ? null : fromPositionsRecord(record);
  }

  /** The contradicting partition waits; the others continue. */
  #onContradiction(partition: number, error: ForecastnetError | null): void {
    if (error === null) {
      this.#contradictionByPartition.delete(partition);
      return;
    }
    const { code, message: reason, remedy } = error;
    if (!this.#contradictionByPartition.has(partition))
      this.#options.logger.error({ partition, code, reason, remedy }, "positions contradict each other");
    this.#contradictionByPartition.set(partition, error);
  }

  async #allClosed(): Promise<void> {
    const open = [...this.#ownershipByPartition.values()].map(({ closed }) => closed);
    await Promise.all([...open, ...this.#closingByPartition.values()]);
  }
}

/** When the group last answered, and why it does not answer if it does not. */
export class GroupHealth {
  readonly #clock: Clock;
  readonly #sessionTimeoutMs: number;
  readonly #waiting = new Set<() => void>();
  #failure: string | null = null;
  #answeredMs: number;

  constructor(clock: Clock, sessionTimeoutMs: number) {
    this.#clock = clock;
    this.#sessionTimeoutMs = sessionTimeoutMs;
    this.#answeredMs = clock.nowMs();
  }

  /** The group has confirmed this member. */
  answered(): void {
    this.#answeredMs = this.#clock.nowMs();
    this.#failure = null;
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  /** A request failed and is being retried. */
  failed(reason: string): void {
    this.#failure = reason;
  }

  /** Resolves when the group next confirms this member. */
  nextAnswer(): Promise<void> {
    return new Promise((resolve) => this.#waiting.add(resolve));
  }

  /** Null while the group answers; otherwise why it does not. */
  get outage(): string | null {
    if (this.#failure !== null) return this.#failure;
    const silentMs = this.#clock.nowMs() - this.#answeredMs;
    return silentMs > this.#sessionTimeoutMs ? `no heartbeat for ${silentMs} ms` : null;
  }
}
