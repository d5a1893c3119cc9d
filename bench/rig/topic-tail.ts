// Reads a topic to its present end, as often as asked, as a subscriber of committed data does. Nothing is
// fetched between two calls, so that reading costs nothing while something else is being timed.

import type { Log, StoredBatch, StoredRecord } from "../../src/log/log.ts";
import type { Cluster } from "./cluster.ts";

export class TopicTail {
  readonly #topic: string;
  readonly #cluster: Cluster;
  readonly #stop = new AbortController();
  readonly #batches: AsyncIterator<StoredBatch>;
  readonly #positionByPartition = new Map<number, number>();

  constructor(log: Log, cluster: Cluster, topic: string) {
    this.#topic = topic;
    this.#cluster = cluster;
    this.#batches = log.follow(topic, "earliest", this.#stop.signal)[Symbol.asyncIterator]();
  }

  /**
   * What has not been read yet: `expected` records, which may be on their way, and any beyond them that are
   * there as well. Every partition must end with a transaction's marker.
   */
  async drain(expected: number, read: (record: StoredRecord, partition: number) => void): Promise<void> {
    let found = 0;
    const count = (record: StoredRecord, partition: number): void => {
      found++;
      read(record, partition);
    };
    while (found < expected) await this.#mustRead(count);
    const ends = await this.#cluster.ends(this.#topic);
    while (ends.some((end, partition) => (this.#positionByPartition.get(partition) ?? 0) < end - 1)) {
      await this.#mustRead(count);
    }
  }

  /** Reads the next batch, once there is one. False if the tail was closed before. */
  async next(read: (record: StoredRecord, partition: number) => void): Promise<boolean> {
    const { value, done } = await this.#batches.next();
    if (done === true) return false;
    const { partition, records, nextOffset } = value;
    for (const record of records) read(record, partition);
    this.#positionByPartition.set(partition, nextOffset);
    return true;
  }

  async #mustRead(read: (record: StoredRecord, partition: number) => void): Promise<void> {
    if (!(await this.next(read))) throw new Error(`topic ${this.#topic} cannot be read any further`);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#batches.return?.();
  }
}
