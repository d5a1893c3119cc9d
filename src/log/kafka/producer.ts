// Writes records to partitions: plans them into rounds of record batches, encodes each batch, and sends each round with
// one produce request per leader, all leaders at once and each asked once.
//
// A broker accepts one batch per partition and request, and refuses a batch larger than the topic's max.message.bytes.
// Many small records therefore need several rounds. A single record that is too large is refused here, where its topic
// and size are known.

import type { Header, Outgoing } from "../../domain.ts";
import type { Clock } from "../../runtime/clock.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import type { TopicFacts } from "../log.ts";
import { type Link, partitionName } from "./cluster-link.ts";
import { BrokerError, NoAnswerError } from "./kafka-errors.ts";
import { attributeBits, BATCH_HEADER_BYTES, crc32c, headerAt, MAGIC } from "./wire/batch-layout.ts";
import { type Compression, codecIdOf, compress } from "./wire/compression.ts";
import {
  type ProduceBatch,
  type Produced,
  type ProducerIdentity,
  produce,
  type TopicPartition,
} from "./wire/protocol.ts";

/** The usual batch size. A topic may accept far larger batches, but only single large records need them. */
const BATCH_BYTES = 900_000;
/** How long a leader may wait for its followers. */
const REPLICATION_MS = 8_000;
const LARGEST_SEQUENCE = 2 ** 31;

/** Returns the cached facts of a topic, or asks again with `refresh`. Throws if the topic does not exist. */
export type FindTopic = (topic: string, options?: { readonly refresh?: boolean }) => Promise<TopicFacts>;

/** The records of one record batch. */
export interface PlannedBatch extends TopicPartition {
  readonly records: readonly Outgoing[];
}

interface OpenBatch {
  limit: number;
  round: number;
  bytes: number;
  records: Outgoing[];
}

/** Plans rounds of at most one batch per partition. The records of a partition keep their order. */
export async function planRounds(
  records: readonly Outgoing[],
  findTopic: FindTopic,
): Promise<readonly (readonly PlannedBatch[])[]> {
  const rounds: PlannedBatch[][] = [];
  const openByPartition = new Map<string, OpenBatch>();
  const freshByTopic = new Map<string, TopicFacts>();
  let open: OpenBatch | undefined;
  let last: Outgoing | undefined;
  for (const record of records) {
    // Most records go where the one before them goes.
    if (open === undefined || record.partition !== last?.partition || record.topic !== last.topic) {
      const name = partitionName(record);
      open = openByPartition.get(name) ?? (await openBatch(record, findTopic));
      openByPartition.set(name, open);
      last = record;
    }
    const bytes = encodedBytes(record);
    if (BATCH_HEADER_BYTES + bytes > open.limit) {
      // The limit may have been raised since it was cached.
      const fresh = freshByTopic.get(record.topic) ?? (await findTopic(record.topic, { refresh: true }));
      freshByTopic.set(record.topic, fresh);
      open.limit = fresh.maxMessageBytes;
      if (BATCH_HEADER_BYTES + bytes > open.limit) throw tooLarge(record, open.limit);
    }
    if (open.records.length > 0 && open.bytes + bytes > Math.min(open.limit, BATCH_BYTES)) {
      open.round++;
      open.records = [];
    }
    if (open.records.length === 0) {
      open.bytes = BATCH_HEADER_BYTES;
      rounds[open.round] ??= [];
      const { topic, partition } = record;
      rounds[open.round].push({ topic, partition, records: open.records });
    }
    open.bytes += bytes;
    open.records.push(record);
  }
  return rounds;
}

async function openBatch(record: Outgoing, findTopic: FindTopic): Promise<OpenBatch> {
  const facts = await findTopic(record.topic);
  if (record.partition >= facts.partitions) throw noSuchPartition(record, facts);
  return { limit: facts.maxMessageBytes, round: 0, bytes: 0, records: [] };
}

export interface ProducerSettings {
  readonly compression: Compression;
  readonly clock: Clock;
}

/**
 * A producer id and epoch, with a sequence number per partition. The sequence number lets a broker store each batch
 * once, however often it is sent. Valid over one link; a transaction's producer is discarded after any failed answer.
 */
export class Producer {
  readonly identity: ProducerIdentity;
  readonly #settings: ProducerSettings;
  readonly #sequenceByPartition = new Map<string, number>();

  constructor(identity: ProducerIdentity, settings: ProducerSettings) {
    this.identity = identity;
    this.#settings = settings;
  }

  /** Uses the next sequence numbers of the batch's partition. */
  encode({ topic, partition, records }: PlannedBatch): ProduceBatch {
    const { identity } = this;
    const name = partitionName({ topic, partition });
    const firstSequence = this.#sequenceByPartition.get(name) ?? 0;
    this.#sequenceByPartition.set(name, (firstSequence + records.length) % LARGEST_SEQUENCE);
    const bytes = encodeRecordBatch(records, {
      producerId: identity.producerId,
      producerEpoch: identity.epoch,
      firstSequence,
      isTransactional: identity.transactionalId !== null,
      compression: this.#settings.compression,
      timestampMs: this.#settings.clock.nowMs(),
    });
    return { topic, partition, bytes };
  }
}

