// The embedded log: the whole contract of log.ts inside one process, for the demo and for tests. Nothing
// outlives the process. Buffers are taken over, not copied: a writer leaves them alone after handing them in.
//
// A commit is one synchronous step, so no reader ever sees half of it. Three switches, at the end of the class,
// bring about on purpose what a broker does by accident.
import { setImmediate } from "node:timers/promises";
import type { Outgoing } from "../domain.ts";
import { type Clock, systemClock } from "../runtime/clock.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import type { Lane, Log, Membership, StoredBatch, Subscription, TopicFacts, TopicSpec } from "./log.ts";
import { MemoryGroup } from "./memory/group.ts";
import { Readers } from "./memory/readers.ts";
import { type CommitFault, MemoryStore } from "./memory/store.ts";

const readBatchRecords = 1_000;

export interface MemoryLogOptions {
  readonly clock?: Clock;
  /** Records kept per partition of a topic that is not compacted; up to a quarter more may linger. */
  readonly retainRecords?: number;
  /** How long a successor waits for the lane of a lost partition to return. */
  readonly revokeMs?: number;
}

export function createMemoryLog(options: MemoryLogOptions = {}): MemoryLog {
  return new MemoryLog(options);
}

export class MemoryLog implements Log {
  readonly #store: MemoryStore;
  readonly #revokeMs: number;
  readonly #groupByName = new Map<string, MemoryGroup>();
  readonly #closed = new AbortController();

  constructor({ clock = systemClock, retainRecords = 100_000, revokeMs = 5_000 }: MemoryLogOptions) {
    this.#store = new MemoryStore(clock, retainRecords);
    this.#revokeMs = revokeMs;
  }

  async describeTopics(topics: readonly string[]): Promise<readonly TopicFacts[]> {
    return topics.filter((topic) => this.#store.has(topic)).map((topic) => this.#store.facts(topic));
  }

  async createTopics(specs: readonly TopicSpec[]): Promise<void> {
    for (const spec of specs) this.#store.createTopic(spec);
  }

  async join(subscription: Subscription, lane: Lane): Promise<Membership> {
    let group = this.#groupByName.get(subscription.group);
    if (group === undefined) {
      group = new MemoryGroup(this.#store, this.#revokeMs);
      this.#groupByName.set(subscription.group, group);
    }
    return group.join(subscription, lane);
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
    const { pulse } = this.#store;
    const wake = () => pulse.beat();
    signal.addEventListener("abort", wake);
    try {
      while (!signal.aborted && !this.#closed.signal.aborted) {
        const batch = this.#store.outage === null ? readers.next(readBatchRecords) : undefined;
        if (batch === undefined) await pulse.next();
        else yield batch;
        await setImmediate(); // a long topic must not hold up the event loop
      }
    } finally {
      signal.removeEventListener("abort", wake);
    }
  }

  async *read(topic: string, signal: AbortSignal): AsyncGenerator<StoredBatch> {
    // Taken at once, so that compaction cannot drop a tombstone between two batches.
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

  /** Stops every membership by force and ends every follower. */
  async close(): Promise<void> {
    this.#closed.abort();
    this.#store.pulse.beat();
    for (const group of this.#groupByName.values()) group.dropMembers();
  }

  /**
   * Lets each of the next `count` commits fail once, before or after taking effect. With "retry" the log mends
   * it by itself, as it must; with "fence" the owner has lost the partition and its lane is begun anew.
   */
  failNextCommits(count: number, when: CommitFault["when"], effect: CommitFault["effect"] = "retry"): void {
    for (let i = 0; i < count; i++) this.#store.commitFaults.push({ when, effect });
  }

  /** Fences whoever owns this partition number, in every group; its lane is begun anew once it has returned. */
  fence(partition: number): void {
    for (const group of this.#groupByName.values()) group.fence(partition);
  }

  /** Stops answering, for the reason given, until called with null. Appends are refused, all else waits. */
  setOutage(why: string | null): void {
    this.#store.outage = why;
    this.#store.pulse.beat();
  }

  /** A turn of the event loop; longer while the log is out. Throws when the signal fires or the log closes. */
  async #answers(signal: AbortSignal): Promise<void> {
    const { pulse } = this.#store;
    const wake = () => pulse.beat();
    signal.addEventListener("abort", wake);
    try {
      for (;;) {
        await setImmediate();
        signal.throwIfAborted();
        if (this.#closed.signal.aborted)
          throw new ForecastnetError("LOG_FAILED", "the embedded log was closed");
        if (this.#store.outage === null) return;
        await pulse.next();
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
