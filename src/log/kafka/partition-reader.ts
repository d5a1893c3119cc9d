// Reads chosen partitions of a topic, committed records only, outside any consumer group. kafkajs offers no
// manual assignment, but it hands its Cluster to every partition assigner, and a Cluster can fetch: that is
// the door used here, once. Serves restoring a compacted topic and following a topic to its end.
//
// Owns its positions; refuses to decide who may read what.

import type { Cluster, Kafka } from "kafkajs";
import { ForecastnetError } from "../../runtime/errors.ts";
import { backoff } from "../../runtime/waiting.ts";
import type { StoredBatch } from "../log.ts";
import { committedOf, type FetchedPartition } from "./committed-records.ts";
import { isOutOfRange, isPassing, reasonOf } from "./kafka-errors.ts";
import { logFailure, reasonWithRights, rightOnTopics } from "./rights.ts";

const READ_COMMITTED = 1;
const FETCH_BYTES = 8 * 1024 * 1024;
/** How long a broker may wait for an open transaction to end before it answers. */
const OPEN_TRANSACTION_MS = 250;

/** So many answers in a row without anything new before the wait is told, and between two tellings: ten seconds. */
const PATIENT_ROUNDS = 40;

/** A transaction that nobody has ended yet, and all that is waited for behind it. */
export interface OpenTransaction {
  readonly topic: string;
  readonly partition: number;
  /** Where it begins. */
  readonly offset: number;
  /** Where the read ends. */
  readonly goal: number;
}

/** What a reader that cannot go on has to say, while it keeps trying. */
export interface ReaderNews {
  readonly open: (transaction: OpenTransaction) => void;
  readonly trouble: (topic: string, reason: string) => void;
}

/** Attempts in vain before the trouble is told, and between two tellings: some ten seconds. */
const SILENT_ATTEMPTS = 8;

/** A number is an offset, in every partition. */
export type Beginning = "earliest" | "latest" | number;

interface FetchResponse {
  readonly responses: readonly { readonly partitions: readonly FetchedPartition[] }[];
}

interface Ends {
  readonly stable: number;
  readonly written: number;
}

/**
 * A connection to the cluster for one reader; `openReader` connects it. Readers do not share one: long polls
 * would queue behind one another, and first requests that cross make kafkajs open, and forget, sockets.
 */
