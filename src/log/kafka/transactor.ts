// The transactional producer of one input partition. kafkajs speaks no KIP-447, so the only thing that can
// fence a zombie is the producer epoch, and that takes one transactional id per input partition.
//
// A commit whose answer was lost is neither repeated blindly nor given up: a new epoch settles what was
// open, and the committed position then tells whether it had gone through.

import type { Kafka, Producer } from "kafkajs";
import type { Outgoing } from "../../domain.ts";
import { ForecastnetError, PartitionLostError } from "../../runtime/errors.ts";
import { backoff } from "../../runtime/waiting.ts";
import type { Commit } from "../log.ts";
import { isFenced, isPassing, isTooLarge, reasonOf } from "./kafka-errors.ts";
import { cutRequests, type FindTopic, largestRecordError } from "./produce-requests.ts";
import { logFailure, type NeededRights, reasonWithRights, rightOnTopics } from "./rights.ts";

export interface TransactionSettings {
  /** The broker aborts one that is open for longer. */
  readonly timeoutMs: number;
  /** Hears how each one ended. */
  readonly onEnd: (outcome: "committed" | "aborted") => void;
}

export interface TransactorOptions {
  readonly kafka: Kafka;
  readonly group: string;
  readonly partition: number;
  readonly transactions: TransactionSettings;
  readonly lost: AbortSignal;
  readonly findTopic: FindTopic;
  /** Where the group stands in this partition of a topic; null when it never committed. */
  committed(topic: string): Promise<number | null>;
  /** Resolves once the group has confirmed, after the call, that this member is still one of it. */
  confirmMembership(): Promise<void>;
  onTrouble(reason: string): void;
}

export class Transactor {
  readonly #options: TransactorOptions;
  readonly #positionByTopic = new Map<string, number | null>();
  #producer: Producer | undefined;

  constructor(options: TransactorOptions) {
    this.#options = options;
  }

