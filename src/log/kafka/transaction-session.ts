// One producer epoch of a transactional id, and the requests made in it. We do not use kafkajs' producer: it repeats
// requests by itself, which duplicates and loses records on more than one broker. Here every request is sent once,
// and a transaction is committed only after each of its partitions has answered with success exactly once. After any
// failure the session must not be used any more.
//
//   AddPartitionsToTxn ─► Produce, one request per leader ──────┐
//                     └─► AddOffsetsToTxn ─► TxnOffsetCommit ───┴─► EndTxn
//
// Zombies are fenced by the epoch and not by the group's generation (KIP-447), so each input partition has its own
// transactional id. The id is stable across restarts: with a new id, readers of committed data would wait until the
// transaction of the dead one times out.

import { setTimeout as delay } from "node:timers/promises";
import type { Outgoing } from "../../domain.ts";
import type { Commit } from "../log.ts";
import { assertAnswered, type Link, partitionName } from "./cluster-link.ts";
import { assertSuccess, isConcurrent, mostSevere, NoAnswerError } from "./kafka-errors.ts";
import { askOffsets } from "./offset-ranges.ts";
import {
  type Delivery,
  deliver,
  type FindTopic,
  type PlannedBatch,
  Producer,
  type ProducerSettings,
  planRounds,
} from "./producer.ts";
import {
  addOffsetsToTxn,
  addPartitionsToTxn,
  describeTransaction,
  endTxn,
  initProducerId,
  type KafkaRequest,
  type ListedOffset,
  type TopicPartition,
  type TransactionalIdentity,
  txnOffsetCommit,
} from "./wire/protocol.ts";

/** With this many replicas, a partition loses its leader only if all replicas in sync are lost at once. */
const SAFE_REPLICAS = 3;
/** How long the coordinator may take to complete the previous transaction. */
const CONCURRENT_MS = 10_000;

type TransactionOutcome = "committed" | "aborted";

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
  readonly transactions: TransactionSettings;
  readonly producer: ProducerSettings;
  readonly lost: AbortSignal;
  readonly findTopic: FindTopic;
  /** How the last transaction before this epoch ended. Shared by sessions until its hanging records are ended. */
  readonly previous: { outcome: TransactionOutcome | null };
  /** Called after hanging records in these partitions were ended with this outcome. */
  onHanging(partitions: readonly TopicPartition[], outcome: TransactionOutcome): void;
}

export class TransactionSession {
  readonly link: Link;
  readonly identity: TransactionalIdentity;
  readonly #options: SessionOptions;
  readonly #producer: Producer;
  /** Where the last transaction wrote, for partitions with fewer than SAFE_REPLICAS. */
  #written: readonly WrittenOffset[] = [];
  /** Resolves when the last transaction is decided there. */
  #decided: Promise<void> = Promise.resolve();

  private constructor(link: Link, identity: TransactionalIdentity, options: SessionOptions) {
    this.link = link;
    this.identity = identity;
    this.#options = options;
    this.#producer = new Producer(identity, options.producer);
  }

  /** Takes a new epoch, which ends the open transaction of an earlier epoch and refuses its later requests. */
  static async open(options: SessionOptions): Promise<TransactionSession> {
    const { openLink, group, partition, inputs, outputs, spreadOutputs, transactions, previous } = options;
    const transactionalId = `${group}-${partition}`;
    const link = openLink();
    try {
      await link.connect(outputs);
      const places = outputs.map((topic) => ({ topic, partition: partition % link.partitionsOf(topic) }));
      // Throws if a partition has no leader, because ending a transaction there would leave it hanging.
      for (const place of places) link.leaderOf(place);
      const others = spreadOutputs.flatMap((topic) => otherPartitions(link, topic, partition));
      const coordinator = await link.coordinatorOf("transaction", transactionalId);
      const { producerId, epoch } = await whileConcurrent("InitProducerId", options, async () => {
        // Asked before each attempt, because the transaction may still end until the new epoch is assigned.
        previous.outcome =
          (await askTransactionOutcome(link, coordinator, transactionalId)) ?? previous.outcome;
        const answer = await link.ask(coordinator, initProducerId(transactionalId, transactions.timeoutMs));
        assertSuccess(answer.errorCode, "InitProducerId");
        return answer;
      });
      // The coordinator knew every leader that took part in earlier transactions; another broker may be cut off.
      await link.learnFrom(coordinator, [...outputs, ...inputs]);
      const session = new TransactionSession(link, { transactionalId, producerId, epoch }, options);
      await session.#endHanging(await findHanging(link, [...places, ...others]));
      return session;
    } catch (error) {
      await link.close();
      throw error;
    }
  }

  close(): Promise<void> {
    return this.link.close();
  }