export function clusterOf(kafka: Kafka): Cluster {
  let captured: Cluster | undefined;
  kafka.consumer({
    groupId: "never-joined",
    allowAutoTopicCreation: false,
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
  where: { readonly topic: string; readonly partitions: readonly number[] },
  from: Beginning,
  { signal, news }: { readonly signal: AbortSignal; readonly news: ReaderNews },
): Promise<PartitionReader> {
  const { topic, partitions } = where;
  for (let attempt = 0; ; attempt++) {
    try {
      await cluster.connect();
      await cluster.addMultipleTargetTopics([topic]);
      return new PartitionReader(cluster, topic, await findPositions(cluster, topic, partitions, from), news);
    } catch (error) {
      if (signal.aborted) throw error;
      if (!isPassing(error)) throw failureOf(topic, error);
      tellTrouble(news, topic, attempt, error);
      await backoff(attempt, signal);
    }
  }
}

function tellTrouble(news: ReaderNews, topic: string, attempt: number, error: unknown): void {
  if (attempt % SILENT_ATTEMPTS === SILENT_ATTEMPTS - 1) news.trouble(topic, reasonOf(error));
}

async function findPositions(
  cluster: Cluster,
  topic: string,
  partitions: readonly number[],
  from: Beginning,
): Promise<Map<number, number>> {
  if (typeof from === "number") return new Map(partitions.map((partition) => [partition, from]));
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
  readonly #endsByPartition = new Map<number, Ends>();
  readonly #news: ReaderNews;

  constructor(cluster: Cluster, topic: string, positionByPartition: Map<number, number>, news: ReaderNews) {
    this.#news = news;
    this.#cluster = cluster;
    this.#topic = topic;
    this.#positionByPartition = positionByPartition;
  }

  /**
   * Everything committed up to where the partitions end now, then stops. The end of what is `written` may lie
   * in transactions that are still open, or whose end is known to their writer and not yet to the partition:
   * they are waited for, which is told when it takes long.
   */
  async *toEnd(signal: AbortSignal): AsyncGenerator<StoredBatch> {
    const goals = new Map<number, number>();
    let open = [...this.#positionByPartition.keys()];
    for (let quiet = 0; open.length > 0 && !signal.aborted; quiet++) {
      const batches = await this.next(goals.size === 0 ? 0 : OPEN_TRANSACTION_MS, signal, open);
      for (const [partition, ends] of this.#endsByPartition) {
        if (!goals.has(partition)) goals.set(partition, ends.written);
      }
      for (const batch of batches) {
        const goal = goals.get(batch.partition) ?? 0;
        const records = batch.records.filter(({ offset }) => offset < goal);
        if (records.length > 0) yield { ...batch, records, nextOffset: Math.min(batch.nextOffset, goal) };
      }
      open = open.filter((partition) => this.#positionOf(partition) < (goals.get(partition) ?? Infinity));
      if (batches.length > 0) quiet = 0;
      if (quiet % PATIENT_ROUNDS === PATIENT_ROUNDS - 1)
        for (const each of open) this.#news.open(this.#waitingAt(each, goals));
    }
  }

  #waitingAt(partition: number, goals: ReadonlyMap<number, number>): OpenTransaction {
    const offset = this.#endsByPartition.get(partition)?.stable ?? 0;
    return { topic: this.#topic, partition, offset, goal: goals.get(partition) ?? 0 };
  }

  async *follow(waitMs: number, signal: AbortSignal): AsyncGenerator<StoredBatch> {
    while (!signal.aborted) yield* await this.next(waitMs, signal);
  }

  /**
   * What has come since the last call; a broker that has nothing waits for `waitMs` before it says so. One that
   * does not answer is asked again until the signal fires, and nothing is what it gives then.
   */
  async next(
    waitMs: number,
    signal: AbortSignal,
    partitions: readonly number[] = [...this.#positionByPartition.keys()],
  ): Promise<StoredBatch[]> {
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        return await this.#fetch(partitions, waitMs);
      } catch (error) {
        if (!isOutOfRange(error) && !isPassing(error)) throw failureOf(this.#topic, error);
        tellTrouble(this.#news, this.#topic, attempt, error);
        await backoff(attempt, signal);
        await this.#findAgain(partitions, isOutOfRange(error));
      }
    }
    return [];
  }

  async #fetch(partitions: readonly number[], waitMs: number): Promise<StoredBatch[]> {
    await this.#cluster.refreshMetadataIfNecessary();
    const leaders = this.#cluster.findLeaderForPartitions(this.#topic, [...partitions]);
    const led = new Set(Object.values(leaders).flat());
    const absent = partitions.find((partition) => !led.has(partition));
    if (absent !== undefined) throw noSuchPartition(this.#topic, absent);
    const responses = await Promise.all(
      Object.entries(leaders).map(([nodeId, ofLeader]) => this.#ask(nodeId, ofLeader, waitMs)),
    );
    // Not before all have answered: a position that moved past records nobody was given would lose them.
    return responses.flatMap((response) =>
      this.#advance(response.responses.flatMap((topic) => topic.partitions)),
    );
  }

  async #ask(nodeId: string, partitions: readonly number[], waitMs: number): Promise<FetchResponse> {
    const broker = await this.#cluster.findBroker({ nodeId });
    return broker.fetch({
      isolationLevel: READ_COMMITTED,
      maxWaitTime: waitMs,
      minBytes: 1,
      maxBytes: FETCH_BYTES,
      topics: [
        {
          topic: this.#topic,
          partitions: partitions.map((partition) => ({
            partition,
            fetchOffset: String(this.#positionOf(partition)),
            maxBytes: FETCH_BYTES,
          })),
        },
      ],
    });
  }

  /**
   * A broker fills an answer in the order asked (kafkajs shuffles it) and leaves empty what no longer fits,
   * but always gives the first partition that has something at least one batch of it. So "nothing, although
   * offsets remain" means that compaction has emptied a batch only while no partition before it got anything,
   * be it an emptied batch.
   */
  #advance(answer: readonly FetchedPartition[]): StoredBatch[] {
    const batches: StoredBatch[] = [];
    let isFirst = true;
    for (const fetched of answer) {
      const { partition, messages } = fetched;
      const position = this.#positionOf(partition);
      const stable = Number(fetched.lastStableOffset);
      this.#endsByPartition.set(partition, { stable, written: Number(fetched.highWatermark) });
      const last = messages.at(-1);
      if (last === undefined) {
        if (!isFirst || position >= stable) continue;
        this.#positionByPartition.set(partition, position + 1);
        isFirst = false;
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

  #positionOf(partition: number): number {
    return this.#positionByPartition.get(partition) ?? 0;
  }

  /** Looks up where the partitions lie now and, when one was out of range, where they begin and end. */
  async #findAgain(partitions: readonly number[], isOut: boolean): Promise<void> {
    try {
      await this.#cluster.refreshMetadata();
      if (!isOut) return;
      const earliest = await findPositions(this.#cluster, this.#topic, partitions, "earliest");
      const latest = await findPositions(this.#cluster, this.#topic, partitions, "latest");
      for (const partition of partitions) {
        const first = earliest.get(partition) ?? 0;
        const position = this.#positionOf(partition);
        // Beyond the end: the topic was made anew, and none of it has been read.
        const isBeyond = position > (latest.get(partition) ?? Infinity);
        this.#positionByPartition.set(partition, isBeyond ? first : Math.max(position, first));
      }
    } catch (error) {
      // A dead broker makes this fail as well: the next round finds out the same way.
      if (!isPassing(error)) throw failureOf(this.#topic, error);
    }
  }
}

function noSuchPartition(topic: string, partition: number): ForecastnetError {
  return new ForecastnetError("TOPIC_UNFIT", `topic ${topic} has no partition ${partition}: add partitions`, {
    context: { topic, partition },
  });
}

function failureOf(topic: string, cause: unknown): ForecastnetError {
  if (cause instanceof ForecastnetError) return cause;
  const reason = reasonWithRights(cause, { topic: rightOnTopics("Read", [topic]) });
  return logFailure(`topic ${topic} could not be read: ${reason}`, cause, { topic });
}
