// Reads and writes LZ4 and Snappy blocks. Both formats consist of literals and copies of earlier bytes, so they share
// one bounded output and one search for repetitions. The caller handles the framing.
//
// The libraries on npm do not fit. The native ones ship their binaries as optional packages, which an installation
// may leave out, and decompress LZ4 without a bound. Crafted bytes can make the Snappy decoder in plain JavaScript
// run forever.

/** The output has no room left, although the block is within its own limit. */
export class OutputFullError extends Error {}

/** Receives literals and copies of earlier output. Refuses to write past its end or past the current block. */
export class BlockOutput {
  readonly #bytes: Buffer;
  #length = 0;
  /** Copies may reach back to here. */
  #floor = 0;
  #ceiling = 0;

  constructor(size: number) {
    this.#bytes = Buffer.allocUnsafe(size);
  }

  get length(): number {
    return this.#length;
  }

  /** Linked blocks may also copy from the blocks before them. */
  beginBlock(maxBytes: number, isLinked = false): void {
    if (!isLinked) this.#floor = this.#length;
    this.#ceiling = this.#length + maxBytes;
  }

  literals(source: Buffer, start: number, count: number): void {
    if (start + count > source.length) throw new Error("a block ends too early");
    const bytes = this.#bytes;
    const to = this.#reserve(count);
    if (count > 64) bytes.set(source.subarray(start, start + count), to);
    else for (let i = 0; i < count; i++) bytes[to + i] = source[start + i];
  }

  copy(distance: number, count: number): void {
    const bytes = this.#bytes;
    const to = this.#reserve(count);
    const from = to - distance;
    if (distance < 1 || from < this.#floor) throw new Error("a block copies from before its beginning");
    // Byte by byte if the ranges overlap, because a copy may repeat bytes that it has just written.
    if (count > 64 && distance >= count) bytes.copyWithin(to, from, from + count);
    else for (let i = 0; i < count; i++) bytes[to + i] = bytes[from + i];
  }

  /** A view, or a copy if a view would keep much more memory alive than it shows. */
  finished(): Buffer {
    const view = this.#bytes.subarray(0, this.#length);
    return this.#length * 2 < this.#bytes.length ? Buffer.from(view) : view;
  }

  #reserve(count: number): number {
    const to = this.#length;
    if (to + count > this.#ceiling) throw new Error("a block gives more than it may");
    if (to + count > this.#bytes.length) throw new OutputFullError("the output is full");
    this.#length = to + count;
    return to;
  }
}

export function readLz4Block(block: Buffer, output: BlockOutput): void {
  let at = 0;
  // A length of 15 continues in the following bytes, up to the first one that is not 255.
  const longer = (length: number): number => {
    let sum = length;
    for (let byte = 255; byte === 255; sum += byte) {
      if (at >= block.length) throw new Error("a block ends too early");
      byte = block[at++];
    }
    return sum;
  };
  while (at < block.length) {
    const token = block[at++];
    const literals = token >> 4 === 15 ? longer(15) : token >> 4;
    output.literals(block, at, literals);
    at += literals;
    if (at === block.length) return; // the last sequence has only literals
    if (at + 2 > block.length) throw new Error("a block ends too early");
    const distance = block[at] | (block[at + 1] << 8);
    at += 2;
    output.copy(distance, 4 + ((token & 15) === 15 ? longer(15) : token & 15));
  }
}

/** `start` is the position after the declared length. */
export function readSnappyBlock(block: Buffer, start: number, output: BlockOutput): void {
  let at = start;
  while (at < block.length) {
    const tag = block[at++];
    const upper = tag >> 2;
    switch (tag & 3) {
      case 0: {
        const size = upper < 60 ? 0 : upper - 59;
        const count = 1 + (size === 0 ? upper : snappyNumber(block, at, size));
        output.literals(block, at + size, count);
        at += size + count;
        break;
      }
      case 1:
        output.copy(((tag >> 5) << 8) | block[at], 4 + (upper & 7));
        at += 1;
        break;
      case 2:
        output.copy(block[at] | (block[at + 1] << 8), 1 + upper);
        at += 2;
        break;
      default:
        output.copy(snappyNumber(block, at, 4), 1 + upper);
        at += 4;
    }
  }
  if (at > block.length) throw new Error("a block ends too early");
}

/** Little-endian. Bytes past the end of a block count as 0; the caller then notices that it has read too far. */
function snappyNumber(block: Buffer, at: number, size: number): number {
  let value = 0;
  for (let i = size - 1; i >= 0; i--) value = value * 256 + (block[at + i] ?? 0);
  return value;
}

/** The largest block written, so that every distance in it fits 16 bits. */
export const WRITTEN_BLOCK_BYTES = 64 * 1024;

interface BlockWriter {
  literals(start: number, end: number): void;
  copy(distance: number, count: number): void;
}

const HASH_BITS = 14;
const lastPlaceByHash = new Uint16Array(1 << HASH_BITS);
/** LZ4 allows no copy to start in the last 12 bytes of a block, and none to reach its last 5 bytes. */
const NO_COPY_BEGINS_BYTES = 12;
const NO_COPY_REACHES_BYTES = 5;
/** After 2^6 positions without a match, only every second position is tried, then every third. */
const PATIENCE_BITS = 6;

/** Scans the block once and passes its literals and its copies of at least four bytes to the writer. */
function findCopies(block: Buffer, writer: BlockWriter): void {
  const lastStart = block.length - NO_COPY_BEGINS_BYTES;
  const lastEnd = block.length - NO_COPY_REACHES_BYTES;
  lastPlaceByHash.fill(0);
  let written = 0;
  for (let at = 1, tried = 1 << PATIENCE_BITS; at <= lastStart; ) {
    const word = fourBytes(block, at);
    const hash = Math.imul(word, 0x9e3779b1) >>> (32 - HASH_BITS);
    const before = lastPlaceByHash[hash];
    lastPlaceByHash[hash] = at;
    if (fourBytes(block, before) !== word) {
      at += tried++ >> PATIENCE_BITS;
      continue;
    }
    let end = at + 4;
    for (const distance = at - before; end < lastEnd && block[end] === block[end - distance]; ) end++;
    writer.literals(written, at);
    writer.copy(at - before, end - at);
    at = end;
    written = end;
    tried = 1 << PATIENCE_BITS;
  }
  writer.literals(written, block.length);
}

function fourBytes(bytes: Buffer, at: number): number {
  return bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24);
}

/** Collects a compressed block. */
class BlockBuffer {
  readonly bytes: Buffer;
  length = 0;

