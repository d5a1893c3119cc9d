// Consumer groups of the embedded log: members, and who owns which partition number. A partition has one ownership at a
// time. A successor starts when the predecessor's handler has returned or its time is over. Once `lost` has fired, an
// ownership cannot be regained: reading has ended and commits are refused, because a successor may be at work.

import { setImmediate } from "node:timers/promises";
import type { Outgoing } from "../../domain.ts";
import type { Timers } from "../../runtime/clock.ts";
import { ForecastnetError, PartitionLostError } from "../../runtime/errors.ts";
import { settlesWithin } from "../../runtime/waiting.ts";
import type {
  Commit,
  Membership,
  MembershipStatus,
  OwnedPartition,
  PartitionHandler,
  StoredBatch,
  StoredRecord,
  Subscription,
} from "../log.ts";
import { spreadPartitions } from "../spread-partitions.ts";
import { type MemoryStore, type Reader, Readers } from "./store.ts";

/** Who should own a partition, and who does. */
interface PartitionSlot {
  member: MemoryMember | undefined;
  ownership: Ownership | undefined;
  isChanging: boolean;
}

export class MemoryGroup {
  readonly #store: MemoryStore;
  readonly #clock: Timers;
  readonly #revokeMs: number;
  readonly #positions: Positions;
  readonly #members = new Set<MemoryMember>();
  /** By partition number. */
  readonly #assignments: PartitionSlot[] = [];

  constructor(store: MemoryStore, clock: Timers, revokeMs: number) {
    this.#store = store;
    this.#clock = clock;
    this.#revokeMs = revokeMs;
    this.#positions = new Positions(store);
  }

  get isSettled(): boolean {
    return this.#assignments.every(
      ({ ownership, isChanging }) => ownership?.isSettled === true && !isChanging,
    );
  }

  join(subscription: Subscription, handler: PartitionHandler): MemoryMember {
    const partitions = Math.max(...subscription.inputs.map((topic) => this.#store.facts(topic).partitions));
    while (this.#assignments.length < partitions) {
      this.#assignments.push({ member: undefined, ownership: undefined, isChanging: false });
    }
    const member: MemoryMember = new MemoryMember(subscription, handler, {
      store: this.#store,
      clock: this.#clock,
      owned: () =>
        this.#assignments.flatMap(({ ownership }) => (ownership?.member === member ? [ownership] : [])),
      onLeave: () => this.#leave(member),
    });
    this.#members.add(member);
    this.#rebalance();
    return member;
  }

  fence(partition: number): void {
    this.#assignments[partition]?.ownership?.lose();
  }

  dropMembers(): void {
    for (const member of this.#members) member.drop();
  }

  #leave(member: MemoryMember): void {
    this.#members.delete(member);
    this.#rebalance();
  }

  #rebalance(): void {
    const current = this.#assignments.map(({ member }) => member);
    const owners = spreadPartitions(this.#assignments.length, [...this.#members], current);
    for (const [partition, assignment] of this.#assignments.entries()) {
      assignment.member = owners[partition];
      void this.#transfer(assignment, partition);
    }
  }

  /** Transfers a partition to its assigned member, which may change again meanwhile. */
  async #transfer(assignment: PartitionSlot, partition: number): Promise<void> {
    if (assignment.isChanging) return;
    assignment.isChanging = true;
    while (assignment.ownership?.member !== assignment.member || assignment.ownership?.isLost) {
      assignment.ownership?.lose();
      if (assignment.ownership !== undefined)
        await settlesWithin(assignment.ownership.settled, this.#revokeMs, this.#clock);
      assignment.ownership = assignment.member && this.#begin(assignment.member, assignment, partition);
    }
    assignment.isChanging = false;
  }

  #begin(member: MemoryMember, assignment: PartitionSlot, partition: number): Ownership {
    return new Ownership(member, partition, {
      store: this.#store,
      positions: this.#positions,
      onLost: () => void this.#transfer(assignment, partition),
    });
  }
}

interface MemberOptions {
  readonly store: MemoryStore;
  readonly clock: Timers;
  owned(): readonly Ownership[];
  onLeave(): void;
}

/** One member of a group, as its worker sees it. */
class MemoryMember implements Membership {
  readonly subscription: Subscription;
  readonly handler: PartitionHandler;
  readonly done: Promise<void>;
  readonly #options: MemberOptions;
  #settleDone: { resolve(): void; reject(error: unknown): void } | undefined;
  #stopped: Promise<void> | undefined;
  #isJoined = true;

  constructor(subscription: Subscription, handler: PartitionHandler, options: MemberOptions) {
    this.subscription = subscription;
    this.handler = handler;
    this.#options = options;
    this.done = new Promise((resolve, reject) => {
      this.#settleDone = { resolve, reject };
    });
    // A caller that reads `done` late or never must not crash the process.
    this.done.catch(() => undefined);
  }

  get isStopping(): boolean {
    return this.#stopped !== undefined;
  }

  status(): MembershipStatus {
    const owned = this.#options.owned();
    return {
      isJoined: this.#isJoined,
      partitions: owned.map(({ partition }) => partition),
      lag: owned.reduce((sum, { lag }) => sum + lag, 0),
      outage: this.#options.store.outage,
    };
  }

  fail(error: unknown): void {
    this.#settleDone?.reject(error);
  }

