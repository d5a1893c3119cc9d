// A cluster that answers fetches as a test tells it, and reads that take it for a real one.

import type { Kafka } from "kafkajs";
import { KafkaReads } from "../../../../src/log/kafka/kafka-reads.ts";
import { type Logger, silentLogger } from "../../../../src/runtime/logging.ts";

export interface Asked {
  readonly waitMs: number;
  readonly offsets: ReadonlyMap<number, number>;
}

/** Answers the n-th fetch, by leader, with its partitions, or throws. */
export type Answer = (
  asked: Asked,
  n: number,
  leader: string,
) => Promise<readonly object[]> | readonly object[];

interface FakeOptions {
  readonly partitions?: number;
  /** By partition; all are led by broker 1 unless told otherwise. */
  readonly leaders?: readonly string[];
  readonly earliest?: number;
  readonly latest?: number;
  connect?(): Promise<void>;
}

export function fakeReads(answer: Answer, options: FakeOptions = {}) {
  const { partitions = 1, leaders = [], earliest = 0, latest = 0, connect = async () => undefined } = options;
  const asked: Asked[] = [];
  const warned: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    warn: (facts, message) => void warned.push(`${message} ${JSON.stringify(facts)}`),
  };
  let disconnects = 0;
  const fetch = async (leader: string, request: FetchRequest) => {
    const [{ partitions: wanted }] = request.topics;
    const offsets = new Map(wanted.map(({ partition, fetchOffset }) => [partition, Number(fetchOffset)]));
    asked.push({ waitMs: request.maxWaitTime, offsets });
    const fetched = await answer(asked[asked.length - 1], asked.length - 1, leader);
    return { responses: [{ partitions: fetched }] };
  };
  const cluster = {
    connect,
    addMultipleTargetTopics: async () => undefined,
    refreshMetadata: async () => undefined,
    refreshMetadataIfNecessary: async () => undefined,
    fetchTopicsOffset: async ([{ partitions: wanted, fromBeginning }]: OffsetQuery[]) => [
      {
        partitions: wanted.map(({ partition }) => ({ partition, offset: fromBeginning ? earliest : latest })),
      },
    ],
    findLeaderForPartitions: (_: string, wanted: readonly number[]) => {
      const led: Record<string, number[]> = {};
      for (const partition of wanted.filter((number) => number < partitions)) {
        const leader = leaders[partition] ?? "1";
        led[leader] = [...(led[leader] ?? []), partition];
      }
      return led;
    },
    findBroker: async ({ nodeId }: { nodeId: string }) => ({
      fetch: (request: FetchRequest) => fetch(nodeId, request),
    }),
    disconnect: async () => {
      disconnects++;
    },
  };
  const kafka = {
    consumer: ({ partitionAssigners: [assigner] }: { partitionAssigners: ((o: object) => void)[] }) =>
      assigner({ cluster }),
  };
  const facts = { topic: "t", partitions, compacted: true, maxMessageBytes: 1 };
  return {
    reads: new KafkaReads(kafka as unknown as Kafka, async () => facts, logger),
    asked,
    warned,
    get disconnects() {
      return disconnects;
    },
  };
}

interface FetchRequest {
  readonly maxWaitTime: number;
  readonly topics: readonly { readonly partitions: readonly { partition: number; fetchOffset: string }[] }[];
}

interface OffsetQuery {
  readonly partitions: readonly { readonly partition: number }[];
  readonly fromBeginning: boolean;
}

/** A partition's answer: one batch per offset, ending where told. */
export function fetched(
  partition: number,
  offsets: readonly number[],
  end: { stable: number; written?: number },
) {
  return {
    partition,
    highWatermark: String(end.written ?? end.stable),
    lastStableOffset: String(end.stable),
    abortedTransactions: [],
    messages: offsets.map((offset) => ({
      offset: String(offset),
      timestamp: "0",
      key: Buffer.from("k"),
      value: Buffer.from(`v${offset}`),
      headers: {},
      isControlRecord: false,
      batchContext: {
        producerId: "-1",
        inTransaction: false,
        firstOffset: String(offset),
        lastOffsetDelta: 0,
      },
    })),
  };
}
