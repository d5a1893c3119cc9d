// The life of one owned partition in this process, from fence to close:
//   wait for our own previous lane of it, fence every earlier owner, read the committed positions again,
//   begin where there is none, read, run the member's lane, close the producer.

import type { Lane, Subscription } from "../log.ts";
import type { TableReads } from "./kafka-reads.ts";
import { OwnedKafkaPartition } from "./owned-kafka-partition.ts";
import type { Transactor } from "./transactor.ts";

export interface KafkaLaneOptions {
  readonly partition: number;
  /** The input topics that have a partition of this number. */
  readonly topics: readonly string[];
  readonly subscription: Subscription;
  readonly work: Lane;
  /** An earlier lane of the same partition that is still closing. */
  readonly previous: Promise<void> | undefined;
  readonly reads: TableReads;
  transactor(lost: AbortSignal): Transactor;
  startOffset(topic: string, partition: number, start: "earliest" | "latest"): Promise<number>;
  /** Positions are known: fetching may begin. */
  read(): void;
  /** The queue has room again. */
  resume(): void;
  onError(error: unknown): Promise<void>;
}

export class KafkaLane {
  readonly owned: OwnedKafkaPartition;
  readonly topics: readonly string[];
  /** Settles when the lane has returned and its producer is closed; never rejects. */
  readonly closed: Promise<void>;
  readonly #options: KafkaLaneOptions;
  readonly #abort = new AbortController();
  readonly #transactor: Transactor;
  #isReading = false;

  constructor(options: KafkaLaneOptions) {
    const { partition, topics, subscription, reads, resume } = options;
    this.#options = options;
    this.topics = topics;
    this.#transactor = options.transactor(this.#abort.signal);
    this.owned = new OwnedKafkaPartition({
      partition,
      maxBatchRecords: subscription.maxBatchRecords,
      transactor: this.#transactor,
      lost: this.#abort.signal,
      reads,
      resume,
    });
    this.closed = this.#live();
  }

  /** Whether the positions are known and input may be handed to the lane. */
  get isReading(): boolean {
    return this.#isReading;
  }

  lose(): void {
    this.#abort.abort();
  }

  async #live(): Promise<void> {
    const { previous, work, read, onError } = this.#options;
    try {
      await previous;
      await this.#takePositions();
      if (this.#abort.signal.aborted) return;
      this.#isReading = true;
      read();
      await work(this.owned);
    } catch (error) {
      await onError(error);
    } finally {
      await this.#transactor.close();
    }
  }

  async #takePositions(): Promise<void> {
    const { partition, subscription, startOffset } = this.#options;
    for (const [topic, committed] of await this.#transactor.open(this.topics)) {
      let position = committed;
      if (position === null) {
        // Committed at once: a crash before the first batch must not move the beginning.
        position = await this.#transactor.persist("could not find its beginning", () =>
          startOffset(topic, partition, subscription.start),
        );
        await this.#transactor.commit({ records: [], topic, nextOffset: position });
      }
      this.owned.place(topic, position);
    }
  }
}
