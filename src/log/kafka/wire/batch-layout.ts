// Layout of Kafka's record batch, message format v2, and its checksum. All numbers are big-endian:
//   0 base offset   8 length of the rest   12 leader epoch   16 magic   17 CRC-32C of the rest
//   21 attributes   23 last offset delta   27 base timestamp   35 max timestamp   43 producer id
//   51 producer epoch   53 base sequence   57 number of records   61 records, compressed together
//
// `fetched-records.ts` reads batches, `producer.ts` writes them.

/** Size of the batch header; the records follow. */
export const BATCH_HEADER_BYTES = 61;

/** Position of each header field. The field `length` counts what follows `lengthEnd`. */
export const headerAt = {
  length: 8,
  lengthEnd: 12,
  magic: 16,
  crc: 17,
  attributes: 21,
  lastOffsetDelta: 23,
  baseTimestamp: 27,
  maxTimestamp: 35,
  producerId: 43,
  producerEpoch: 51,
  baseSequence: 53,
  recordCount: 57,
} as const;

export const MAGIC = 2;

export const attributeBits = {
  codec: 0x07,
  logAppendTime: 0x08,
  transactional: 0x10,
  control: 0x20,
} as const;

// CRC-32C (Castagnoli), eight bytes per step ("slicing by 8"). Node has no CRC-32C before version 24, and the libraries
// are native or work byte by byte.

const REVERSED_POLYNOMIAL = 0x82f63b78;
const SLICES = 8;

/** Table k holds the effect of a byte followed by k more bytes. The tables are stored one after the other. */
const tables = makeTables();

function makeTables(): Int32Array {
  const made = new Int32Array(SLICES * 256);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ ((crc & 1) === 0 ? 0 : REVERSED_POLYNOMIAL);
    made[byte] = crc;
  }
  for (let i = 256; i < made.length; i++) {
    const before = made[i - 256];
    made[i] = (before >>> 8) ^ made[before & 0xff];
  }
  return made;
}

/** As an unsigned 32-bit number. */
export function crc32c(bytes: Uint8Array): number {
  let crc = -1;
  let i = 0;
  for (const end = bytes.length - (SLICES - 1); i < end; i += SLICES) {
    const low = crc ^ (bytes[i] | (bytes[i + 1] << 8) | (bytes[i + 2] << 16) | (bytes[i + 3] << 24));
    crc =
      tables[0x700 | (low & 0xff)] ^
      tables[0x600 | ((low >>> 8) & 0xff)] ^
      tables[0x500 | ((low >>> 16) & 0xff)] ^
      tables[0x400 | (low >>> 24)] ^
      tables[0x300 | bytes[i + 4]] ^
      tables[0x200 | bytes[i + 5]] ^
      tables[0x100 | bytes[i + 6]] ^
      tables[bytes[i + 7]];
  }
  for (; i < bytes.length; i++) crc = (crc >>> 8) ^ tables[(crc ^ bytes[i]) & 0xff];
  return ~crc >>> 0;
}