  /**
   * Takes the partition over and tells where each topic stands. The order matters: a position read before
   * the earlier owner was fenced may still move.
   */
  async open(topics: readonly string[]): Promise<ReadonlyMap<string, number | null>> {
    await this.persist("could not be fenced", () => this.#fence());
    for (const topic of topics) {
      const position = await this.persist("could not read its position", () =>
        this.#options.committed(topic),
      );
      this.#positionByTopic.set(topic, position);
    }
    return this.#positionByTopic;
  }

  async commit(commit: Commit): Promise<void> {
    try {
      await this.#transact(commit.records, commit);
    } catch (error) {
      await this.#recover(commit, error);
    }
    this.#positionByTopic.set(commit.topic, commit.nextOffset);
  }

  /** Moves no position, so that a lost answer leaves open what became of it: then it is written again. */
  async write(records: readonly Outgoing[]): Promise<void> {
    try {
      await this.#transact(records, null);
    } catch (error) {
      await this.#recover({ records }, error);
    }
  }

  async close(): Promise<void> {
    const producer = this.#producer;
    this.#producer = undefined;
    // What a closing connection has to say changes nothing: the transaction's fate is decided by now.
    await producer?.disconnect().catch((error: unknown) => this.#options.onTrouble(reasonOf(error)));
  }

  async #recover(commit: Commit | Pick<Commit, "records">, firstError: unknown): Promise<void> {
    const { lost, confirmMembership, onTrouble, transactions } = this.#options;
    const move = "topic" in commit ? commit : null;
    let error = firstError;
    for (let attempt = 0; ; attempt++) {
      transactions.onEnd("aborted");
      if (error instanceof ForecastnetError && !error.retryable) throw error;
      if (isFenced(error))
        throw new PartitionLostError(this.#options.partition, "its producer was fenced", error);
      if (isTooLarge(error)) throw await largestRecordError(commit.records, this.#options.findTopic, error);
      if (!isPassing(error)) throw this.#failure("could not commit", error, commit.records);
      onTrouble(reasonOf(error));
      await backoff(attempt, lost);
      try {
        // A member the group has dropped must not fence its successor.
        await confirmMembership();
        await this.#fence();
        if (move !== null && (await this.#hasMoved(move))) return;
        await this.#transact(commit.records, move);
        return;
      } catch (next) {
        if (lost.aborted) throw this.#lostError();
        error = next;
      }
    }
  }

  /** Whether the commit went through after all. */
  async #hasMoved({ topic, nextOffset }: Commit): Promise<boolean> {
    const before = this.#positionByTopic.get(topic) ?? null;
    const position = await this.#options.committed(topic);
    // Nobody moves it back: a coordinator that has just come up does not know our last commit yet.
    if (before !== null && (position === null || position < before))
      throw Object.assign(new Error(`the position of ${topic} is not known yet`), { retriable: true });
    if (position !== before && position !== nextOffset)
      throw this.#lostError(`its position moved to ${position}`);
    // A commit that leaves the position where it is cannot be told by it, and is made again.
    return position !== before;
  }

  async #transact(records: readonly Outgoing[], move: Commit | null): Promise<void> {
    if (this.#options.lost.aborted) throw this.#lostError();
    if (this.#producer === undefined) throw new Error("open() comes before the first commit");
    const requests = await cutRequests(records, this.#options.findTopic);
    const transaction = await this.#producer.transaction();
    // Records before offsets: the reverse order runs into CONCURRENT_TRANSACTIONS.
    for (const topicMessages of requests) await transaction.sendBatch({ topicMessages, acks: -1 });
    if (move !== null) {
      const { group: consumerGroupId, partition } = this.#options;
      const partitions = [{ partition, offset: String(move.nextOffset) }];
      await transaction.sendOffsets({ consumerGroupId, topics: [{ topic: move.topic, partitions }] });
    }
    await transaction.commit();
    this.#options.transactions.onEnd("committed");
  }

  /**
   * A new producer epoch ends an earlier owner's open transaction and fails its later ones. Only an (empty)
   * transaction brings that about; connecting alone does not.
   */
  async #fence(): Promise<void> {
    await this.close();
    const { kafka, group, partition, transactions } = this.#options;
    const producer = kafka.producer({
      // Stable across restarts: readers of committed data would otherwise wait for a dead id's time-out.
      transactionalId: `${group}-${partition}`,
      idempotent: true,
      maxInFlightRequests: 1,
      transactionTimeout: transactions.timeoutMs,
      createPartitioner:
        () =>
        ({ message }) =>
          message.partition ?? 0,
      // kafkajs waits 300 ms by default before its first retry, which back-to-back transactions run into.
      retry: { initialRetryTime: 10, retries: 8 },
    });
    this.#producer = producer;
    await producer.connect();
    const transaction = await producer.transaction();
    await transaction.abort();
  }

  /** Tries again whatever passes, for as long as the partition is ours. */
  async persist<T>(complaint: string, act: () => Promise<T>): Promise<T> {
    const { lost, onTrouble } = this.#options;
    for (let attempt = 0; !lost.aborted; attempt++) {
      try {
        return await act();
      } catch (error) {
        // Two owners that open at the same moment fence each other; the group decides who stays.
        if (!isPassing(error) && !isFenced(error)) throw this.#failure(complaint, error);
        onTrouble(reasonWithRights(error, this.#neededRights([])));
        await backoff(attempt, lost);
      }
    }
    throw this.#lostError();
  }

  #neededRights(records: readonly Outgoing[]): NeededRights {
    const { group } = this.#options;
    return {
      group: `Read on group ${group}`,
      transactionalId: `Write on transactional ids that begin with ${group}-`,
      topic: rightOnTopics(
        "Write",
        records.map(({ topic }) => topic),
      ),
    };
  }

  #failure(what: string, cause: unknown, records: readonly Outgoing[] = []): ForecastnetError {
    const { partition } = this.#options;
    const reason = reasonWithRights(cause, this.#neededRights(records));
    return logFailure(`partition ${partition} ${what}: ${reason}`, cause, { partition });
  }

  #lostError(why = "its ownership ended"): PartitionLostError {
    return new PartitionLostError(this.#options.partition, why);
  }
}