  stop(graceMs: number): Promise<void> {
    this.#stopped ??= this.#drain(graceMs);
    this.#options.store.changed.notifyAll();
    return this.#stopped;
  }

  /** Leaves at once. Unsettled input is left to the next owner. */
  drop(): void {
    this.#isJoined = false;
    this.#options.onLeave();
    this.#settleDone?.resolve();
  }

  async #drain(graceMs: number): Promise<void> {
    const owned = this.#options.owned();
    const handlers = Promise.all(owned.map(({ settled }) => settled));
    const isDrained = await settlesWithin(handlers, graceMs, this.#options.clock);
    this.drop();
    if (isDrained) return;
    const partitions = owned.map(({ partition }) => partition).join(", ");
    throw new ForecastnetError(
      "SHUTDOWN_FORCED",
      `lanes of partitions ${partitions} of group ${this.subscription.group} were still busy after ${graceMs} ms`,
    );
  }
}

const chunkRecords = 1_000;

interface OwnershipOptions {
  readonly store: MemoryStore;
  readonly positions: Positions;
  readonly onLost: () => void;
}

/** One member's ownership of one partition number; lives as long as its handler runs. */
class Ownership implements OwnedPartition {
  readonly member: MemoryMember;
  readonly partition: number;
  /** Resolves when the handler has returned or thrown. */
  readonly settled: Promise<void>;
  readonly #options: OwnershipOptions;
  readonly #readers: Readers;
  readonly #lost = new AbortController();
  #isReading = false;
  #isWriting = false;

  constructor(member: MemoryMember, partition: number, options: OwnershipOptions) {
    this.member = member;
    this.partition = partition;
    this.#options = options;
    this.#readers = new Readers(options.positions.readers(member.subscription, partition));
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

  /** True when the handler reads its input, has read all there is, and has committed all it wrote. */
  get isSettled(): boolean {
    if (!this.#isReading || this.#isWriting || this.isLost || this.lag > 0) return false;
    return this.#options.positions.areAt(this.#readers.all);
  }

  lose(): void {
    if (this.isLost) return;
    this.#lost.abort();
    this.#options.store.changed.notifyAll();
    this.#options.onLost();
  }

  async *restore(topic: string): AsyncGenerator<readonly StoredRecord[]> {
    // Read at once, so that compaction cannot drop a tombstone between two chunks.
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
    this.#isReading = true;
    return this.#readOn(this.#readers, this.member.subscription.maxBatchRecords);
  }

  commit({ records, topic, nextOffset }: Commit): Promise<void> {
    const { positions } = this.#options;
    return this.#transact(records, () => positions.set(topic, this.partition, nextOffset));
  }

  write(records: readonly Outgoing[]): Promise<void> {
    return this.#transact(records, () => {});
  }

  async #transact(records: readonly Outgoing[], move: () => void): Promise<void> {
    this.#isWriting = true;
    try {
      await this.#retryCommit(records, move);
    } finally {
      this.#isWriting = false;
    }
  }

  async #retryCommit(records: readonly Outgoing[], move: () => void): Promise<void> {
    const { store } = this.#options;
    // A Kafka client learns this by reading the committed position again.
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
    await setImmediate(); // so that `join` returns before the handler starts
    try {
      if (!this.isLost) await this.member.handler(this);
    } catch (error) {
      if (!(error instanceof PartitionLostError)) this.member.fail(error);
    }
  }

  /** Yields existing and new records until the partition is lost or its member drains. */
  async *#readOn(readers: Readers, maxRecords: number): AsyncGenerator<StoredBatch> {
    const isOver = () => this.isLost || this.member.isStopping;
    for (;;) {
      await this.#roundTrip(isOver);
      if (isOver()) return;
      const batch = readers.next(maxRecords);
      if (batch === undefined) await this.#options.store.changed.wait();
      else yield batch;
    }
  }

  /** Yields to the event loop, so that a busy handler starves no other. Waits while the log does not answer. */
  async #roundTrip(isOver: () => boolean): Promise<void> {
    const { store } = this.#options;
    await setImmediate();
    while (store.outage !== null && !isOver()) await store.changed.wait();
  }
}

/** The committed positions of one group. */
class Positions {
  readonly #store: MemoryStore;
  readonly #offsetByPartition = new Map<string, number>();

  constructor(store: MemoryStore) {
    this.#store = store;
  }

  areAt(readers: readonly Reader[]): boolean {
    return readers.every(
      ({ topic, partition, position }) => this.#offsetByPartition.get(`${topic}/${partition}`) === position,
    );
  }

  set(topic: string, partition: number, offset: number): void {
    this.#offsetByPartition.set(`${topic}/${partition}`, offset);
  }

  /** Readers of this partition number of every input that has it, starting at the committed positions. */
  readers({ inputs, start }: Subscription, partition: number): Reader[] {
    const present = inputs.filter((topic) => partition < this.#store.facts(topic).partitions);
    return present.map((topic) => {
      const source = this.#store.partition(topic, partition);
      const first = start === "earliest" ? 0 : source.endOffset;
      const position = this.#offsetByPartition.get(`${topic}/${partition}`) ?? first;
      // Stored, because "latest" means the end when the group first read the topic.
      this.set(topic, partition, position);
      return { topic, partition, source, position };
    });
  }
}