/** The result for one batch: its first offset, or why it was not written or may not have been. */
export type Delivery =
  | { readonly batch: ProduceBatch; readonly baseOffset: number }
  | { readonly batch: ProduceBatch; readonly error: unknown };

/** Never rejects. Resolves once every request has been answered or given up. */
export async function deliver(
  link: Link,
  transactionalId: string | null,
  batches: readonly ProduceBatch[],
): Promise<readonly Delivery[]> {
  const deliveries: Delivery[] = [];
  const batchesByLeader = new Map<string, ProduceBatch[]>();
  for (const batch of batches) {
    try {
      const leader = link.leaderOf(batch);
      const ofLeader = batchesByLeader.get(leader);
      if (ofLeader === undefined) batchesByLeader.set(leader, [batch]);
      else ofLeader.push(batch);
    } catch (error) {
      deliveries.push({ batch, error });
    }
  }
  const sent = [...batchesByLeader].map(async ([leader, ofLeader]) => {
    try {
      const answers = await link.ask(leader, produce(transactionalId, ofLeader, REPLICATION_MS));
      return ofLeader.map((batch) => readDelivery(batch, answers));
    } catch (error) {
      return ofLeader.map((batch) => ({ batch, error }));
    }
  });
  return [...deliveries, ...(await Promise.all(sent)).flat()];
}

function readDelivery(batch: ProduceBatch, answers: readonly Produced[]): Delivery {
  const own = answers.filter((answer) => partitionName(answer) === partitionName(batch));
  if (own.length !== 1) {
    const error = new NoAnswerError(
      `Produce to ${partitionName(batch)} was answered for ${own.length} times`,
    );
    return { batch, error };
  }
  const [{ errorCode, baseOffset }] = own;
  if (errorCode === 0) return { batch, baseOffset };
  return { batch, error: new BrokerError(errorCode, `Produce to ${partitionName(batch)}`) };
}

/** For a batch that the broker found too large although we did not. Names its largest record. */
export async function largestRecordError(
  records: readonly Outgoing[],
  findTopic: FindTopic,
  cause: unknown,
): Promise<ForecastnetError> {
  const largest = records.reduce((a, b) => (encodedBytes(b) > encodedBytes(a) ? b : a));
  const { maxMessageBytes } = await findTopic(largest.topic, { refresh: true });
  return tooLarge(largest, maxMessageBytes, cause);
}

function tooLarge(record: Outgoing, limit: number, cause?: unknown): ForecastnetError {
  const { topic, key } = record;
  const bytes = BATCH_HEADER_BYTES + encodedBytes(record);
  return new ForecastnetError(
    "RECORD_TOO_LARGE",
    `a record for topic ${topic} has ${bytes} bytes, the topic takes ${limit}: raise its max.message.bytes`,
    { cause, context: { topic, bytes, limit, key: key?.toString() } },
  );
}

function noSuchPartition({ topic, partition }: Outgoing, { partitions }: TopicFacts): ForecastnetError {
  return new ForecastnetError(
    "TOPIC_UNFIT",
    `a record is addressed to partition ${partition} of topic ${topic}, which has ${partitions} partitions: add partitions`,
    { context: { topic, partition, partitions } },
  );
}

// Encoding of a record batch; `wire/batch-layout.ts` has its layout.

export type EncodableRecord = Pick<Outgoing, "key" | "value" | "headers">;

export interface BatchOptions {
  /** A producer that is not idempotent has −1 as id, epoch and sequence. */
  readonly producerId: number;
  readonly producerEpoch: number;
  readonly firstSequence: number;
  readonly isTransactional: boolean;
  readonly compression: Compression;
  readonly timestampMs: number;
}

/** An offset delta is below 2^31. */
const MAX_OFFSET_DELTA_BYTES = 5;
/** The attributes and the timestamp delta of a record, both always 0. */
const FIXED_BYTES = 2;
const NO_HEADERS: readonly Header[] = [];

/** One batch of all records, in order. Records stay uncompressed if compression would not make them smaller. */
export function encodeRecordBatch(records: readonly EncodableRecord[], options: BatchOptions): Buffer {
  if (records.length === 0) throw new Error("a record batch without records cannot be written");
  const lengths = lengthsOf(records);
  const plain = Buffer.allocUnsafe(BATCH_HEADER_BYTES + lengths.total);
  writeRecords(plain, BATCH_HEADER_BYTES, records, lengths.byRecord);
  const { compression } = options;
  const packed = compression === "none" ? null : compress(compression, plain.subarray(BATCH_HEADER_BYTES));
  const isPacked = packed !== null && packed.length < lengths.total;
  const batch = isPacked ? Buffer.concat([plain.subarray(0, BATCH_HEADER_BYTES), packed]) : plain;
  writeHeader(batch, records.length, isPacked ? codecIdOf(compression) : 0, options);
  return batch;
}