  constructor(maxBytes: number) {
    this.bytes = Buffer.allocUnsafe(maxBytes);
  }

  add(byte: number): void {
    this.bytes[this.length++] = byte;
  }

  append(source: Buffer, start: number, end: number): void {
    const { bytes, length } = this;
    if (end - start > 64) source.copy(bytes, length, start, end);
    else for (let i = start; i < end; i++) bytes[length + i - start] = source[i];
    this.length = length + end - start;
  }

  finished(): Buffer {
    return this.bytes.subarray(0, this.length);
  }
}

export function writeLz4Block(block: Buffer): Buffer {
  const target = new BlockBuffer(block.length + Math.ceil(block.length / 255) + 16);
  let tokenAt = 0;
  const addLonger = (length: number): void => {
    let rest = length - 15;
    for (; rest >= 255; rest -= 255) target.add(255);
    if (rest >= 0) target.add(rest);
  };
  findCopies(block, {
    literals(start, end) {
      tokenAt = target.length;
      target.add(Math.min(15, end - start) << 4);
      addLonger(end - start);
      target.append(block, start, end);
    },
    copy(distance, count) {
      target.add(distance & 0xff);
      target.add(distance >> 8);
      target.bytes[tokenAt] |= Math.min(15, count - 4);
      addLonger(count - 4);
    },
  });
  return target.finished();
}

/** Starts with the declared length. */
export function writeSnappyBlock(block: Buffer): Buffer {
  const target = new BlockBuffer(block.length + Math.ceil(block.length / 6) + 32);
  let size = block.length;
  for (; size >= 0x80; size >>>= 7) target.add((size & 0x7f) | 0x80);
  target.add(size);
  findCopies(block, {
    literals(start, end) {
      const upper = end - start - 1;
      if (upper < 0) return;
      target.add((upper < 60 ? upper : upper < 0x100 ? 60 : 61) << 2);
      if (upper >= 60) target.add(upper & 0xff);
      if (upper >= 0x100) target.add(upper >> 8);
      target.append(block, start, end);
    },
    copy(distance, count) {
      let rest = count;
      for (; rest > 0 && (rest > 11 || rest < 4 || distance >= 2048); rest -= Math.min(64, rest)) {
        target.add(((Math.min(64, rest) - 1) << 2) | 2);
        target.add(distance & 0xff);
        target.add(distance >> 8);
      }
      if (rest === 0) return;
      // The short form has three bits of length and eleven of distance.
      target.add(((distance >> 8) << 5) | ((rest - 4) << 2) | 1);
      target.add(distance & 0xff);
    },
  });
  return target.finished();
}
