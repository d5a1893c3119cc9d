// Reads chosen partitions of a topic, committed records only, outside any consumer group. kafkajs offers no
// manual assignment, but it hands its Cluster to every partition assigner, and a Cluster can fetch: that is
// the door used here, once. Serves restoring a compacted topic and following a topic to its end.
//
// Owns its positions; refuses to decide who may read what.

import type { Cluster, Kafka } from "kafkajs";
import { backoff } from "../../runtime/waiting.ts";
import type { StoredBatch, StoredRecord } from "../log.ts";
import { isOutOfRange, isPassing } from "./kafka-errors.ts";

const READ_COMMITTED = 1;
const FETCH_BYTES = 8 * 1024 * 1024;

interface RawMessage {
  readonly offset: string;
  readonly timestamp: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: Record<string, Buffer>;
  readonly isControlRecord: boolean;
  readonly batchContext: {
    readonly producerId: string;
    readonly inTransaction: boolean;
    readonly firstOffset: string;
    readonly lastOffsetDelta: number;
  };
}

interface FetchedPartition {
  readonly partition: number;
  readonly lastStableOffset: string;
  readonly abortedTransactions: readonly { readonly producerId: string; readonly firstOffset: string }[];
  readonly messages: readonly RawMessage[];
}

interface FetchResponse {
  readonly responses: readonly { readonly partitions: readonly FetchedPartition[] }[];
}

/**
 * A connection to the cluster for one reader; `openReader` connects it. Readers do not share one: long polls
 * would queue behind one another, and first requests that cross make kafkajs open, and forget, sockets.
 */
export function clusterOf(kafka: Kafka): Cluster {
  let captured: Cluster | undefined;
  kafka.consumer({
    groupId: "never-joined",
    partitionAssigners: [
      ({ cluster }) => {
        captured = cluster;
        return {
          name: "none",
          version: 1,
          assign: async () => [],
          protocol: () => ({ name: "none", metadata: Buffer.alloc(0) }),
        };
      },
    ],
  });
  if (captured === undefined) throw new Error("kafkajs did not hand its cluster to the partition assigner");
  return captured;
}

/** Waits for a broker that does not answer until the signal fires; only then does a passing failure come out. */
export async function openReader(
  cluster: Cluster,
  topic: string,
  partitions: readonly number[],
  from: "earliest" | "latest",
  signal: AbortSignal,
): Promise<PartitionReader> {
  for (let attempt = 0; ; attempt++) {
    try {
      return new PartitionReader(cluster, topic, await findPositions(cluster, topic, partitions, from));
    } catch (error) {
      if (signal.aborted || !isPassing(error)) throw error;
      await backoff(attempt, signal);
    }
  }
}

async function findPositions(
  cluster: Cluster,
  topic: string,
  partitions: readonly number[],
  from: "earliest" | "latest",
): Promise<Map<number, number>> {
  await cluster.connect();
  await cluster.addMultipleTargetTopics([topic]);
  const [found] = await cluster.fetchTopicsOffset([
    {
      topic,
      partitions: partitions.map((partition) => ({ partition })),
      fromBeginning: from === "earliest",
    },
  ]);
  const positions = new Map<number, number>();
  for (const { partition, offset } of found?.partitions ?? []) positions.set(partition, Number(offset));
  return positions;
}

export class PartitionReader {
  readonly #cluster: Cluster;
  readonly #topic: string;
  readonly #positionByPartition: Map<number, number>;
  readonly #endByPartition = new Map<number, number>();

  constructor(cluster: Cluster, topic: string, positionByPartition: Map<number, number>) {
    this.#cluster = cluster;
    this.#topic = topic;
    this.#positionByPartition = positionByPartition;
  }

  /** Everything committed up to where the partitions end now, then stops. */
  async *toEnd(signal: AbortSignal): AsyncGenerator<StoredBatch> {
    const goals = new Map<number, number>();
    while (!signal.aborted) {
      yield* await this.#poll(0, signal);
      for (const [partition, end] of this.#endByPartition) {
        if (!goals.has(partition)) goals.set(partition, end);
      }
      const isDone = [...this.#positionByPartition].every(
        ([partition, position]) => position >= (goals.get(partition) ?? Number.POSITIVE_INFINITY),
      );
      if (isDone) return;
    }
  }

  async *follow(waitMs: number, signal: AbortSignal): AsyncGenerator<StoredBatch> {
    while (!signal.aborted) yield* await this.#poll(waitMs, signal);
  }