function writeHeader(batch: Buffer, count: number, codecId: number, options: BatchOptions): void {
  writeInt64(batch, 0, 0); // the broker sets the offset
  batch.writeInt32BE(batch.length - headerAt.lengthEnd, headerAt.length);
  batch.writeInt32BE(-1, headerAt.lengthEnd); // the leader sets its epoch
  batch.writeInt8(MAGIC, headerAt.magic);
  batch.writeInt16BE(
    codecId | (options.isTransactional ? attributeBits.transactional : 0),
    headerAt.attributes,
  );
  batch.writeInt32BE(count - 1, headerAt.lastOffsetDelta);
  writeInt64(batch, options.timestampMs, headerAt.baseTimestamp);
  writeInt64(batch, options.timestampMs, headerAt.maxTimestamp);
  writeInt64(batch, options.producerId, headerAt.producerId);
  batch.writeInt16BE(options.producerEpoch, headerAt.producerEpoch);
  batch.writeInt32BE(options.firstSequence, headerAt.baseSequence);
  batch.writeInt32BE(count, headerAt.recordCount);
  batch.writeUInt32BE(crc32c(batch.subarray(headerAt.attributes)), headerAt.crc);
}

function writeInt64(bytes: Buffer, value: number, at: number): void {
  bytes.writeInt32BE(Math.floor(value / 2 ** 32), at);
  bytes.writeUInt32BE(value >>> 0, at + 4);
}

/** The size of a record in a batch, rounded up: at most four bytes too large near the start of the batch. */
export function encodedBytes(record: EncodableRecord): number {
  return sizedBytes(FIXED_BYTES + MAX_OFFSET_DELTA_BYTES + contentBytes(record));
}

interface RecordLengths {
  /** The length prefix of each record. */
  readonly byRecord: Int32Array;
  /** Size of all records including their length prefixes. */
  readonly total: number;
}

function lengthsOf(records: readonly EncodableRecord[]): RecordLengths {
  const byRecord = new Int32Array(records.length);
  let total = 0;
  for (let i = 0; i < records.length; i++) {
    const length = FIXED_BYTES + varintBytes(i) + contentBytes(records[i] as EncodableRecord);
    byRecord[i] = length;
    total += sizedBytes(length);
  }
  return { byRecord, total };
}

/** Writes all records from `start` on. Timestamp deltas are 0; offset deltas count up from 0. */
function writeRecords(
  target: Buffer,
  start: number,
  records: readonly EncodableRecord[],
  lengths: Int32Array,
): void {
  const writer = new RecordWriter(target, start);
  for (let i = 0; i < records.length; i++) {
    const { key, value, headers = NO_HEADERS } = records[i] as EncodableRecord;
    writer.varint(lengths[i]);
    writer.varint(0); // attributes
    writer.varint(0); // timestamp delta
    writer.varint(i);
    writer.sized(key);
    writer.sized(value);
    writer.varint(headers.length);
    for (const header of headers) {
      writer.sized(header.key);
      writer.sized(header.value);
    }
  }
}

/** Key, value and headers, each with its length prefix. */
function contentBytes({ key, value, headers }: EncodableRecord): number {
  const bytes = nullableBytes(key) + nullableBytes(value);
  if (headers === undefined) return bytes + 1;
  let headerBytes = varintBytes(headers.length);
  for (const header of headers) headerBytes += nullableBytes(header.key) + nullableBytes(header.value);
  return bytes + headerBytes;
}

function nullableBytes(content: string | Buffer | null): number {
  if (content === null) return 1;
  return sizedBytes(typeof content === "string" ? Buffer.byteLength(content) : content.length);
}

function sizedBytes(length: number): number {
  return varintBytes(length) + length;
}

/** For numbers from 0 to 2^31 − 1, which zigzag encoding doubles. */
function varintBytes(value: number): number {
  if (value < 0x40) return 1;
  if (value < 0x2000) return 2;
  if (value < 0x100000) return 3;
  return value < 0x8000000 ? 4 : 5;
}

class RecordWriter {
  readonly #target: Buffer;
  #position: number;

  constructor(target: Buffer, start: number) {
    this.#target = target;
    this.#position = start;
  }

  /** For numbers from −1 to 2^31 − 1. */
  varint(value: number): void {
    let zigzag = ((value << 1) ^ (value >> 31)) >>> 0;
    while (zigzag >= 0x80) {
      this.#target[this.#position++] = (zigzag & 0x7f) | 0x80;
      zigzag >>>= 7;
    }
    this.#target[this.#position++] = zigzag;
  }

  sized(content: string | Buffer | null): void {
    if (content === null) {
      this.varint(-1);
    } else if (typeof content === "string") {
      this.varint(Buffer.byteLength(content));
      this.#position += this.#target.write(content, this.#position);
    } else {
      this.varint(content.length);
      this.#target.set(content, this.#position);
      this.#position += content.length;
    }
  }
}
