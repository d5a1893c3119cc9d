// Reads outside any group, each over a connection of its own that closes when the read ends.

import type { Cluster, Kafka } from "kafkajs";
import type { Logger } from "../../runtime/logging.ts";
import type { StoredBatch, StoredRecord } from "../log.ts";
import { reasonOf } from "./kafka-errors.ts";
import {
  type Beginning,
  clusterOf,
  openReader,
  type PartitionReader,
  type ReaderNews,
} from "./partition-reader.ts";
import type { FindTopic } from "./produce-requests.ts";

// How long a broker that has nothing new waits before it says so; anything new ends the wait.
const FOLLOW_WAIT_MS = 250;
const TAIL_WAIT_MS = 1_000;

/** What a lane reads beside its input. */
export interface TableReads {
  /** Ends early when the signal fires. */
  restore(topic: string, partition: number, signal: AbortSignal): AsyncIterable<readonly StoredRecord[]>;
  /** Ends at once when the signal fires, and only then. */
  tail(
    topic: string,
    partition: number,
    fromOffset: number,
    signal: AbortSignal,
  ): AsyncIterable<readonly StoredRecord[]>;
}

interface Place {
  readonly topic: string;
  readonly partitions: readonly number[];
}

export class KafkaReads implements TableReads {
  readonly #kafka: Kafka;
  readonly #findTopic: FindTopic;
  readonly #logger: Logger;
  readonly #news: ReaderNews = {
    open: (transaction) => this.#logger.warn({ ...transaction }, "waiting for a transaction to end"),
    trouble: (topic, reason) => this.#logger.warn({ topic, reason }, "log did not answer, trying again"),
  };

  constructor(kafka: Kafka, findTopic: FindTopic, logger: Logger) {
    this.#kafka = kafka;
    this.#findTopic = findTopic;
    this.#logger = logger;
  }

  async *follow(
    topic: string,
    from: "earliest" | "latest",
    signal: AbortSignal,
  ): AsyncGenerator<StoredBatch> {
    const read = (reader: PartitionReader) => reader.follow(FOLLOW_WAIT_MS, signal);
    yield* this.#run(await this.#wholeTopic(topic), from, read, signal);
  }

  async *read(topic: string, signal: AbortSignal): AsyncGenerator<StoredBatch> {
    const read = (reader: PartitionReader) => reader.toEnd(signal);
    try {
      yield* this.#run(await this.#wholeTopic(topic), "earliest", read, signal);
    } catch (error) {
      signal.throwIfAborted(); // the reason, rather than what it led to
      throw error;
    }
    signal.throwIfAborted();
  }

  async *restore(
    topic: string,
    partition: number,
    signal: AbortSignal,
  ): AsyncGenerator<readonly StoredRecord[]> {
    // To the end of what is written: the last owner's transaction may be committed, and the partition not know it yet.
    const read = (reader: PartitionReader) => reader.toEnd(signal);
    const place = { topic, partitions: [partition] };
    for await (const { records } of this.#run(place, "earliest", read, signal)) yield records;
  }

  async *tail(
    topic: string,
    partition: number,
    fromOffset: number,
    signal: AbortSignal,
  ): AsyncGenerator<readonly StoredRecord[]> {
    const cluster = clusterOf(this.#kafka);
    let underWay: Promise<unknown> = Promise.resolve();
    const unlessFired = <T>(work: Promise<T>): Promise<T | undefined> => {
      underWay = work;
      return raceSignal(work, signal);
    };
    try {
      const place = { topic, partitions: [partition] };
      const reader = await unlessFired(openReader(cluster, place, fromOffset, { signal, news: this.#news }));
      while (reader !== undefined && !signal.aborted) {
        const batches = await unlessFired(reader.next(TAIL_WAIT_MS, signal));
        for (const { records } of batches ?? []) yield records;
      }
    } finally {
      this.#letGo(cluster, underWay);
    }
  }

  async #wholeTopic(topic: string): Promise<Place> {
    const { partitions } = await this.#findTopic(topic);
    return { topic, partitions: Array.from({ length: partitions }, (_, partition) => partition) };
  }

  async *#run(
    place: Place,
    from: Beginning,
    read: (reader: PartitionReader) => AsyncIterable<StoredBatch>,
    signal: AbortSignal,
  ): AsyncGenerator<StoredBatch> {
    const cluster = clusterOf(this.#kafka);
    try {
      yield* read(await openReader(cluster, place, from, { signal, news: this.#news }));
    } finally {
      await cluster.disconnect();
    }
  }

  /**
   * Closes a connection that may still be connecting or waiting for an answer. kafkajs can cut neither short,
   * and a connection closed while it connects would come back: whoever lets go does not wait for it.
   */
  #letGo(cluster: Cluster, underWay: Promise<unknown>): void {
    Promise.allSettled([underWay])
      .then(() => cluster.disconnect())
      .catch((error: unknown) =>
        this.#logger.debug({ reason: reasonOf(error) }, "connection closed with an error"),
      );
  }
}

/** What the work gives, or undefined once the signal fires. Leaves no listener behind: a tail asks for weeks. */
function raceSignal<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const leave = () => resolve(undefined);
    if (signal.aborted) leave();
    signal.addEventListener("abort", leave, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
  });
}
