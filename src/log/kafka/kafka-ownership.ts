// The ownership of a partition, from the fence that makes it ours to the close of its producer: waits for our own previous
// handler of this partition, fences every earlier owner, finds the positions, starts fetching, runs the handler, and closes
// the producer.

import { backoff } from "../../runtime/waiting.ts";
import type { PartitionHandler, Subscription } from "../log.ts";
import type { OffsetRange } from "./offset-ranges.ts";
import { OwnedKafkaPartition, type OwnedKafkaPartitionOptions } from "./owned-kafka-partition.ts";
import { type AdoptedPosition, resumePosition } from "./positions.ts";
import type { Transactor } from "./transactor.ts";

/** How often the end of an input is checked before its last records count as lost: for about half a minute. */
const END_CHECKS = 12;

export interface KafkaOwnershipOptions
  extends Pick<
    OwnedKafkaPartitionOptions,
    "partition" | "maxBatchBytes" | "pacer" | "reads" | "resume" | "onGap"
  > {
  /** The input topics that have a partition with this number. */
  readonly topics: readonly string[];
  readonly subscription: Subscription;
  readonly handler: PartitionHandler;
  /** Our previous ownership of the same partition, if it is still closing. */
  readonly previous: Promise<void> | undefined;
  transactor(lost: AbortSignal): Transactor;
  /** The offsets where a partition of an input starts and ends. Waits for brokers that do not answer. */
  findRange(topic: string, partition: number, signal: AbortSignal): Promise<OffsetRange>;
  /** Called when the positions are known and fetching may start. */
  startFetching(): void;
  onError(error: unknown): Promise<void>;
}

export class KafkaOwnership {
  readonly owned: OwnedKafkaPartition;
  readonly topics: readonly string[];
  /** Resolves when the handler has returned and the producer is closed. Never rejects. */
  readonly closed: Promise<void>;
  readonly adopted: AdoptedPosition[] = [];
  readonly #options: KafkaOwnershipOptions;
  readonly #abort = new AbortController();
  readonly #transactor: Transactor;
  #isReading = false;

  constructor(options: KafkaOwnershipOptions) {
    const { topics, subscription, onError } = options;
    this.#options = options;
    this.topics = topics;
    this.#transactor = options.transactor(this.#abort.signal);
    this.owned = new OwnedKafkaPartition({
      ...options,
      maxBatchRecords: subscription.maxBatchRecords,
      positionsTopic: subscription.positionsTopic,
      transactor: this.#transactor,
      lost: this.#abort.signal,
      onFailure: (error) => void onError(error),
    });
    this.closed = this.#run();
  }

  /** Whether the positions are known and the handler runs. */
  get isReading(): boolean {
    return this.#isReading;
  }

  lose(): void {
    this.#abort.abort();
  }

  async #run(): Promise<void> {
    const { previous, handler, startFetching, onError } = this.#options;
    try {
      await previous;
      await this.#findPositions();
      if (this.#abort.signal.aborted) return;
      this.#isReading = true;
      startFetching();
      await handler(this.owned);
    } catch (error) {
      await onError(error);
    } finally {
      await this.#transactor.close();
    }
  }

  async #findPositions(): Promise<void> {
    const { partition, subscription, onGap } = this.#options;
    for (const [topic, opened] of await this.#transactor.open(this.topics)) {
      const { position, topicId, isRecreated, isSameTopic, onlyIn } = opened;
      const range = await this.#findRange(topic, isSameTopic ? position : null);
      if (isRecreated) onGap({ topic, partition, kind: "recreated", position: null, resumedAt: range.first });
      if (position === null) {
        // A recreated topic is read from its start.
        const start = subscription.start === "earliest" || isRecreated ? range.first : range.end;
        // Committed at once, so that a crash before the first batch does not move the start.
        await this.#transactor.commit({ records: [], topic, nextOffset: start });
        this.owned.addInput(topic, start, topicId);
      } else {
        const nextOffset = resumePosition({ topic, partition }, { position, isSameTopic }, range, onGap);
        if (onlyIn) this.adopted.push({ topic, position, onlyIn });
        // Without new input, the next commit may be far away. The next owner must find what we found.
        if (onlyIn || nextOffset !== position)
          await this.#transactor.commit({ records: [], topic, nextOffset });
        this.owned.addInput(topic, nextOffset, topicId);
      }
    }
  }

  /** Records that were read must exist. A broker that has fallen behind may not have them yet, so it gets time. */
  async #findRange(topic: string, reached: number | null): Promise<OffsetRange> {
    const { partition, findRange } = this.#options;
    const { signal } = this.#abort;
    for (let check = 0; ; check++) {
      const range = await findRange(topic, partition, signal);
      if (reached === null || reached <= range.end || check === END_CHECKS || signal.aborted) return range;
      await backoff(check, signal);
    }
  }
}