  /** Writes the records and, with `move`, the group's offset. Aborts and returns false if the partition was lost. */
  async transact(records: readonly Outgoing[], move: Commit | null): Promise<boolean> {
    const { lost, findTopic } = this.#options;
    const rounds = await planRounds(records, findTopic);
    const places = rounds[0];
    await this.link.connect([...new Set(places.map(({ topic }) => topic))]);
    await this.#decided;
    await allOf([this.#addPartitions(places), move === null ? null : this.#addOffsets()]);
    await allOf([this.#produce(rounds), move === null ? null : this.#commitOffset(move)]);
    // If lost, aborted at once, so that subscribers need not wait for the next owner to do it.
    const isOurs = !lost.aborted;
    await this.#end(isOurs ? "committed" : "aborted");
    // Checked at once, while the next batch is on its way. The next transaction throws what goes wrong.
    this.#decided = waitUntilDecided(this.link, this.#written);
    this.#decided.catch(() => undefined);
    return isOurs;
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

  async #commitOffset({ topic, nextOffset }: Commit): Promise<void> {
    const { group, partition } = this.#options;
    const offsets = [{ topic, partition, offset: nextOffset }];
    const coordinator = await this.link.coordinatorOf("group", group);
    const answers = await this.link.ask(coordinator, txnOffsetCommit(this.identity, group, offsets));
    assertAnswered(offsets, answers, "TxnOffsetCommit");
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

/** Waits until all requests have ended, so that none is under way when the transaction ends. */
async function allOf(requests: readonly (Promise<void> | null)[]): Promise<void> {
  const parts = await Promise.allSettled(requests);
  const failures = parts.flatMap((part) => (part.status === "rejected" ? [part.reason] : []));
  if (failures.length > 0) throw mostSevere(failures);
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

// Hanging transactions. When Kafka's coordinator ends a transaction, it treats a partition without a leader as
// deleted and writes no marker there (TransactionMarkerChannelManager, seen on 4.3). After a power cut this is the
// rule rather than the exception. Such records stay undecided: readers of committed data wait behind them forever,
// and the next transaction of the same producer decides them along with its own, so aborted forecasts could come
// back.
//
// Whoever takes a new epoch therefore finds hanging records and ends them as their transaction ended: an empty
// transaction of the same producer writes the missing marker. Where nothing hangs, such a marker has no effect. A new
// transaction waits until the previous one is decided; if it were aborted, hanging records would be aborted with it.

/** A partition that a transaction wrote to, with the offset of one of its records. */
interface WrittenOffset extends TopicPartition {
  readonly offset: number;
}

const TRANSACTIONAL_ID_NOT_FOUND = 105;
/** Pauses between checks of a transaction that was just committed; its markers are being written. */
const DECIDED_SOON_MS = [2, 4, 8, 16, 32, 64, 128, 256];
/** Pauses between checks for hanging records; an active transaction of another producer advances meanwhile. */
const CHECK_AGAIN_MS = [20, 80, 200];

/**
 * How the last transaction of the id ended, or will end when its producer is fenced. Must be asked before the fence,
 * which makes the coordinator forget it. Null if there is none or the coordinator does not know.
 */
async function askTransactionOutcome(
  link: Link,
  coordinator: string,
  transactionalId: string,
): Promise<TransactionOutcome | null> {
  if (!(await link.supports(coordinator, "DescribeTransactions"))) return null;
  const [described] = await link.ask(coordinator, describeTransaction(transactionalId));
  if (described === undefined || described.errorCode === TRANSACTIONAL_ID_NOT_FOUND) return null;
  assertSuccess(described.errorCode, "DescribeTransactions");
  if (described.state === "Empty") return null;
  return described.state === "PrepareCommit" || described.state === "CompleteCommit"
    ? "committed"
    : "aborted";
}

/** Waits until the records at these offsets are decided. Throws if that takes too long; a new epoch then follows. */
async function waitUntilDecided(link: Link, written: readonly WrittenOffset[]): Promise<void> {
  let undecided = written;
  for (const pauseMs of DECIDED_SOON_MS) {
    const endByName = offsetByName(await askOffsets(link, undecided, "stable"));
    undecided = undecided.filter((place) => (endByName.get(partitionName(place)) as number) <= place.offset);
    if (undecided.length === 0) return;
    await delay(pauseMs);
  }
  throw new NoAnswerError(
    `the previous transaction has not ended on ${undecided.map(partitionName).join(", ")}`,
  );
}

/** The partitions whose undecided records stay undecided over several checks. */
async function findHanging(
  link: Link,
  places: readonly TopicPartition[],
): Promise<readonly TopicPartition[]> {
  let suspects = await findUndecided(link, places);
  for (const pauseMs of CHECK_AGAIN_MS) {
    if (suspects.length === 0) break;
    await delay(pauseMs);
    const stillByName = offsetByName(await findUndecided(link, suspects));
    suspects = suspects.filter((suspect) => stillByName.get(partitionName(suspect)) === suspect.offset);
  }
  return suspects.map(({ topic, partition }) => ({ topic, partition }));
}

/** The partitions with undecided records, each with the offset of the first one. */
async function findUndecided(
  link: Link,
  places: readonly TopicPartition[],
): Promise<readonly ListedOffset[]> {
  // In this order, so that a record decided between the two answers does not look undecided.
  const writtenByName = offsetByName(await askOffsets(link, places, "latest"));
  const decided = await askOffsets(link, places, "stable");
  return decided.filter((place) => place.offset < (writtenByName.get(partitionName(place)) as number));
}

function offsetByName(offsets: readonly ListedOffset[]): ReadonlyMap<string, number> {
  return new Map(offsets.map((listed) => [partitionName(listed), listed.offset]));
}
