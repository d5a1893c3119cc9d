// A member of the consumer group: turns kafkajs' joins into lanes that open and close. kafkajs rebalances
// eagerly and tells only the outcome, so what changed is found here:
//   - still assigned, same member id: the lane runs on; its fetch position is set again, since kafkajs
//     forgets positions on every join;
//   - no longer assigned: the lane is lost;
//   - a new member id: the group had dropped us, and whatever we hold may have had another owner meanwhile.
//     All lanes are lost and opened afresh.

import type { Consumer, ConsumerGroupJoinEvent, EachBatchPayload, Kafka } from "kafkajs";
import type { Clock } from "../../runtime/clock.ts";
import { ForecastnetError, PartitionLostError } from "../../runtime/errors.ts";
import type { Logger } from "../../runtime/logging.ts";
import { fired, firesWithin, settlesWithin } from "../../runtime/waiting.ts";
import type { Lane, Membership, MembershipStatus, Subscription } from "../log.ts";
import { createGroupConsumer, runGroupConsumer } from "./group-consumer.ts";
import { GroupPulse } from "./group-pulse.ts";
import { isPassing, reasonOf } from "./kafka-errors.ts";
import { KafkaLane } from "./kafka-lane.ts";
import type { TableReads } from "./kafka-reads.ts";
import type { FindTopic } from "./produce-requests.ts";
import { groupReason, logFailure } from "./rights.ts";
import { type TransactionSettings, Transactor } from "./transactor.ts";

const rejoinMs = 250;

export interface MembershipOptions {
  readonly kafka: Kafka;
  readonly subscription: Subscription;
  readonly lane: Lane;
  readonly sessionTimeoutMs: number;
  readonly transactions: TransactionSettings;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly findTopic: FindTopic;
  readonly reads: TableReads;
  committed(group: string, topic: string, partition: number): Promise<number | null>;
  startOffset(topic: string, partition: number, start: "earliest" | "latest"): Promise<number>;
}

export class KafkaMembership implements Membership {
  readonly done: Promise<void>;
  readonly #options: MembershipOptions;
  readonly #consumer: Consumer;
  readonly #laneByPartition = new Map<number, KafkaLane>();
  readonly #closingByPartition = new Map<number, Promise<void>>();
  readonly #pulse: GroupPulse;
  #memberId: string | null = null;
  #isJoined = false;
  #isStopping = false;
  #hasLeft = false;
  #watchdog: NodeJS.Timeout | undefined;
  #resolveDone: () => void = () => {};
  #rejectDone: (error: unknown) => void = () => {};

