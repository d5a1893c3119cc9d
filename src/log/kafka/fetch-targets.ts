// The readers that a fetcher serves, each a target of one partition, with the broker that leads it. Decides what to ask a
// broker for, and in which order: a broker fills its answer in the order of the request, so a target that received
// records goes to the end, and none starves behind partitions that are always full.

import { partitionName } from "./cluster-link.ts";
import type { OffsetRange } from "./offset-ranges.ts";
import type { CommittedRecords } from "./wire/fetched-records.ts";
import type { FetchFrom, TopicPartition } from "./wire/protocol.ts";

const PARTITION_BYTES = 2 * 1024 * 1024;

export interface FetchedRecords extends CommittedRecords {
  readonly highWatermark: number;
  readonly lastStableOffset: number;
}

export interface FetchTarget extends TopicPartition {
  /** The next offset to fetch; null while nothing is wanted. */
  readonly wanted: number | null;
  /** The largest decompressed record batch to read. */
  readonly maxBatchBytes: number;
  /** Takes the records fetched from the wanted offset; there may be none. */
  take(fetched: FetchedRecords): void;
  /** The id of the expected topic; null if the brokers are too old to assign ids. */
  readonly topicId?: string | null;
  /** The topic was deleted or recreated. */
  replaced?(): void;
  /** The wanted offset does not exist. The target chooses another one. */
  outOfRange(range: OffsetRange): void;
  /** The partition cannot be read, and a retry cannot help. */
  fail(error: unknown): void;
}

/** What to ask a broker for. */
export interface Poll {
  readonly fromByName: ReadonlyMap<string, FetchFrom>;
  /** Whether a target of the broker is left out, because it is full or another one of its partition comes first. */
  readonly isPartial: boolean;
}

export class FetchTargets {
  /** In the order of their turns. */
  readonly #targets = new Set<FetchTarget>();
  readonly #leaderByTarget = new Map<FetchTarget, string>();

  get size(): number {
    return this.#targets.size;
  }

  /** Those present now; they may be removed meanwhile. */
  get all(): readonly FetchTarget[] {
    return [...this.#targets];
  }

  get topics(): readonly string[] {
    return [...new Set(this.all.map(({ topic }) => topic))];
  }

  get leaders(): ReadonlySet<string> {
    return new Set(this.#leaderByTarget.values());
  }

  add(target: FetchTarget): void {
    this.#targets.add(target);
  }

  /** False if it was not there. */
  remove(target: FetchTarget): boolean {
    this.#leaderByTarget.delete(target);
    return this.#targets.delete(target);
  }

  clear(): void {
    this.#targets.clear();
    this.#leaderByTarget.clear();
  }

  has(target: FetchTarget): boolean {
    return this.#targets.has(target);
  }

  /** A target without a leader is in no poll. */
  setLeader(target: FetchTarget, nodeId: string | null): void {
    if (nodeId === null) this.#leaderByTarget.delete(target);
    else this.#leaderByTarget.set(target, nodeId);
  }

  /** Whether the target was neither removed nor moved to another offset since it was asked for. */
  isWanted(target: FetchTarget, offset: number): boolean {
    return this.#targets.has(target) && target.wanted === offset;
  }

  /** Of several targets of a partition, the one furthest behind comes first, until it has caught up with the others. */
  planPoll(nodeId: string): Poll {
    const fromByName = new Map<string, FetchFrom>();
    let isPartial = false;
    for (const target of this.#targets) {
      if (this.#leaderByTarget.get(target) !== nodeId) continue;
      const { topic, partition, wanted: offset } = target;
      const name = partitionName(target);
      const other = fromByName.get(name);
      if (offset === null || (other !== undefined && offset !== other.offset)) isPartial = true;
      if (offset !== null && (other === undefined || offset < other.offset))
        fromByName.set(name, { topic, partition, offset, maxBytes: PARTITION_BYTES });
    }
    return { fromByName, isPartial };
  }

  byName(): ReadonlyMap<string, readonly FetchTarget[]> {
    const targetsByName = new Map<string, FetchTarget[]>();
    for (const target of this.#targets) {
      const name = partitionName(target);
      const ofPartition = targetsByName.get(name);
      if (ofPartition === undefined) targetsByName.set(name, [target]);
      else ofPartition.push(target);
    }
    return targetsByName;
  }

  /** The target has received records, so the others come first now. */
  endTurn(target: FetchTarget): void {
    if (this.#targets.delete(target)) this.#targets.add(target);
  }
}
