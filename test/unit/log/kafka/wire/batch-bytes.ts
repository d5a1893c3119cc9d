// Record batches for tests, as a broker stores them or deliberately damaged.

import assert from "node:assert/strict";
import {
  type BatchOptions,
  type EncodableRecord,
  encodeRecordBatch,
} from "../../../../../src/log/kafka/producer.ts";
import { BATCH_HEADER_BYTES, crc32c } from "../../../../../src/log/kafka/wire/batch-layout.ts";
import type { Compression } from "../../../../../src/log/kafka/wire/compression.ts";
import { type DecodedBatch, decodeRecordSet } from "../../../../../src/log/kafka/wire/fetched-records.ts";

export const codecs: readonly Compression[] = ["none", "gzip", "snappy", "lz4", "zstd"];
export const LIMIT = 16 * 1024 * 1024;
export const plain: BatchOptions = {
  producerId: -1,
  producerEpoch: -1,
  firstSequence: -1,
  isTransactional: false,
  compression: "none",
  timestampMs: 1_700_000_000_123,
};

export const record = (value: string | null, key: string | null = null): EncodableRecord => ({
  key: key === null ? null : Buffer.from(key),
  value: value === null ? null : Buffer.from(value),
});

/** Sets the offset as a broker does; the checksum does not cover it. */
export function stored(batch: Buffer, firstOffset: bigint): Buffer {
  const copy = Buffer.from(batch);
  copy.writeBigInt64BE(firstOffset);
  return copy;
}

/** Changes some bytes of a batch and sets the matching checksum. */
export function altered(batch: Buffer, change: (copy: Buffer) => void): Buffer {
  const copy = Buffer.from(batch);
  change(copy);
  copy.writeUInt32BE(crc32c(copy.subarray(21)), 17);
  return copy;
}

/** An uncompressed batch around these bytes. */
export function around(records: Buffer, count: number): Buffer {
  const batch = Buffer.concat([
    encodeRecordBatch([record("")], plain).subarray(0, BATCH_HEADER_BYTES),
    records,
  ]);
  batch.writeInt32BE(batch.length - 12, 8);
  return altered(batch, (copy) => {
    copy.writeInt32BE(count - 1, 23);
    copy.writeInt32BE(count, 57);
  });
}

export function only(bytes: Buffer, maxBatchBytes = LIMIT): DecodedBatch {
  const batches = decodeRecordSet(bytes, maxBatchBytes);
  assert.equal(batches.length, 1);
  return batches[0] as DecodedBatch;
}
