// Compresses and decompresses the records of a Kafka batch, in all four codecs that Kafka supports. This file reads the
// framing around compressed blocks itself, because the framing bounds the decompressed size: a batch that claims
// gigabytes is refused before any memory is allocated for it.
//
// Checksums inside LZ4 frames are not verified, because the CRC of the batch covers the compressed bytes.

import { gunzipSync, gzipSync } from "node:zlib";
import { compress as compressZstd, decompress as decompressZstd, init as loadZstd } from "@bokuweb/zstd-wasm";
import {
  BlockOutput,
  OutputFullError,
  readLz4Block,
  readSnappyBlock,
  WRITTEN_BLOCK_BYTES,
  writeLz4Block,
  writeSnappyBlock,
} from "./lz-blocks.ts";

export type Compression = "none" | "gzip" | "snappy" | "lz4" | "zstd";

/** Indexed by the codec id in a batch's attributes. */
const codecs = ["none", "gzip", "snappy", "lz4", "zstd"] as const satisfies readonly Compression[];

await loadZstd(); // at load time, because batches are decoded synchronously

/** `codecId` is the lowest three bits of a batch's attributes. Throws if the result would exceed `maxBytes`. */
export function decompress(codecId: number, bytes: Buffer, maxBytes: number): Buffer {
  const codec = codecs[codecId];
  switch (codec) {
    case "none":
      if (bytes.length > maxBytes) throw tooLarge(codec, maxBytes);
      return bytes;
    case "gzip":
      return gunzip(bytes, maxBytes);
    case "snappy":
      return readSnappy(bytes, maxBytes);
    case "lz4":
      return readLz4(bytes, maxBytes);
    case "zstd":
      return readZstd(bytes, maxBytes);
    default:
      throw new Error(`the records are compressed with codec ${codecId}, which is unknown`);
  }
}

export function codecIdOf(compression: Compression): number {
  return codecs.indexOf(compression);
}

export function compress(compression: Compression, bytes: Buffer): Buffer {
  switch (compression) {
    case "none":
      return bytes;
    case "gzip":
      return gzipSync(bytes);
    case "snappy":
      return writeSnappy(bytes);
    case "lz4":
      return writeLz4(bytes);
    case "zstd":
      return bufferOver(compressZstd(bytes, ZSTD_LEVEL));
  }
}

function tooLarge(codec: Compression, maxBytes: number): Error {
  return new Error(`the ${codec} records take more than ${maxBytes} bytes when decompressed`);
}

