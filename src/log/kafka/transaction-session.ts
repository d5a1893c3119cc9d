// One producer epoch of a transactional id, and the requests made in it. We do not use kafkajs' producer: it repeats
// requests by itself, which duplicates and loses records on more than one broker. Here every request is sent once,
// and a transaction is committed only after each of its partitions has answered with success exactly once. After any
// failure but `TransactionAborted` the session must not be used any more.
//
//   AddPartitionsToTxn ─┬─► Produce, one request per leader ─┬─► EndTxn
//   AddOffsetsToTxn ────┴─► TxnOffsetCommit ─────────────────┘
//
// Each input partition has its own transactional id. A transaction may carry several partitions of its worker, under the id
// of one of them. The group refuses the offsets of a member of an old generation (KIP-447), so a former owner cannot commit
// under any id. The new owner of each partition also takes a new epoch of its id, which ends what a dead worker left open.
// An id is stable across restarts: with a new id, readers of committed data would wait until that transaction times out.

import { setTimeout as delay } from "node:timers/promises";
import type { Outgoing } from "../../domain.ts";
import { assertAnswered, type Link, partitionName } from "./cluster-link.ts";
import {
  findHanging,
  learnPrevious,
  type PreviousTransaction,
  type TransactionOutcome,
  type WrittenOffset,
  waitUntilDecided,
} from "./hanging-transactions.ts";
import { assertSuccess, isConcurrent, isStaleMember, mostSevere } from "./kafka-errors.ts";
import {
  type Delivery,
  deliver,
  type FindTopic,
  type PlannedBatch,
  Producer,
  type ProducerSettings,
  planRounds,
} from "./producer.ts";
import type { MemberIdentity } from "./wire/cluster-requests.ts";
import type { KafkaRequest, TopicPartition } from "./wire/protocol.ts";
import {
  addOffsetsToTxn,
  addPartitionsToTxn,
  endTxn,
  type GroupOffset,
  initProducerId,
  type TransactionalIdentity,
  txnOffsetCommit,
} from "./wire/transaction-requests.ts";

/** With this many replicas, a partition loses its leader only if all replicas in sync are lost at once. */
const SAFE_REPLICAS = 3;
/** How long the coordinator may take to complete the previous transaction. */
const CONCURRENT_MS = 10_000;

/** What one input partition writes in a transaction. */
export interface TransactionPart {
  readonly partition: number;
  readonly records: readonly Outgoing[];
  /** A position of the partition in its input, by which the group refuses a former owner. Null only for a partition alone, whose epoch does. */
  readonly position: GroupOffset | null;
  readonly lost: AbortSignal;
}

/** The transaction was aborted in an orderly way, and the session can be used again. */
export class TransactionAborted extends Error {}

export interface TransactionSettings {
  /** The broker aborts a transaction that stays open longer. */
  readonly timeoutMs: number;
  /** Called when a transaction has ended. */
  readonly onEnd: (outcome: TransactionOutcome) => void;
}

export interface SessionOptions {
  openLink(): Link;
  readonly group: string;
  readonly partition: number;
  readonly inputs: readonly string[];
  /** The topics that transactions write to. */
  readonly outputs: readonly string[];
  /** The outputs of which transactions may write to every partition. */
  readonly spreadOutputs: readonly string[];
  /** The broker aborts a transaction that stays open longer. */
  readonly timeoutMs: number;
  readonly producer: ProducerSettings;
  readonly lost: AbortSignal;
  readonly findTopic: FindTopic;
  /** The last transaction before this epoch. Shared by sessions until its hanging records are ended. */
  readonly previous: PreviousTransaction;
  /** Called after hanging records in these partitions were ended with this outcome. */
  onHanging(partitions: readonly TopicPartition[], outcome: TransactionOutcome): void;
}

export class TransactionSession {
  readonly link: Link;
  readonly identity: TransactionalIdentity;
  /** The partition's own places with records that looked hanging when the session began: another producer's, if they still do. */
  readonly suspects: readonly TopicPartition[];
  readonly #options: SessionOptions;
  readonly #producer: Producer;
  /** Where the last transaction wrote, for partitions with fewer than SAFE_REPLICAS. */
  #written: readonly WrittenOffset[] = [];
  /** Resolves when the last transaction is decided there. */
  #decided: Promise<void> = Promise.resolve();

