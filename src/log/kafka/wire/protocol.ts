// Kafka requests, and those that move records: fetch, produce, offsets. We send them ourselves over the client's
// connections because they decide whether a record is read and written exactly once. Each request has one answer. This
// file never retries and never interprets an error code; the caller does.
//
// Versions are fixed to ones that every broker from Kafka 2.5 to 4.x supports. Metadata and the requests that describe
// and list transactions and producers need newer brokers, so callers first ask whether the broker supports them.
//
// Transactions are in `transaction-requests.ts`, the cluster and the consumer group in `cluster-requests.ts`.

import { WireReader, WireWriter } from "./wire-bytes.ts";

export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

/** How a broker identifies a producer. */
export interface ProducerIdentity {
  /** Null outside transactions. */
  readonly transactionalId: string | null;
  readonly producerId: number;
  readonly epoch: number;
}

/** A request and how to read its answer. `facts` describes the request for messages and tests. */
export interface KafkaRequest<Answer> {
  readonly api: Api;
  readonly facts: Readonly<Record<string, unknown>>;
  write(to: WireWriter): void;
  read(from: WireReader): Answer;
}

export type Api = keyof typeof apis;

export const apis = {
  Produce: { key: 0, version: 7 },
  Fetch: { key: 1, version: 11 },
  ListOffsets: { key: 2, version: 3 },
  Metadata: { key: 3, version: 12 },
  OffsetFetch: { key: 9, version: 7 },
  FindCoordinator: { key: 10, version: 2 },
  JoinGroup: { key: 11, version: 5 },
  Heartbeat: { key: 12, version: 3 },
  LeaveGroup: { key: 13, version: 1 },
  SyncGroup: { key: 14, version: 3 },
  InitProducerId: { key: 22, version: 1 },
  AddPartitionsToTxn: { key: 24, version: 1 },
  AddOffsetsToTxn: { key: 25, version: 1 },
  EndTxn: { key: 26, version: 1 },
  TxnOffsetCommit: { key: 28, version: 3 },
  DescribeProducers: { key: 61, version: 0 },
  DescribeTransactions: { key: 65, version: 0 },
  ListTransactions: { key: 66, version: 0 },
} as const;

export interface PartitionCode extends TopicPartition {
  readonly errorCode: number;
}

/** Record batches as bytes, at most one per partition. */
export interface ProduceBatch extends TopicPartition {
  readonly bytes: Buffer;
}

export interface Produced extends PartitionCode {
  readonly baseOffset: number;
}

export function produce(
  transactionalId: string | null,
  batches: readonly ProduceBatch[],
  timeoutMs: number,
): KafkaRequest<readonly Produced[]> {
  const allReplicas = -1;
  return {
    api: "Produce",
    facts: { transactionalId, places: batches.map(({ topic, partition }) => ({ topic, partition })) },
    write: (to) => {
      to.string(transactionalId).int16(allReplicas).int32(timeoutMs);
      writeByTopic(to, batches, ({ partition, bytes }) => to.int32(partition).blob(bytes));
    },
    read: (from) =>
      readByTopic(from, (topic) => {
        const answer = {
          topic,
          partition: from.int32(),
          errorCode: from.int16(),
          baseOffset: from.int64(),
        };
        from.int64(); // log append time
        from.int64(); // log start offset
        return answer;
      }),
  };
}

export interface FetchFrom extends TopicPartition {
  readonly offset: number;
  readonly maxBytes: number;
}

export interface AbortedTransaction {
  readonly producerId: number;
  readonly firstOffset: number;
}

export interface FetchedPartition extends PartitionCode {
  /** The offset after the last record written. */
  readonly highWatermark: number;
  /** The offset before which every transaction is committed or aborted. */
  readonly lastStableOffset: number;
  readonly abortedTransactions: readonly AbortedTransaction[];
  readonly recordSet: Buffer;
}

interface Fetched {
  readonly errorCode: number;
  /** The session that the broker has opened or continued; 0 for none. */
  readonly sessionId: number;
  readonly partitions: readonly FetchedPartition[];
}

/** Which partitions a broker is asked for, told as changes to the request before (KIP-227). */
export interface FetchChanges {
  /** 0 for none yet. */
  readonly sessionId: number;
  /** 0 ends that session and opens another; −1 is for a request outside any session. */
  readonly epoch: number;
  /** New partitions and offsets. With epoch 0 or −1: all of them. */
  readonly places: readonly FetchFrom[];
  readonly forgotten: readonly TopicPartition[];
}

export const withoutSession = { sessionId: 0, epoch: -1, forgotten: [] } as const;

