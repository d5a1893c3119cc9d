// Turns the bytes of a fetch response into records: splits them into batches, checks and decompresses each batch, reads
// its records, and leaves out those of aborted transactions. A broker that is asked for committed data still sends
// aborted records, with a list of the aborted transactions; transactions of several producers can interleave.
//
// Stored data can be permanently damaged, so reading never throws. A batch that cannot be read carries the reason and
// its offsets instead of records, so that the reader can skip it.

import type { Header } from "../../../domain.ts";
import { type Clock, systemClock } from "../../../runtime/clock.ts";
import type { StoredRecord } from "../../log.ts";
import { mostHeadersRead } from "../../record-size.ts";
import { attributeBits, BATCH_HEADER_BYTES, crc32c, headerAt, MAGIC } from "./batch-layout.ts";
import { decompress } from "./compression.ts";
import type { AbortedTransaction } from "./protocol.ts";

export interface CommittedRecords {
  readonly records: readonly StoredRecord[];
  /** The offset after the last batch read; the offset asked for if there was none. */
  readonly nextOffset: number;
}

/** A damaged batch whose time is further ahead of our clock than this has a damaged time as well. */
const MAX_AHEAD_MS = 24 * 3_600_000;

/** A batch that cannot be read is returned as one record with `unreadable` set and the raw batch as its value. */
export function committedRecords(
  recordSet: Buffer,
  abortedTransactions: readonly AbortedTransaction[],
  fromOffset: number,
  maxBatchBytes: number,
  clock: Clock = systemClock,
): CommittedRecords {
  const aborts = new OpenAborts(abortedTransactions);
  const records: StoredRecord[] = [];
  let nextOffset = fromOffset;
  for (const batch of decodeRecordSet(recordSet, maxBatchBytes)) {
    nextOffset = Math.max(nextOffset, batch.nextOffset);
    const isAborted = aborts.covers(batch);
    if (batch.isControl || isAborted) continue;
    if (batch.failure !== null) {
      if (batch.nextOffset > fromOffset) {
        const timestampMs = timeOfDamaged(batch, records.at(-1), clock.nowMs());
        records.push(unreadable(batch, batch.failure, timestampMs));
      }
      continue;
    }
    // A broker answers with whole batches, so the first one can start before the offset asked for.
    for (const record of batch.records) if (record.offset >= fromOffset) records.push(record);
  }
  return { records, nextOffset };
}

/** Tracks which producers have an aborted transaction open. Batches must be passed in offset order. */
class OpenAborts {
  readonly #upcoming: AbortedTransaction[];
  readonly #producers = new Set<number>();

  constructor(aborted: readonly AbortedTransaction[]) {
    this.#upcoming = [...aborted].sort((a, b) => a.firstOffset - b.firstOffset);
  }