  private constructor(
    link: Link,
    identity: TransactionalIdentity,
    suspects: readonly TopicPartition[],
    options: SessionOptions,
  ) {
    this.link = link;
    this.identity = identity;
    this.suspects = suspects;
    this.#options = options;
    this.#producer = new Producer(identity, options.producer);
  }

  /** Takes a new epoch, which ends the open transaction of an earlier epoch and refuses its later requests. */
  static async open(options: SessionOptions): Promise<TransactionSession> {
    const { openLink, group, partition, inputs, outputs, spreadOutputs, timeoutMs, previous } = options;
    const transactionalId = `${group}-${partition}`;
    const link = openLink();
    try {
      await link.connect(outputs);
      const places = outputs.map((topic) => ({ topic, partition: partition % link.partitionsOf(topic) }));
      const others = spreadOutputs.flatMap((topic) => otherPartitions(link, topic, partition));
      const coordinator = await link.coordinatorOf("transaction", transactionalId);
      const { producerId, epoch } = await whileConcurrent("InitProducerId", options, async () => {
        // Asked before each attempt, because the transaction may still end until the new epoch is assigned.
        await learnPrevious(previous, { link, coordinator, transactionalId, outputs });
        // Throws if a partition has no leader, because ending a transaction there would leave it hanging.
        for (const place of [...places, ...previous.places]) link.leaderOf(place);
        const answer = await link.ask(coordinator, initProducerId(transactionalId, timeoutMs));
        assertSuccess(answer.errorCode, "InitProducerId");
        return answer;
      });
      // The coordinator knew every leader that took part in earlier transactions; another broker may be cut off.
      await link.learnFrom(coordinator, [...outputs, ...inputs]);
      const hanging = await findHanging(link, distinct([...places, ...previous.places, ...others]));
      const suspects = intersect(places, hanging);
      const identity = { transactionalId, producerId, epoch };
      const session = new TransactionSession(link, identity, suspects, options);
      await session.#endHanging(hanging);
      return session;
    } catch (error) {
      await link.close();
      throw error;
    }
  }

  close(): Promise<void> {
    return this.link.close();
  }

  /** Commits what the partitions write and their positions. Throws `TransactionAborted` if one of them is not ours any more. */
  async transact(parts: readonly TransactionPart[], member: MemberIdentity): Promise<void> {
    const { findTopic, previous } = this.#options;
    const rounds = await planRounds(
      parts.flatMap(({ records }) => records),
      findTopic,
    );
    const places = rounds[0];
    await this.link.connect([...new Set(places.map(({ topic }) => topic))]);
    await this.#decided;
    assertOurs(parts);
    previous.places = places.map(({ topic, partition }) => ({ topic, partition }));
    const positions = parts.flatMap(({ position }) => (position === null ? [] : [position]));
    await allOf([this.#addPartitions(places), ...(positions.length > 0 ? [this.#addOffsets()] : [])]);
    await this.#writeAll(rounds, parts, this.#commitOffsets(positions, member));
    await this.#end("committed");
    // Checked at once, while the next batch is on its way. The next transaction throws what goes wrong.
    this.#decided = waitUntilDecided(this.link, this.#written);
    this.#decided.catch(() => undefined);
  }

  /** If the group refuses us and nothing else is wrong, aborts at once, so that subscribers need not wait. */
  async #writeAll(
    rounds: readonly (readonly PlannedBatch[])[],
    parts: readonly TransactionPart[],
    offsetsCommitted: Promise<void>,
  ): Promise<void> {
    try {
      await allOf([this.#produce(rounds), offsetsCommitted]);
      assertOurs(parts);
    } catch (error) {
      const isRefused = error instanceof TransactionAborted;
      if (isRefused) await this.#end("aborted");
      throw error;
    }
  }

  /** If an owner died while doing this, the outcome is unknown and the hanging records are aborted. */
  async #endHanging(places: readonly TopicPartition[]): Promise<void> {
    const { previous, onHanging } = this.#options;
    if (places.length > 0) {
      const outcome = previous.outcome ?? "aborted";
      await this.#addPartitions(places);
      await this.#addOffsets();
      await this.#end(outcome);
      onHanging(places, outcome);
    }
    previous.outcome = null;
    previous.places = [];
  }

  async #produce(rounds: readonly (readonly PlannedBatch[])[]): Promise<void> {
    for (const round of rounds) {
      const batches = round.map((batch) => this.#producer.encode(batch));
      const deliveries = await deliver(this.link, this.identity.transactionalId, batches);
      const errors = deliveries.flatMap((delivery) => ("error" in delivery ? [delivery.error] : []));
      if (errors.length > 0) throw mostSevere(errors);
      // The first round writes to all partitions.
      if (round === rounds[0]) this.#written = await this.#withFewReplicas(deliveries);
    }
  }

  async #withFewReplicas(deliveries: readonly Delivery[]): Promise<readonly WrittenOffset[]> {
    const written: WrittenOffset[] = [];
    for (const delivery of deliveries) {
      const { topic, partition } = delivery.batch;
      const { replicationFactor } = await this.#options.findTopic(topic);
      if ("baseOffset" in delivery && replicationFactor < SAFE_REPLICAS)
        written.push({ topic, partition, offset: delivery.baseOffset });
    }
    return written;
  }

  async #commitOffsets(offsets: readonly GroupOffset[], member: MemberIdentity): Promise<void> {
    if (offsets.length === 0) return;
    const coordinator = await this.link.coordinatorOf("group", member.group);
    const answers = await this.link.ask(coordinator, txnOffsetCommit(this.identity, member, offsets));
    try {
      assertAnswered(offsets, answers, "TxnOffsetCommit");
    } catch (error) {
      if (isStaleMember(error))
        throw new TransactionAborted("the group has a newer generation", { cause: error });
      throw error;
    }
  }