/** Asks for committed records only. A broker that has none waits up to `maxWaitMs` before it answers. */
export function fetchCommitted(
  { sessionId, epoch, places, forgotten }: FetchChanges,
  limits: { readonly maxWaitMs: number; readonly maxBytes: number },
): KafkaRequest<Fetched> {
  return {
    api: "Fetch",
    facts: { sessionId, epoch, places, forgotten, ...limits },
    write: (to) => {
      const [consumer, minBytes, readCommitted] = [-1, 1, 1];
      to.int32(consumer).int32(limits.maxWaitMs).int32(minBytes).int32(limits.maxBytes);
      to.int8(readCommitted).int32(sessionId).int32(epoch);
      writeByTopic(to, places, ({ partition, offset, maxBytes }) => {
        const anyLeaderEpoch = -1;
        const notAFollower = -1;
        to.int32(partition).int32(anyLeaderEpoch).int64(offset).int64(notAFollower).int32(maxBytes);
      });
      writeByTopic(to, forgotten, ({ partition }) => to.int32(partition));
      to.string(""); // rack
    },
    read: (from) => {
      from.int32(); // throttle time
      const [errorCode, sessionId] = [from.int16(), from.int32()];
      return { errorCode, sessionId, partitions: readByTopic(from, (topic) => readFetched(from, topic)) };
    },
  };
}

function readFetched(from: WireReader, topic: string): FetchedPartition {
  const head = {
    topic,
    partition: from.int32(),
    errorCode: from.int16(),
    highWatermark: from.int64(),
    lastStableOffset: from.int64(),
  };
  from.int64(); // log start offset
  const abortedTransactions = from.array(() => ({ producerId: from.int64(), firstOffset: from.int64() }));
  from.int32(); // preferred read replica
  return { ...head, abortedTransactions, recordSet: from.blob() };
}

export interface ListedOffset extends PartitionCode {
  readonly offset: number;
}

/** "earliest": the first offset. "latest": the offset after the last record. "stable": the last stable offset. */
export function listOffsets(
  places: readonly TopicPartition[],
  which: "earliest" | "latest" | "stable",
): KafkaRequest<readonly ListedOffset[]> {
  const timestamp = which === "earliest" ? -2 : -1;
  return {
    api: "ListOffsets",
    facts: { places, which },
    write: (to) => {
      const consumer = -1;
      const isolation = which === "stable" ? 1 : 0;
      to.int32(consumer).int8(isolation);
      writeByTopic(to, places, ({ partition }) => to.int32(partition).int64(timestamp));
    },
    read: (from) => {
      from.int32(); // throttle time
      return readByTopic(from, (topic) => {
        const code = { topic, partition: from.int32(), errorCode: from.int16() };
        from.int64(); // timestamp
        return { ...code, offset: from.int64() };
      });
    },
  };
}

export function writeByTopic<T extends TopicPartition>(
  to: WireWriter,
  places: readonly T[],
  write: (place: T) => unknown,
): void {
  to.array(groupByTopic(places), ([topic, ofTopic]) => {
    to.string(topic).array(ofTopic, write);
  });
}

export function writeByTopicCompactly<T extends TopicPartition>(
  to: WireWriter,
  places: readonly T[],
  write: (place: T) => unknown,
): void {
  to.compactArray(groupByTopic(places), ([topic, ofTopic]) => {
    to.compactString(topic).compactArray(ofTopic, write).noTags();
  });
}

function groupByTopic<T extends TopicPartition>(places: readonly T[]): readonly (readonly [string, T[]])[] {
  const byTopic = new Map<string, T[]>();
  for (const place of places) {
    const ofTopic = byTopic.get(place.topic);
    if (ofTopic === undefined) byTopic.set(place.topic, [place]);
    else ofTopic.push(place);
  }
  return [...byTopic];
}

export function readByTopic<T>(from: WireReader, read: (topic: string) => T): T[] {
  return from
    .array(() => {
      const topic = from.string() ?? "";
      return from.array(() => read(topic));
    })
    .flat();
}

export function readByTopicCompactly<T>(from: WireReader, read: (topic: string) => T): T[] {
  return from
    .compactArray(() => {
      const topic = from.compactString() ?? "";
      const found = from.compactArray(() => {
        const one = read(topic);
        from.skipTags();
        return one;
      });
      from.skipTags();
      return found;
    })
    .flat();
}

export function readCode(from: WireReader): { readonly errorCode: number } {
  from.int32(); // throttle time
  return { errorCode: from.int16() };
}

/** The length of a frame, which does not count itself. */
const LENGTH_BYTES = 4;

export function encodeRequest(request: KafkaRequest<unknown>): Buffer {
  const writer = new WireWriter();
  request.write(writer);
  return writer.bytes;
}

/** The request as it goes over a connection, with its length and header. The parts are sent one after the other. */
export function encodeFrame(
  request: KafkaRequest<unknown>,
  correlationId: number,
  clientId: string,
): readonly Buffer[] {
  const { key, version } = apis[request.api];
  const writer = new WireWriter();
  writer.int32(0).int16(key).int16(version).int32(correlationId).string(clientId);
  request.write(writer);
  const { parts } = writer;
  let bytes = 0;
  for (const part of parts) bytes += part.length;
  parts[0].writeInt32BE(bytes - LENGTH_BYTES, 0);
  return parts;
}

export function decodeAnswer<Answer>(request: KafkaRequest<Answer>, bytes: Buffer): Answer {
  return request.read(new WireReader(bytes));
}
