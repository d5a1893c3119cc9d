// One worker's own connection to the embedded log that all workers of a test share. A test can cut it, as a crash does:
// from then on the worker's lanes read nothing and commit nothing, and the worker has not left the group. A test can
// also hold commits or restores back, and can count the batches that pass.

import type { Outgoing } from "../../../src/domain.ts";
import type {
  Log,
  Membership,
  OwnedPartition,
  PartitionHandler,
  Subscription,
} from "../../../src/log/log.ts";
import type { MemoryLog } from "../../../src/log/memory-log.ts";
import { fired } from "../../../src/runtime/waiting.ts";

interface LaneTraffic {
  isReading: boolean;
  taken: number;
  settled: number;
}

export class Connection implements Log {
  readonly #log: MemoryLog;
  readonly #cut = new AbortController();
  readonly #trafficByPartition = new Map<number, LaneTraffic>();
  readonly #holdByAct = new Map<"commit" | "restore", Promise<void>>();
  #membership: Membership | undefined;
  /** The error that every commit fails with; null when none fails. */
  commitFailure: Error | null = null;

  constructor(log: MemoryLog) {
    this.#log = log;
  }

  describeTopics = (topics: readonly string[]) => this.#log.describeTopics(topics);
  createTopics: Log["createTopics"] = (specs) => this.#log.createTopics(specs);
  addPartitions: Log["addPartitions"] = (topic, partitions) => this.#log.addPartitions(topic, partitions);
  append = (records: readonly Outgoing[]) => this.#log.append(records);
  follow: Log["follow"] = (topic, from, signal) => this.#log.follow(topic, from, signal);
  read: Log["read"] = (topic, signal) => this.#log.read(topic, signal);

  async join(subscription: Subscription, lane: PartitionHandler): Promise<Membership> {
    if (this.#cut.signal.aborted) throw new Error("the connection was cut before the worker could join");
    const mortal: PartitionHandler = (owned) =>
      Promise.race([lane(this.#watched(owned)), fired(this.#cut.signal)]);
    this.#membership = await this.#log.join(subscription, mortal);
    return this.#membership;
  }

  /** The log outlives each of its workers. */
  async close(): Promise<void> {}

  async cut(): Promise<void> {
    this.#cut.abort();
    // Resolves at once, since the lanes end with the cut; a stop that failed before stays failed.
    await Promise.allSettled([this.#membership?.stop(1_000)]);
  }

  /** The group considers the worker dead and gives its partitions away; the worker does not know. */
  async evict(): Promise<void> {
    await Promise.allSettled([this.#membership?.stop(0)]); // rejects when a lane was busy
  }

  /** Holds the next commits or restores back until the returned function is called. */
  hold(act: "commit" | "restore"): () => void {
    let release = () => {};
    this.#holdByAct.set(
      act,
      new Promise((resolve) => {
        release = resolve;
      }),
    );
    return () => release();
  }

  get partitions(): readonly number[] {
    return this.#membership?.status().partitions ?? [];
  }

  /** Batches the lanes have taken from the log and not yet settled. */
  get unsettledBatches(): number {
    return this.#sum(({ taken, settled }) => taken - settled);
  }

  get takenBatches(): number {
    return this.#sum(({ taken }) => taken);
  }

  get hasJoined(): boolean {
    return this.#membership !== undefined;
  }

  get isReading(): boolean {
    return this.partitions.every((partition) => this.#trafficByPartition.get(partition)?.isReading);
  }

  #sum(count: (traffic: LaneTraffic) => number): number {
    return [...this.#trafficByPartition.values()].reduce((sum, traffic) => sum + count(traffic), 0);
  }

  #watched(owned: OwnedPartition): OwnedPartition {
    const traffic: LaneTraffic = { isReading: false, taken: 0, settled: 0 };
    this.#trafficByPartition.set(owned.partition, traffic);
    const { partition, lost } = owned;
    const failIfTold = () => {
      if (this.commitFailure !== null) throw this.commitFailure;
    };
    const pass = (act: "commit" | "restore") => this.#pass(act);
    return {
      partition,
      lost,
      get lag() {
        return owned.lag;
      },
      async *restore(topic) {
        await pass("restore");
        yield* owned.restore(topic);
      },
      // The membership of a cut or evicted worker has ended, and the tail with it.
      tail: (topic, fromOffset) => owned.tail(topic, fromOffset),
      async *batches() {
        traffic.isReading = true;
        for await (const batch of owned.batches()) {
          traffic.taken++;
          yield batch;
        }
      },
      async write(records) {
        await pass("commit");
        await owned.write(records);
      },
      async commit(commit) {
        await pass("commit");
        failIfTold();
        await owned.commit(commit);
        traffic.settled++;
      },
    };
  }

  /** Waits while the act is held; never resolves once the connection is cut. */
  async #pass(act: "commit" | "restore"): Promise<void> {
    await this.#holdByAct.get(act);
    if (this.#cut.signal.aborted) await new Promise<never>(() => {});
  }
}
