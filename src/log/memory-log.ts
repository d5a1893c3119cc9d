// The embedded log: implements all of `log.ts` inside one process, for the demo and for tests. Nothing outlives the
// process. Buffers are stored without copying, so a writer must not change them afterwards.
//
// A commit is one synchronous step, so no reader sees half of it. The three methods at the end of the public part
// inject the failures that a broker has.

import { setImmediate } from "node:timers/promises";
import type { Outgoing } from "../domain.ts";
import { systemClock, type Timers } from "../runtime/clock.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import type {
  Log,
  Membership,
  PartitionHandler,
  StoredBatch,
  Subscription,
  TopicFacts,
  TopicSpec,
} from "./log.ts";
import { MemoryGroup } from "./memory/group.ts";
import { type CommitFault, MemoryStore, Readers } from "./memory/store.ts";

const readBatchRecords = 1_000;

export interface MemoryLogOptions {
  /** Topics that exist from the start. */
  readonly topics?: readonly TopicSpec[];
  readonly clock?: Timers;
  /** Records retained per partition of a topic that is not compacted, plus up to a quarter more. */
  readonly retainRecords?: number;
  /** How long a successor waits for the handler of a lost partition to return. */
  readonly revokeMs?: number;
}

export function createMemoryLog(options: MemoryLogOptions = {}): MemoryLog {
  return new MemoryLog(options);
}

export class MemoryLog implements Log {
  readonly #store: MemoryStore;
  readonly #clock: Timers;
  readonly #revokeMs: number;
  readonly #groupByName = new Map<string, MemoryGroup>();
  readonly #closed = new AbortController();

  constructor(options: MemoryLogOptions) {
    const { topics = [], clock = systemClock, retainRecords = 100_000, revokeMs = 5_000 } = options;
    this.#store = new MemoryStore(clock, retainRecords);
    this.#clock = clock;
    this.#revokeMs = revokeMs;
    for (const spec of topics) this.#store.createTopic(spec);
  }

  async describeTopics(topics: readonly string[]): Promise<readonly TopicFacts[]> {
    return topics.filter((topic) => this.#store.has(topic)).map((topic) => this.#store.facts(topic));
  }

  async createTopics(specs: readonly TopicSpec[]): Promise<void> {
    for (const spec of specs) this.#store.createTopic(spec);
  }

  async addPartitions(topic: string, partitions: number): Promise<void> {
    this.#store.addPartitions(topic, partitions);
  }

  async join(subscription: Subscription, handler: PartitionHandler): Promise<Membership> {
    let group = this.#groupByName.get(subscription.group);
    if (group === undefined) {
      group = new MemoryGroup(this.#store, this.#clock, this.#revokeMs);
      this.#groupByName.set(subscription.group, group);
    }
    return group.join(subscription, handler);
  }

  async append(records: readonly Outgoing[]): Promise<void> {
    const why = this.#store.outage;
    if (why !== null) throw new ForecastnetError("BROKER_UNREACHABLE", `the embedded log is out: ${why}`);
    this.#store.write(records);
  }

  async *follow(
    topic: string,
    from: "earliest" | "latest",
    signal: AbortSignal,
  ): AsyncGenerator<StoredBatch> {
    const readers = this.#readersOf(topic, from);
    const { changed } = this.#store;
    const wake = () => changed.notifyAll();
    signal.addEventListener("abort", wake);
    try {
      while (!signal.aborted && !this.#closed.signal.aborted) {
        const batch = this.#store.outage === null ? readers.next(readBatchRecords) : undefined;
        if (batch === undefined) await changed.wait();
        else yield batch;
        await setImmediate(); // a long topic must not block the event loop
      }
    } finally {
      signal.removeEventListener("abort", wake);
    }
  }

  async *read(topic: string, signal: AbortSignal): AsyncGenerator<StoredBatch> {
    // Read at once, so that compaction cannot drop a tombstone between two batches.
    const contents = Array.from({ length: this.#store.facts(topic).partitions }, (_, partition) =>
      this.#store.partition(topic, partition).read(0, Number.POSITIVE_INFINITY),
    );
    for (const [partition, stored] of contents.entries()) {
      for (let start = 0; start < stored.length; start += readBatchRecords) {
        await this.#answers(signal);
        const records = stored.slice(start, start + readBatchRecords);
        yield { topic, partition, records, nextOffset: records[records.length - 1].offset + 1 };
      }
    }
    await this.#answers(signal);
  }

  /**
   * True when every partition of the group has an owner that reads its input, has read all there is, and has committed
   * all it wrote. Those who follow a topic may still be a few turns of the event loop behind.
   */
  isSettled(group: string): boolean {
    return this.#groupByName.get(group)?.isSettled ?? false;
  }

  /** Stops every membership by force and ends every follower. */
  async close(): Promise<void> {
    this.#closed.abort();
    this.#store.changed.notifyAll();
    for (const group of this.#groupByName.values()) group.dropMembers();
  }

  /**
   * Makes each of the next `count` commits fail once, before or after it takes effect. With "retry", the log retries by
   * itself. With "fence", the owner loses the partition and its handler is started again.
   */
  failNextCommits(count: number, when: CommitFault["when"], effect: CommitFault["effect"] = "retry"): void {
    for (let i = 0; i < count; i++) this.#store.commitFaults.push({ when, effect });
  }

  /** Fences the owner of this partition number in every group. Its handler is started again after it has returned. */
  fence(partition: number): void {
    for (const group of this.#groupByName.values()) group.fence(partition);
  }

  /** Stops answering for the given reason, until called with null. Appends are refused; everything else waits. */
  setOutage(why: string | null): void {
    this.#store.outage = why;
    this.#store.changed.notifyAll();
  }

  /** Yields to the event loop and waits while the log does not answer. Throws if the signal fires or the log closes. */
  async #answers(signal: AbortSignal): Promise<void> {
    const { changed } = this.#store;
    const wake = () => changed.notifyAll();
    signal.addEventListener("abort", wake);
    try {
      for (;;) {
        await setImmediate();
        signal.throwIfAborted();
        if (this.#closed.signal.aborted)
          throw new ForecastnetError("LOG_FAILED", "the embedded log was closed");
        if (this.#store.outage === null) return;
        await changed.wait();
      }
    } finally {
      signal.removeEventListener("abort", wake);
    }
  }

  #readersOf(topic: string, from: "earliest" | "latest"): Readers {
    const { partitions } = this.#store.facts(topic);
    return new Readers(
      Array.from({ length: partitions }, (_, partition) => {
        const source = this.#store.partition(topic, partition);
        return { topic, partition, source, position: from === "earliest" ? 0 : source.endOffset };
      }),
    );
  }
}
