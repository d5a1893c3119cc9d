// Partition 0 of a new topic on a real broker, written and read as raw record batches over kafkajs' connections,
// without its encoder and decoder.

import kafkajs, { type Cluster } from "kafkajs";
import { clusterOf } from "../../src/log/kafka/cluster-link.ts";
import { until } from "./contract-bench.ts";

const FETCH_BYTES = 16 * 1024 * 1024;
const TIMEOUT_MS = 10_000;

/** The parts of kafkajs' Broker that its types omit. */
interface RawBroker {
  readonly connectionPool: { send(exchange: object): Promise<Buffer> };
}

export interface RawPartition {
  readonly topic: string;
  /** Throws with the error code of the broker. */
  produce(batch: Buffer): Promise<void>;
  /** A new id for an idempotent producer, of epoch 0. */
  newProducerId(): Promise<number>;
  /** Everything stored, including markers and aborted records. */
  fetch(): Promise<Buffer>;
  close(): Promise<void>;
}

/** `settings` are topic settings under Kafka's names. */
export async function openRawPartition(
  bootstrap: string,
  topic: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<RawPartition> {
  const kafka = new kafkajs.Kafka({ brokers: [bootstrap], logLevel: kafkajs.logLevel.NOTHING });
  const admin = kafka.admin();
  await admin.connect();
  const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
  await admin.createTopics({ topics: [{ topic, numPartitions: 1, configEntries }], waitForLeaders: false });
  await admin.disconnect();
  const cluster = clusterOf(kafka);
  await cluster.connect();
  await until("a leader", async () => {
    await cluster.addMultipleTargetTopics([topic]).catch(() => {});
    await cluster.refreshMetadata().catch(() => {});
    return Object.keys(cluster.findLeaderForPartitions(topic, [0])).length > 0;
  });
  const partition = rawPartition(cluster, topic);
  // The metadata can name a leader that does not yet know that it leads.
  await until("a leader that answers", async () => {
    return await partition.fetch().then(
      () => true,
      () => false,
    );
  });
  return partition;
}

function rawPartition(cluster: Cluster, topic: string): RawPartition {
  return {
    topic,
    async produce(batch) {
      const answer = await send(cluster, topic, { apiKey: 0, apiVersion: 7, apiName: "Produce" }, [
        ...[int16(-1), int16(-1), int32(TIMEOUT_MS)], // no transactional id, all replicas
        ...[int32(1), string(topic), int32(1), int32(0), int32(batch.length), batch],
      ]);
      const errorCode = answer.readInt16BE(4 + 2 + Buffer.byteLength(topic) + 4 + 4);
      if (errorCode !== 0) throw new Error(`the broker refused the batch with error ${errorCode}`);
    },
    async newProducerId() {
      const api = { apiKey: 22, apiVersion: 1, apiName: "InitProducerId" };
      const answer = await send(cluster, topic, api, [int16(-1), int32(TIMEOUT_MS)]);
      const errorCode = answer.readInt16BE(4);
      if (errorCode !== 0) throw new Error(`the broker gave no producer id but error ${errorCode}`);
      return Number(answer.readBigInt64BE(6));
    },
    async fetch() {
      const answer = await send(cluster, topic, { apiKey: 1, apiVersion: 10, apiName: "Fetch" }, [
        ...[int32(-1), int32(0), int32(0), int32(FETCH_BYTES), Buffer.from([0])],
        ...[int32(0), int32(-1)], // no session
        ...[int32(1), string(topic), int32(1)],
        ...[int32(0), int32(-1), int64(0), int64(-1), int32(FETCH_BYTES)],
        int32(0),
      ]);
      return recordsIn(answer, topic);
    },
    close: () => cluster.disconnect(),
  };
}

async function send(
  cluster: Cluster,
  topic: string,
  api: { readonly apiKey: number; readonly apiVersion: number; readonly apiName: string },
  parts: readonly Buffer[],
): Promise<Buffer> {
  const [nodeId] = Object.keys(cluster.findLeaderForPartitions(topic, [0]));
  const broker = (await cluster.findBroker({ nodeId: nodeId as string })) as unknown as RawBroker;
  const payload = Buffer.concat(parts);
  return broker.connectionPool.send({
    // kafkajs reads these two fields of its own encoder.
    request: { ...api, encode: async () => ({ buf: payload, buffer: payload }) },
    response: { decode: async (bytes: Buffer) => bytes, parse: async (bytes: Buffer) => bytes },
  });
}

function recordsIn(answer: Buffer, topic: string): Buffer {
  // Throttling, error, session, one topic, one partition.
  const partition = 4 + 2 + 4 + 4 + 2 + Buffer.byteLength(topic) + 4;
  const errorCode = answer.readInt16BE(partition + 4);
  if (errorCode !== 0) throw new Error(`the broker refused the fetch with error ${errorCode}`);
  // Three offsets, then aborted transactions of 16 bytes each, if any.
  const aborted = partition + 4 + 2 + 24;
  const records = aborted + 4 + 16 * Math.max(0, answer.readInt32BE(aborted));
  const length = Math.max(0, answer.readInt32BE(records));
  return answer.subarray(records + 4, records + 4 + length);
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function int64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(value));
  return bytes;
}

function string(value: string): Buffer {
  return Buffer.concat([int16(Buffer.byteLength(value)), Buffer.from(value)]);
}