  /** Whether the batch belongs to an aborted transaction. A control batch ends its producer's transaction. */
  covers(batch: DecodedBatch): boolean {
    for (let next = this.#upcoming[0]; next !== undefined; next = this.#upcoming[0]) {
      if (next.firstOffset >= batch.nextOffset) break;
      this.#producers.add(next.producerId);
      this.#upcoming.shift();
    }
    if (!this.#producers.has(batch.producerId)) return false;
    if (batch.isControl) this.#producers.delete(batch.producerId);
    return batch.isTransactional;
  }
}

/** The time in its header if plausible; otherwise the time of the record before it, or else now. */
function timeOfDamaged(
  { maxTimestampMs }: DecodedBatch,
  previous: StoredRecord | undefined,
  nowMs: number,
): number {
  const candidates = [maxTimestampMs ?? 0, previous?.timestampMs ?? 0];
  return candidates.find((timeMs) => timeMs > 0 && timeMs <= nowMs + MAX_AHEAD_MS) ?? nowMs;
}

function unreadable(
  { firstOffset, nextOffset, rawBytes }: DecodedBatch,
  failure: string,
  timestampMs: number,
): StoredRecord {
  return {
    offset: nextOffset - 1,
    timestampMs,
    key: null,
    value: rawBytes,
    headers: [],
    unreadable: `the record batch at offset ${firstOffset} cannot be read: ${failure}`,
  };
}

export interface DecodedBatch {
  readonly firstOffset: number;
  /** The offset after the batch; always greater than `firstOffset`. */
  readonly nextOffset: number;
  /** −1 for a producer that is neither idempotent nor transactional. */
  readonly producerId: number;
  readonly isTransactional: boolean;
  /** A control batch marks the end of a transaction and holds no records for readers. */
  readonly isControl: boolean;
  /** Keys, values and header values are views of the response or of the decompressed batch. */
  readonly records: readonly StoredRecord[];
  /** The newest time of its records according to the header; null if the header cannot be read. */
  readonly maxTimestampMs: number | null;
  /** Estimated memory of its records. */
  readonly memoryBytes: number;
  /** Why the batch cannot be read; null if it was read. */
  readonly failure: string | null;
  /** The whole batch as received; a view. */
  readonly rawBytes: Buffer;
}

/** A compressed batch of a few kilobytes can expand to 100 MB. Above this sum, batches wait for the next fetch. */
const RECORD_SET_MEMORY_BYTES = 64 * 1024 * 1024;

/**
 * The batches of one partition of a fetch response. A broker may cut off the last batch; it is left out, so the result
 * is empty if the first batch does not fit into the response. Batches that would exceed the memory limit are left out,
 * too. A fetch from the last `nextOffset` returns them.
 */
export function decodeRecordSet(bytes: Buffer, maxBatchBytes: number): DecodedBatch[] {
  const framed = frames(bytes);
  const batches: DecodedBatch[] = [];
  let memoryBytes = 0;
  for (let i = 0; i < framed.length && memoryBytes < RECORD_SET_MEMORY_BYTES; i++) {
    const batch = decodeBatch(framed[i] as Buffer, maxBatchBytes);
    memoryBytes += batch.memoryBytes;
    batches.push(endingBefore(framed[i + 1], batch));
  }
  return batches;
}

/** The bytes of each whole batch. A batch with an invalid length is the last, because nothing after it can be found. */
function frames(bytes: Buffer): Buffer[] {
  const found: Buffer[] = [];
  for (let start = 0; start + headerAt.lengthEnd < bytes.length; ) {
    const end = start + headerAt.lengthEnd + bytes.readInt32BE(start + headerAt.length);
    if (end > bytes.length) break;
    const isValid = end > start + headerAt.magic;
    found.push(isValid ? bytes.subarray(start, end) : bytes.subarray(start));
    if (!isValid) break;
    start = end;
  }
  return found;
}

/** The offset delta of a damaged batch may be damaged, too. It must not skip the batch that follows. */
function endingBefore(following: Buffer | undefined, batch: DecodedBatch): DecodedBatch {
  if (batch.failure === null || following === undefined) return batch;
  const nextOffset = readInt64(following, 0);
  const isPassed = batch.nextOffset > nextOffset && nextOffset > batch.firstOffset;
  return isPassed ? { ...batch, nextOffset } : batch;
}

function decodeBatch(batch: Buffer, maxBatchBytes: number): DecodedBatch {
  if (
    batch.length <= headerAt.magic ||
    batch.length !== headerAt.lengthEnd + batch.readInt32BE(headerAt.length)
  )
    return failed(batch, "the length of the batch is invalid");
  const magic = batch.readInt8(headerAt.magic);
  if (magic !== MAGIC) return failed(batch, `message format ${magic} is not supported, only ${MAGIC} is`);
  if (batch.length < BATCH_HEADER_BYTES) return failed(batch, "the length of the batch is invalid");
  const attributes = batch.readInt16BE(headerAt.attributes);
  const firstOffset = readInt64(batch, 0);
  const isControl = (attributes & attributeBits.control) !== 0;
  const facts = {
    firstOffset,
    nextOffset: firstOffset + 1 + Math.max(0, batch.readInt32BE(headerAt.lastOffsetDelta)),
    producerId: readInt64(batch, headerAt.producerId),
    isTransactional: (attributes & attributeBits.transactional) !== 0,
    isControl,
    maxTimestampMs: readInt64(batch, headerAt.maxTimestamp),
    rawBytes: batch,
  };
  try {
    if (crc32c(batch.subarray(headerAt.attributes)) !== batch.readUInt32BE(headerAt.crc))
      throw new Error("the checksum of the batch does not match its content");
    const { records, memoryBytes } = decodeRecords(batch, attributes, maxBatchBytes);
    if (isControl) return { ...facts, records: [], memoryBytes: 0, failure: null };
    return { ...facts, records, memoryBytes, failure: null };
  } catch (error) {
    const failure = error instanceof Error ? error.message : String(error);
    return { ...facts, records: [], memoryBytes: 0, failure };
  }
}

/** Also for messages of older formats, whose offset is at the same position. */
function failed(batch: Buffer, failure: string): DecodedBatch {
  const firstOffset = readInt64(batch, 0);
  return {
    firstOffset,
    nextOffset: firstOffset + 1,
    producerId: -1,
    isTransactional: false,
    isControl: false,
    records: [],
    maxTimestampMs: null,
    memoryBytes: 0,
    failure,
    rawBytes: batch,
  };
}

function decodeRecords(
  batch: Buffer,
  attributes: number,
  maxBatchBytes: number,
): Pick<DecodedBatch, "records" | "memoryBytes"> {
  const codecId = attributes & attributeBits.codec;
  const stored = batch.subarray(BATCH_HEADER_BYTES);
  const bytes = codecId === 0 ? stored : decompress(codecId, stored, maxBatchBytes);
  const { records, objectBytes } = readRecords(bytes, {
    count: batch.readInt32BE(headerAt.recordCount),
    firstOffset: readInt64(batch, 0),
    lastOffsetDelta: batch.readInt32BE(headerAt.lastOffsetDelta),
    baseTimestampMs: readInt64(batch, headerAt.baseTimestamp),
    appendedMs:
      (attributes & attributeBits.logAppendTime) === 0 ? null : readInt64(batch, headerAt.maxTimestamp),
  });
  return { records, memoryBytes: bytes.length + objectBytes };
}

/** Exact up to 2^53; no offset, time or producer id of a real cluster is larger. */
function readInt64(bytes: Buffer, at: number): number {
  return bytes.readInt32BE(at) * 2 ** 32 + bytes.readUInt32BE(at + 4);
}

// The records inside a batch, uncompressed. Lengths and deltas are zigzag varints; a length of −1 means null. A
// record of 7 bytes, or a header of 2, becomes an object of hundreds, so the memory of a batch's objects is estimated
// and bounded.

/** What the batch header states about the records. */
interface BatchFacts {
  readonly count: number;
  readonly firstOffset: number;
  readonly lastOffsetDelta: number;
  readonly baseTimestampMs: number;
  /** When the broker wrote the batch, if the topic uses that as the time of its records; otherwise null. */
  readonly appendedMs: number | null;
}

const NO_HEADERS: readonly Header[] = [];
const MAX_VARINT_BYTES = 10;
/** The largest estimate for the objects of one batch: about 450,000 records without headers. */
const MOST_OBJECT_BYTES = 128 * 1024 * 1024;
/** A record with views of its key and value, measured on Node 20. */
const RECORD_OBJECT_BYTES = 300;
/** A header with a view of its value, without its key. */
const HEADER_OBJECT_BYTES = 180;
/** Memory of a string per byte on the wire: a string that is not Latin-1 has two bytes per character. */
const CHARACTER_BYTES = 2;

interface ReadRecords {
  readonly records: readonly StoredRecord[];
  /** Estimated memory, without the bytes that they are views of. */
  readonly objectBytes: number;
}

/** Keys and values are views of `bytes`. Throws if the records are malformed or would take too much memory. */
function readRecords(bytes: Buffer, facts: BatchFacts): ReadRecords {
  const { count, firstOffset, lastOffsetDelta, baseTimestampMs, appendedMs } = facts;
  const reader = new RecordReader(bytes);
  const records: StoredRecord[] = [];
  // The count can be wrong, but at most that many records are read.
  reader.reserve(count * RECORD_OBJECT_BYTES);
  // A record takes at least one byte, so too large a count fails at the end of the bytes.
  for (let i = 0; i < count; i++) {
    const end = reader.lengthEnd();
    reader.position++; // attributes, unused
    const timestampDelta = reader.varint();
    const offsetDelta = reader.varint();
    if (offsetDelta < 0 || offsetDelta > lastOffsetDelta) throw malformed("its offset is outside the batch");
    const key = reader.bytes();
    const value = reader.bytes();
    const headers = reader.headers();
    if (reader.position !== end) throw malformed("its length does not match its content");
    const timestampMs = appendedMs ?? baseTimestampMs + timestampDelta;
    const record = { key, value, headers, offset: firstOffset + offsetDelta, timestampMs };
    const { headerCount } = reader;
    records.push(headerCount > headers.length ? { ...record, headerCount } : record);
  }
  if (count < 0 || reader.position !== bytes.length)
    throw new Error(`the batch does not hold the ${count} records that it declares`);
  return { records, objectBytes: reader.objectBytes };
}

function malformed(reason: string): Error {
  return new Error(`a record of the batch is malformed: ${reason}`);
}

/** Reads through the records of a batch. Throws rather than read past their end. */
class RecordReader {
  readonly #bytes: Buffer;
  position = 0;
  /** Number of headers of the record read last, including those not returned. */
  headerCount = 0;
  objectBytes = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Must be called before the objects are created. */
  reserve(bytes: number): void {
    this.objectBytes += bytes;
    if (this.objectBytes > MOST_OBJECT_BYTES)
      throw new Error(
        `the records and headers of the batch would take more than ${MOST_OBJECT_BYTES} bytes in memory`,
      );
  }