  async #addPartitions(places: readonly TopicPartition[]): Promise<void> {
    await whileConcurrent("AddPartitionsToTxn", this.#options, async () => {
      const answers = await this.#ask(addPartitionsToTxn(this.identity, places));
      assertAnswered(places, answers, "AddPartitionsToTxn");
    });
  }

  async #addOffsets(): Promise<void> {
    await whileConcurrent("AddOffsetsToTxn", this.#options, async () => {
      const { errorCode } = await this.#ask(addOffsetsToTxn(this.identity, this.#options.group));
      assertSuccess(errorCode, "AddOffsetsToTxn");
    });
  }

  async #end(outcome: TransactionOutcome): Promise<void> {
    const { errorCode } = await this.#ask(endTxn(this.identity, outcome === "committed"));
    assertSuccess(errorCode, "EndTxn");
  }

  /** Asks the transaction coordinator. */
  async #ask<Answer>(request: KafkaRequest<Answer>): Promise<Answer> {
    const coordinator = await this.link.coordinatorOf("transaction", this.identity.transactionalId);
    return this.link.ask(coordinator, request);
  }
}

function assertOurs(parts: readonly TransactionPart[]): void {
  const lost = parts.find((part) => part.lost.aborted);
  if (lost !== undefined) throw new TransactionAborted(`partition ${lost.partition} was lost`);
}

/** Waits until all requests have ended, so that none is under way when the transaction ends. An abort counts least. */
async function allOf(requests: readonly Promise<void>[]): Promise<void> {
  const settled = await Promise.allSettled(requests);
  const failures = settled.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
  const [aborted] = failures;
  if (failures.length > 0)
    throw mostSevere(failures.filter((failure) => !(failure instanceof TransactionAborted))) ?? aborted;
}

function intersect(
  places: readonly TopicPartition[],
  others: readonly TopicPartition[],
): readonly TopicPartition[] {
  const names = new Set(others.map(partitionName));
  return places.filter((place) => names.has(partitionName(place)));
}

function distinct(places: readonly TopicPartition[]): readonly TopicPartition[] {
  return [...new Map(places.map((place) => [partitionName(place), place])).values()];
}

/** These partitions are rarely written to, so those without a leader are skipped. */
function otherPartitions(link: Link, topic: string, own: number): readonly TopicPartition[] {
  const width = link.partitionsOf(topic);
  const places = Array.from({ length: width }, (_, partition) => ({ topic, partition }));
  return places.filter((place) => place.partition !== own % width && link.hasLeader(place));
}

/** Retries while the coordinator completes the previous transaction. A refused request has no effect. */
async function whileConcurrent<T>(
  what: string,
  { producer: { clock }, lost }: SessionOptions,
  ask: () => Promise<T>,
): Promise<T> {
  const startedMs = clock.nowMs();
  for (let pauseMs = 2; ; pauseMs = Math.min(2 * pauseMs, 50)) {
    try {
      return await ask();
    } catch (error) {
      if (!isConcurrent(error) || lost.aborted) throw error;
      if (clock.nowMs() - startedMs > CONCURRENT_MS)
        throw new Error(`${what}: the previous transaction does not end`, { cause: error });
      await delay(pauseMs);
    }
  }
}