  constructor(options: MembershipOptions) {
    this.#options = options;
    const { kafka, subscription, sessionTimeoutMs } = options;
    this.#pulse = new GroupPulse(options.clock, sessionTimeoutMs);
    this.#consumer = createGroupConsumer({
      kafka,
      group: subscription.group,
      inputs: subscription.inputs,
      sessionTimeoutMs,
      held: () => this.#held(),
      mayRestart: () => !this.#hasLeft,
    });
    this.done = new Promise((resolve, reject) => {
      this.#resolveDone = resolve;
      this.#rejectDone = reject;
    });
    this.done.catch(() => undefined); // A caller that only ever stops must not crash the process.
  }

  async join(): Promise<void> {
    this.#listen();
    const { inputs } = this.#options.subscription;
    try {
      await this.#consumer.connect();
      await this.#consumer.subscribe({ topics: [...inputs], fromBeginning: true });
    } catch (error) {
      await this.#consumer.disconnect();
      throw error;
    }
    this.#watchdog = setInterval(() => this.#checkPulse(), this.#options.sessionTimeoutMs).unref();
    await this.#run();
  }

  #run(): Promise<void> {
    return runGroupConsumer(this.#consumer, (payload) => this.#onBatch(payload));
  }

  status(): MembershipStatus {
    const lanes = [...this.#laneByPartition.values()];
    const reading = lanes.filter((lane) => lane.isReading);
    return {
      isJoined: this.#isJoined && reading.length === lanes.length,
      partitions: lanes.map(({ owned }) => owned.partition).sort((a, b) => a - b),
      lag: reading.length === 0 ? null : reading.reduce((sum, { owned }) => sum + owned.lag, 0),
      outage: this.#pulse.outage,
    };
  }

  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    for (const [partition, { owned }] of [...this.#laneByPartition]) {
      // A lane that has not begun to read holds nothing worth waiting for.
      if (owned.hasBegun) owned.drain();
      else this.#lose(partition);
    }
    const isDrained = await settlesWithin(this.#allClosed(), graceMs);
    if (!isDrained) {
      for (const partition of [...this.#laneByPartition.keys()]) this.#lose(partition);
      await settlesWithin(this.#allClosed(), 1_000);
    }
    this.#hasLeft = true;
    clearInterval(this.#watchdog);
    await this.#consumer.disconnect();
    this.#resolveDone();
    if (!isDrained) {
      throw new ForecastnetError(
        "SHUTDOWN_FORCED",
        `lanes were still busy after ${graceMs} ms and were dropped`,
      );
    }
  }

  #listen(): void {
    const { events } = this.#consumer;
    this.#consumer.on(events.GROUP_JOIN, ({ payload }) => this.#onJoin(payload));
    this.#consumer.on(events.HEARTBEAT, () => this.#pulse.answered());
    // A crash is told only after the client has let go of its group: until then nothing may be asked of it.
    this.#consumer.on(events.STOP, () => {
      this.#isJoined = false;
    });
    this.#consumer.on(events.CRASH, ({ payload }) => this.#onCrash(payload.error, payload.restart));
    for (const event of [events.FETCH_START, events.REQUEST, events.REBALANCING, events.CRASH]) {
      this.#consumer.on(event, () => this.#pulse.stirred());
    }
  }

  #checkPulse(): void {
    if (!this.#pulse.isStuck) return;
    this.#fail(
      new ForecastnetError("LOG_FAILED", "the Kafka client has fallen silent; only a restart helps"),
    );
  }

  /** A client that we stopped in the middle of joining must not come back. */
  #held(): readonly number[] {
    if (this.#hasLeft) throw new Error("this member has left its group");
    return [...this.#laneByPartition.keys()];
  }

  #onJoin(payload: ConsumerGroupJoinEvent["payload"]): void {
    const { inputs } = this.#options.subscription;
    const assigned = new Map<number, string[]>();
    for (const topic of inputs) {
      for (const partition of payload.memberAssignment[topic] ?? []) {
        assigned.set(partition, [...(assigned.get(partition) ?? []), topic]);
      }
    }
    const wasDropped = this.#memberId !== null && this.#memberId !== payload.memberId;
    this.#memberId = payload.memberId;
    this.#isJoined = true;
    for (const partition of [...this.#laneByPartition.keys()]) {
      if (wasDropped || !assigned.has(partition)) this.#lose(partition);
    }
    const opened: number[] = [];
    for (const [partition, topics] of assigned) {
      this.#consumer.pause(topics.map((topic) => ({ topic, partitions: [partition] })));
      const lane = this.#laneByPartition.get(partition);
      if (lane === undefined) {
        opened.push(partition);
        this.#open(partition, topics);
      } else if (lane.isReading) {
        this.#read(lane);
      }
    }
    const { groupId: group, memberId } = payload;
    const partitions = [...assigned.keys()];
    this.#options.logger.info({ group, memberId, partitions, opened, wasDropped }, "group joined");
    this.#pulse.answered();
  }

  #onBatch({ batch, isStale, resolveOffset }: EachBatchPayload): void {
    const lane = this.#laneByPartition.get(batch.partition);
    // Not resolving leaves the position where it was: the records come again when they are wanted.
    if (lane === undefined || !lane.isReading || isStale()) return;
    lane.owned.accept(batch);
    resolveOffset(batch.lastOffset());
    if (lane.owned.isFull) this.#consumer.pause([{ topic: batch.topic, partitions: [batch.partition] }]);
  }

  #onCrash(error: Error, willRestart: boolean): void {
    this.#isJoined = false;
    const reason = groupReason(error, this.#options.subscription);
    this.#pulse.troubled(reason);
    // kafkajs gives up on some passing failures, a coordinator that has not come back yet among them.
    const mayRejoin = !willRestart && !this.#hasLeft && isPassing(error);
    if (willRestart || mayRejoin) {
      this.#options.logger.warn({ reason }, "group connection lost, joining again");
      if (mayRejoin) setTimeout(() => this.#rejoin(), rejoinMs);
      return;
    }
    this.#fail(logFailure(`the consumer group failed for good: ${reason}`, error));
  }

  #rejoin(): void {
    if (!this.#hasLeft) this.#run().catch((error: unknown) => this.#fail(error));
  }

  #open(partition: number, topics: readonly string[]): void {
    const { subscription, lane: work, startOffset, reads } = this.#options;
    const lane = new KafkaLane({
      partition,
      topics,
      subscription,
      work,
      previous: this.#closingByPartition.get(partition),
      transactor: (lost) => this.#transactor(partition, lost),
      startOffset,
      reads,
      read: () => this.#read(lane),
      resume: () => this.#resume(partition),
      onError: (error) => this.#onLaneError(lane, error),
    });
    this.#laneByPartition.set(partition, lane);
  }

  /** Sets the fetch positions of a lane and lets its fetches run. */
  #read({ owned, topics }: KafkaLane): void {
    if (!this.#isJoined) return; // The next join does it.
    const { partition, positions } = owned;
    for (const topic of topics) {
      this.#consumer.seek({ topic, partition, offset: String(positions.get(topic) ?? 0) });
    }
    if (!owned.isFull) this.#resume(partition);
  }

  #resume(partition: number): void {
    const lane = this.#laneByPartition.get(partition);
    if (!this.#isJoined || lane === undefined) return;
    this.#consumer.resume(lane.topics.map((topic) => ({ topic, partitions: [partition] })));
  }

  #lose(partition: number): void {
    const lane = this.#laneByPartition.get(partition);
    if (lane === undefined) return;
    this.#laneByPartition.delete(partition);
    lane.lose();
    const closing = lane.closed.then(() => {
      if (this.#closingByPartition.get(partition) === closing) this.#closingByPartition.delete(partition);
    });
    this.#closingByPartition.set(partition, closing);
    this.#options.logger.info({ partition }, "partition lost");
  }

  async #onLaneError(lane: KafkaLane, error: unknown): Promise<void> {
    const { lost, partition } = lane.owned;
    // The partition is another member's business by now; how our lane of it ended decides nothing.
    if (lost.aborted)
      return this.#options.logger.debug({ partition, reason: reasonOf(error) }, "lost lane ended");
    // What a stop cut short while it waited for something is the next owner's to do.
    if (this.#isStopping && error instanceof ForecastnetError && error.retryable) return;
    if (!(error instanceof PartitionLostError)) return this.#fail(error);
    // A rebalance may overtake a commit: another member fenced us before we heard of the new assignment.
    const isExplained = await firesWithin(lost, 2 * this.#options.sessionTimeoutMs);
    if (!isExplained && !this.#isStopping) this.#fail(error);
  }

  #fail(error: unknown): void {
    this.#rejectDone(error);
  }

  #transactor(partition: number, lost: AbortSignal): Transactor {
    const { kafka, subscription, transactions, findTopic, committed, logger } = this.#options;
    return new Transactor({
      kafka,
      group: subscription.group,
      partition,
      transactions,
      lost,
      findTopic,
      committed: (topic) => committed(subscription.group, topic, partition),
      confirmMembership: () => Promise.race([this.#pulse.nextAnswer(), fired(lost)]),
      onTrouble: (reason) => {
        this.#pulse.troubled(reason);
        logger.warn({ partition, reason }, "log did not answer, trying again");
      },
    });
  }

  async #allClosed(): Promise<void> {
    const open = [...this.#laneByPartition.values()].map((lane) => lane.closed);
    await Promise.all([...open, ...this.#closingByPartition.values()]);
  }
}