  varint(): number {
    const bytes = this.#bytes;
    const first = bytes[this.position++];
    if (first < 0x80) return (first >>> 1) ^ -(first & 1);
    // Past the end, a byte is undefined and fails the comparison; the loop then stops at once.
    let value = first & 0x7f;
    let scale = 128;
    for (let length = 2; length <= MAX_VARINT_BYTES; length++) {
      const byte = bytes[this.position++];
      if (byte === undefined) break;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        const isNegative = (first & 1) === 1;
        return isNegative ? -(value - 1) / 2 - 1 : value / 2;
      }
      scale *= 128;
    }
    throw malformed("a number in it does not end");
  }

  /** Reads a length and returns the position where the measured bytes end. */
  lengthEnd(): number {
    const length = this.varint();
    const end = this.position + length;
    if (length < 0 || end > this.#bytes.length) throw malformed("a length in it is invalid");
    return end;
  }

  bytes(): Buffer | null {
    const start = this.skipBytes();
    return start === null ? null : this.#bytes.subarray(start, this.position);
  }

  /** Returns where the skipped bytes start; null for a length of −1. */
  skipBytes(): number | null {
    const length = this.varint();
    if (length === -1) return null;
    const start = this.position;
    this.position += length;
    if (length < 0 || this.position > this.#bytes.length) throw malformed("a length in it is invalid");
    return start;
  }

  headers(): readonly Header[] {
    const count = this.varint();
    this.headerCount = count;
    if (count === 0) return NO_HEADERS;
    if (count < 0) throw malformed("the number of its headers is negative");
    const headers: Header[] = [];
    for (let i = 0; i < count; i++) {
      const end = this.lengthEnd();
      if (i < mostHeadersRead) {
        this.reserve(HEADER_OBJECT_BYTES + CHARACTER_BYTES * (end - this.position));
        const key = this.#bytes.toString("utf8", this.position, end);
        this.position = end;
        headers.push({ key, value: this.bytes() });
      } else {
        this.position = end;
        this.skipBytes();
      }
    }
    return headers;
  }
}
