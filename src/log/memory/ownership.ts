// One member's ownership of one partition number, and the lane that lives as long as it does. Once `lost` has
// fired there is no way back: reading has ended and commits are refused, since a successor may be at work.
import { setImmediate } from "node:timers/promises";
import type { Outgoing } from "../../domain.ts";
import { PartitionLostError } from "../../runtime/errors.ts";
import type { Commit, Lane, OwnedPartition, StoredBatch, StoredRecord, Subscription } from "../log.ts";
import type { Positions } from "./positions.ts";
import { Readers } from "./readers.ts";
import type { MemoryStore } from "./store.ts";

const chunkRecords = 1_000;

/** The member a lane belongs to. */
export interface LaneHost {
  readonly subscription: Subscription;
  readonly lane: Lane;
  readonly isStopping: boolean;
  fail(error: unknown): void;
}

export interface OwnershipOptions {
  readonly store: MemoryStore;
  readonly positions: Positions;
  readonly onLost: () => void;
}

export class Ownership<Host extends LaneHost = LaneHost> implements OwnedPartition {
  readonly host: Host;
  readonly partition: number;
  /** Fulfilled once the lane has returned, whichever way. */
  readonly settled: Promise<void>;
  readonly #options: OwnershipOptions;
  readonly #readers: Readers;
  readonly #lost = new AbortController();

  constructor(host: Host, partition: number, options: OwnershipOptions) {
    this.host = host;
    this.partition = partition;
    this.#options = options;
    this.#readers = new Readers(options.positions.readers(host.subscription, partition));
    this.settled = this.#run();
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  get isLost(): boolean {
    return this.#lost.signal.aborted;
  }

  get lag(): number {
    return this.#readers.lag;
  }

  lose(): void {
    if (this.isLost) return;
    this.#lost.abort();
    this.#options.store.pulse.beat();
    this.#options.onLost();
  }

  async *restore(topic: string): AsyncGenerator<readonly StoredRecord[]> {
    // Taken at once, so that compaction cannot drop a tombstone between two chunks.
    const records = this.#options.store.partition(topic, this.partition).read(0, Number.POSITIVE_INFINITY);
    for (let start = 0; start < records.length; start += chunkRecords) {
      await this.#roundTrip(() => this.isLost);
      if (this.isLost) throw new PartitionLostError(this.partition, `taken over while it restored ${topic}`);
      yield records.slice(start, start + chunkRecords);
    }
  }

  async *tail(topic: string, fromOffset: number): AsyncGenerator<readonly StoredRecord[]> {
    const { partition } = this;
    const source = this.#options.store.partition(topic, partition);
    const readers = new Readers([{ topic, partition, source, position: fromOffset }]);
    for await (const { records } of this.#readOn(readers, chunkRecords)) yield records;
  }

  batches(): AsyncGenerator<StoredBatch> {
    return this.#readOn(this.#readers, this.host.subscription.maxBatchRecords);
  }

  commit({ records, topic, nextOffset }: Commit): Promise<void> {
    const { positions } = this.#options;
    return this.#transact(records, () => positions.set(topic, this.partition, nextOffset));
  }

  write(records: readonly Outgoing[]): Promise<void> {
    return this.#transact(records, () => {});
  }

  async #transact(records: readonly Outgoing[], move: () => void): Promise<void> {
    const { store } = this.#options;
    // A client of a broker finds this out by reading the committed position again.
    let isCommitted = false;
    for (;;) {
      await this.#roundTrip(() => this.isLost);
      if (this.isLost) throw new PartitionLostError(this.partition, "its ownership ended before the commit");
      if (isCommitted) return;
      const fault = store.commitFaults.shift();
      if (fault?.when !== "before") {
        store.write(records);
        move();
        isCommitted = true;
      }
      if (fault === undefined) return;
      if (fault.effect === "fence") this.lose();
    }
  }

  async #run(): Promise<void> {
    await setImmediate(); // so that a member has its Membership before its lanes start
    try {
      if (!this.isLost) await this.host.lane(this);
    } catch (error) {
      if (!(error instanceof PartitionLostError)) this.host.fail(error);
    }
  }

  /** What is there and what is still to come, until the partition is lost or its member drains. */
  async *#readOn(readers: Readers, maxRecords: number): AsyncGenerator<StoredBatch> {
    const isOver = () => this.isLost || this.host.isStopping;
    for (;;) {
      await this.#roundTrip(isOver);
      if (isOver()) return;
      const batch = readers.next(maxRecords);
      if (batch === undefined) await this.#options.store.pulse.next();
      else yield batch;
    }
  }

  /** A turn of the event loop, so that a busy lane starves nobody; longer while the log does not answer. */
  async #roundTrip(isOver: () => boolean): Promise<void> {
    const { store } = this.#options;
    await setImmediate();
    while (store.outage !== null && !isOver()) await store.pulse.next();
  }
}