  async #poll(waitMs: number, signal: AbortSignal): Promise<StoredBatch[]> {
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        return await this.#fetch(waitMs);
      } catch (error) {
        if (isOutOfRange(error)) await this.#rewind(signal);
        else if (!isPassing(error)) throw error;
        await backoff(attempt, signal);
        // A dead broker makes this fail as well: the next round finds out the same way.
        await this.#cluster.refreshMetadata().catch((cause: unknown) => {
          if (!isPassing(cause)) throw cause;
        });
      }
    }
    return [];
  }

  async #fetch(waitMs: number): Promise<StoredBatch[]> {
    await this.#cluster.refreshMetadataIfNecessary();
    const leaders = this.#cluster.findLeaderForPartitions(this.#topic, [...this.#positionByPartition.keys()]);
    const answers = await Promise.all(
      Object.entries(leaders).map(async ([nodeId, partitions]) => {
        const broker = await this.#cluster.findBroker({ nodeId });
        const response: FetchResponse = await broker.fetch({
          isolationLevel: READ_COMMITTED,
          maxWaitTime: waitMs,
          minBytes: 1,
          maxBytes: FETCH_BYTES,
          topics: [
            {
              topic: this.#topic,
              partitions: partitions.map((partition) => ({
                partition,
                fetchOffset: String(this.#positionByPartition.get(partition)),
                maxBytes: FETCH_BYTES,
              })),
            },
          ],
        });
        return this.#advance(response.responses.flatMap((topic) => topic.partitions));
      }),
    );
    return answers.flat();
  }

  /**
   * A broker fills an answer in the order asked (kafkajs shuffles it) and leaves empty what no longer fits,
   * but always gives the first partition that has something at least one batch of it. So "nothing, although
   * offsets remain" means that compaction has emptied a batch only while no partition before it got anything.
   */
  #advance(answer: readonly FetchedPartition[]): StoredBatch[] {
    const batches: StoredBatch[] = [];
    let isFirst = true;
    for (const fetched of answer) {
      const { partition, messages } = fetched;
      const position = this.#positionByPartition.get(partition) ?? 0;
      const end = Number(fetched.lastStableOffset);
      this.#endByPartition.set(partition, end);
      const last = messages.at(-1);
      if (last === undefined) {
        if (isFirst && position < end) this.#positionByPartition.set(partition, position + 1);
        continue;
      }
      isFirst = false;
      // The batch may end after its last surviving record, because of compaction as well.
      const nextOffset = Number(last.batchContext.firstOffset) + last.batchContext.lastOffsetDelta + 1;
      this.#positionByPartition.set(partition, nextOffset);
      const records = committedOf(fetched, position);
      if (records.length > 0) batches.push({ topic: this.#topic, partition, records, nextOffset });
    }
    return batches;
  }

  async #rewind(signal: AbortSignal): Promise<void> {
    const partitions = [...this.#positionByPartition.keys()];
    const fresh = await openReader(this.#cluster, this.#topic, partitions, "earliest", signal);
    for (const [partition, earliest] of fresh.#positionByPartition) {
      const position = this.#positionByPartition.get(partition) ?? 0;
      this.#positionByPartition.set(partition, Math.max(position, earliest));
    }
  }
}

function committedOf(fetched: FetchedPartition, fromOffset: number): StoredRecord[] {
  const aborted = fetched.abortedTransactions
    .map(({ producerId, firstOffset }) => ({ producerId, firstOffset: Number(firstOffset) }))
    .sort((a, b) => a.firstOffset - b.firstOffset);
  let nextAborted = 0;
  const abortingProducers = new Set<string>();
  const records: StoredRecord[] = [];
  for (const message of fetched.messages) {
    const offset = Number(message.offset);
    for (; nextAborted < aborted.length; nextAborted++) {
      const transaction = aborted[nextAborted];
      if (transaction === undefined || transaction.firstOffset > offset) break;
      abortingProducers.add(transaction.producerId);
    }
    const { producerId, inTransaction } = message.batchContext;
    if (message.isControlRecord) {
      // A control record's key is version, then type; type 0 ends an aborted transaction.
      if (message.key?.readInt16BE(2) === 0) abortingProducers.delete(producerId);
      continue;
    }
    if (offset < fromOffset || (inTransaction && abortingProducers.has(producerId))) continue;
    records.push({
      key: message.key,
      value: message.value,
      headers: message.headers,
      offset,
      timestampMs: Number(message.timestamp),
    });
  }
  return records;
}