function damaged(codec: Compression, reason: string): Error {
  return new Error(`the ${codec} records cannot be decompressed: ${reason}`);
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function bufferOver({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

function gunzip(bytes: Buffer, maxBytes: number): Buffer {
  try {
    // zlib does not accept a limit of 0.
    return gunzipSync(bytes, { maxOutputLength: Math.max(1, maxBytes), chunkSize: 128 * 1024 });
  } catch (error) {
    const isTooLarge = error instanceof Error && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE";
    throw isTooLarge ? tooLarge("gzip", maxBytes) : damaged("gzip", reasonOf(error));
  }
}

// Snappy. Java clients wrap blocks in the framing of the xerial library; librdkafka writes one bare block. All clients
// read both.

const XERIAL_MAGIC = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00]);
/** The magic bytes, the version and the oldest compatible version. */
const XERIAL_HEADER = Buffer.concat([XERIAL_MAGIC, Buffer.from([0, 0, 0, 1, 0, 0, 0, 1])]);

function writeSnappy(bytes: Buffer): Buffer {
  const parts: Buffer[] = [XERIAL_HEADER];
  for (let start = 0; start < bytes.length; start += WRITTEN_BLOCK_BYTES) {
    const block = writeSnappyBlock(bytes.subarray(start, start + WRITTEN_BLOCK_BYTES));
    const length = Buffer.allocUnsafe(4);
    length.writeUInt32BE(block.length);
    parts.push(length, block);
  }
  return Buffer.concat(parts);
}

function readSnappy(bytes: Buffer, maxBytes: number): Buffer {
  let total = 0;
  for (const { size } of snappyBlocksOf(bytes)) total += size;
  if (total > maxBytes) throw tooLarge("snappy", maxBytes);
  const output = new BlockOutput(total);
  for (const { block, size, start } of snappyBlocksOf(bytes)) {
    const end = output.length + size;
    output.beginBlock(size);
    try {
      readSnappyBlock(block, start, output);
    } catch (error) {
      throw damaged("snappy", reasonOf(error));
    }
    if (output.length !== end) throw damaged("snappy", "a block gives less than it declares");
  }
  return output.finished();
}

interface SnappyBlock {
  readonly block: Buffer;
  /** The declared decompressed size. */
  readonly size: number;
  /** Where the compressed data starts, after the declared size. */
  readonly start: number;
}

function* snappyBlocksOf(bytes: Buffer): Generator<SnappyBlock> {
  if (!bytes.subarray(0, XERIAL_MAGIC.length).equals(XERIAL_MAGIC)) return yield measureSnappyBlock(bytes);
  for (let start = XERIAL_HEADER.length; start < bytes.length; ) {
    const length = start + 4 <= bytes.length ? bytes.readUInt32BE(start) : Infinity;
    const end = start + 4 + length;
    if (end > bytes.length) throw damaged("snappy", "they end inside a block");
    yield measureSnappyBlock(bytes.subarray(start + 4, end));
    start = end;
  }
}

/** The size is a varint of up to 32 bits. */
function measureSnappyBlock(block: Buffer): SnappyBlock {
  for (let i = 0, size = 0, scale = 1; i < 5 && i < block.length; i++, scale *= 128) {
    const byte = block[i];
    size += (byte & 0x7f) * scale;
    if (byte < 0x80) return { block, size, start: i + 1 };
  }
  throw damaged("snappy", "a block declares no size");
}

// LZ4 frames.

const LZ4_MAGIC = 0x184d2204;
/** Version 1, independent blocks of at most 64 KiB (the Java client reads no other kind). */
const LZ4_HEADER = Buffer.from([0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82]);
const LZ4_END = Buffer.alloc(4);
/** Indexed by the three size bits of the block descriptor. */
const LZ4_BLOCK_BYTES = [0, 0, 0, 0, 64 * 1024, 256 * 1024, 1024 * 1024, 4 * 1024 * 1024];
const LZ4_LARGEST_RATIO = 255;
const LZ4_STORED_BIT = 0x80000000;

interface Lz4Block {
  readonly data: Buffer;
  readonly isStored: boolean;
  readonly isLinked: boolean;
  readonly maxBytes: number;
}

function writeLz4(bytes: Buffer): Buffer {
  const parts: Buffer[] = [LZ4_HEADER];
  for (let start = 0; start < bytes.length; start += WRITTEN_BLOCK_BYTES) {
    const data = bytes.subarray(start, start + WRITTEN_BLOCK_BYTES);
    const packed = writeLz4Block(data);
    const isStored = packed.length >= data.length;
    const length = Buffer.allocUnsafe(4);
    length.writeUInt32LE(isStored ? data.length + LZ4_STORED_BIT : packed.length);
    parts.push(length, isStored ? data : packed);
  }
  return Buffer.concat([...parts, LZ4_END]);
}

function readLz4(bytes: Buffer, maxBytes: number): Buffer {
  try {
    let most = 0;
    for (const block of lz4BlocksOf(bytes)) most += block.maxBytes;
    const output = new BlockOutput(Math.min(most, maxBytes));
    for (const block of lz4BlocksOf(bytes)) {
      output.beginBlock(block.maxBytes, block.isLinked);
      if (block.isStored) output.literals(block.data, 0, block.data.length);
      else readLz4Block(block.data, output);
    }
    return output.finished();
  } catch (error) {
    if (error instanceof OutputFullError) throw tooLarge("lz4", maxBytes);
    throw damaged("lz4", error instanceof RangeError ? "they end inside a frame" : reasonOf(error));
  }
}

/** The blocks of all frames, in order. */
function* lz4BlocksOf(bytes: Buffer): Generator<Lz4Block> {
  for (let position = 0; position < bytes.length; ) {
    const { flags, largest, end } = readLz4Header(bytes, position);
    position = end;
    for (let isFirst = true; ; isFirst = false) {
      const word = bytes.readUInt32LE(position);
      position += 4;
      if (word === 0) break;
      const length = word % LZ4_STORED_BIT;
      if (length > largest || position + length > bytes.length)
        throw new Error("a block has an invalid length");
      const isStored = word >= LZ4_STORED_BIT;
      yield {
        data: bytes.subarray(position, position + length),
        isStored,
        isLinked: !isFirst && (flags & 0x20) === 0,
        maxBytes: isStored ? length : Math.min(largest, length * LZ4_LARGEST_RATIO),
      };
      position += length + ((flags & 0x10) === 0 ? 0 : 4); // the block's checksum
    }
    position += (flags & 0x04) === 0 ? 0 : 4; // the content's checksum
  }
}

function readLz4Header(bytes: Buffer, start: number): { flags: number; largest: number; end: number } {
  if (bytes.readUInt32LE(start) !== LZ4_MAGIC) throw new Error("they are not an LZ4 frame");
  const flags = bytes.readUInt8(start + 4);
  const largest = LZ4_BLOCK_BYTES[(bytes.readUInt8(start + 5) >> 4) & 7];
  if (flags >> 6 !== 1 || largest === 0) throw new Error("the header of a frame is invalid");
  if ((flags & 1) !== 0) throw new Error("a frame needs a dictionary");
  const contentSizeBytes = (flags & 0x08) === 0 ? 0 : 8;
  return { flags, largest, end: start + 6 + contentSizeBytes + 1 }; // plus the header checksum
}

// Zstandard. The library allocates the size that a frame declares. If the frame declares none, as frames of Java
// clients do, it allocates the size passed to it. This file determines both sizes from the headers of the frame and
// its blocks.

const ZSTD_LEVEL = 3;
/** The library's error number for a result that does not fit. */
const ZSTD_TOO_SMALL = / -70$/;

function readZstd(bytes: Buffer, maxBytes: number): Buffer {
  const parts: Buffer[] = [];
  let room = maxBytes;
  for (let start = 0; start < bytes.length; ) {
    const { part, end } = readZstdFrame(bytes, start, room);
    if (part === null) throw tooLarge("zstd", maxBytes);
    room -= part.length;
    parts.push(part);
    start = end;
  }
  return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
}

/** `part` is null if the content of the frame exceeds `room`. */
function readZstdFrame(bytes: Buffer, start: number, room: number): { part: Buffer | null; end: number } {
  try {
    const { contentBytes, isDeclared, end } = measureZstdFrame(bytes, start);
    if (contentBytes === 0) return { part: Buffer.alloc(0), end };
    if (isDeclared && contentBytes > room) return { part: null, end };
    const defaultHeapSize = Math.min(contentBytes, room);
    try {
      const part = decompressZstd(bytes.subarray(start, end), { defaultHeapSize });
      return { part: bufferOver(part), end };
    } catch (error) {
      if (!isDeclared && ZSTD_TOO_SMALL.test(reasonOf(error))) return { part: null, end };
      // The library reports only an error number.
      throw new Error(`error${/ -\d+$/.exec(reasonOf(error))?.[0] ?? ""} of the zstd library`, {
        cause: error,
      });
    }
  } catch (error) {
    throw damaged("zstd", reasonOf(error));
  }
}

const ZSTD_MAGIC = 0xfd2fb528;
/** Without the last four bits, which may have any value. */
const ZSTD_SKIPPABLE_MAGIC = 0x184d2a5;
const ZSTD_BLOCK_BYTES = 128 * 1024;

interface ZstdFrame {
  readonly end: number;
  /** The maximum content size; exact if `isDeclared`. */
  readonly contentBytes: number;
  readonly isDeclared: boolean;
}

/** Measures the frame at `start` without decompressing it (RFC 8878). Throws if there is no whole frame. */
function measureZstdFrame(bytes: Buffer, start: number): ZstdFrame {
  try {
    const magic = bytes.readUInt32LE(start);
    if (magic >>> 4 === ZSTD_SKIPPABLE_MAGIC)
      return { end: start + 8 + bytes.readUInt32LE(start + 4), contentBytes: 0, isDeclared: true };
    if (magic !== ZSTD_MAGIC) throw new Error("they are not a zstd frame");
    return measureZstdBlocks(bytes, start);
  } catch (error) {
    throw error instanceof RangeError ? new Error("they end inside a frame") : error;
  }
}

function measureZstdBlocks(bytes: Buffer, start: number): ZstdFrame {
  const descriptor = bytes.readUInt8(start + 4);
  const sizeFlag = descriptor >> 6;
  const isSingleSegment = (descriptor & 0x20) !== 0;
  const sizeStart = start + 5 + (isSingleSegment ? 0 : 1) + ([0, 1, 2, 4][descriptor & 3] as number);
  const sizeBytes = sizeFlag === 0 ? Number(isSingleSegment) : 1 << sizeFlag;
  const declared = readZstdSize(bytes, sizeStart, sizeBytes);
  let position = sizeStart + sizeBytes;
  let contentBytes = 0;
  for (let isLast = false; !isLast; ) {
    const header = bytes.readUIntLE(position, 3);
    const length = header >> 3;
    const type = (header >> 1) & 3;
    isLast = (header & 1) === 1;
    // Block types: 0 stored, 1 one byte repeated `length` times, 2 compressed.
    contentBytes += type === 2 ? ZSTD_BLOCK_BYTES : length;
    position += 3 + (type === 1 ? 1 : length);
  }
  const end = position + ((descriptor & 4) === 0 ? 0 : 4); // checksum
  if (end > bytes.length) throw new Error("they end inside a frame");
  return { end, contentBytes: declared ?? contentBytes, isDeclared: declared !== null };
}

/** The content size that a frame declares; null if it declares none. */
function readZstdSize(bytes: Buffer, start: number, sizeBytes: number): number | null {
  if (sizeBytes === 0) return null;
  if (sizeBytes === 8) return Number(bytes.readBigUInt64LE(start));
  // A two-byte size starts at 256; smaller sizes use one byte.
  return bytes.readUIntLE(start, sizeBytes) + (sizeBytes === 2 ? 256 : 0);
}
