// A place in Avro bytes. Trusts no length: whatever would read past the end throws MalformedBytes, so work
// and memory are bounded by the bytes that are really there.

import { isUtf8 } from "node:buffer";

/** The bytes are not what their schema says. */
export class MalformedBytes extends Error {
  constructor(message: string) {
    super(message);
    this.name = "MalformedBytes";
  }
}

export class AvroCursor {
  readonly buffer: Buffer;
  position: number;

  constructor(buffer: Buffer, position: number) {
    this.buffer = buffer;
    this.position = position;
  }

  get remaining(): number {
    return this.buffer.length - this.position;
  }

  /** Moves over `length` bytes and returns where they begin. */
  take(length: number): number {
    const start = this.position;
    if (length < 0 || length > this.buffer.length - start) {
      throw new MalformedBytes(
        `${length} bytes announced at byte ${start}, ${this.buffer.length - start} left`,
      );
    }
    this.position = start + length;
    return start;
  }

  /** An int or a long: zigzag, seven bits a byte. Beyond 2^53 the nearest number. */
  readLong(): number {
    let byte = this.buffer[this.take(1)];
    const isNegative = (byte & 1) === 1;
    let magnitude = (byte & 0x7f) >> 1;
    for (let weight = 64; byte >= 0x80; weight *= 128) {
      // Ten bytes hold 64 bits; the tenth weighs 2^62.
      if (weight > 2 ** 62) throw new MalformedBytes(`a number ends nowhere near byte ${this.position}`);
      byte = this.buffer[this.take(1)];
      magnitude += (byte & 0x7f) * weight;
    }
    return isNegative ? -magnitude - 1 : magnitude;
  }

  readFloat(): number {
    return this.buffer.readFloatLE(this.take(4));
  }

  readDouble(): number {
    return this.buffer.readDoubleLE(this.take(8));
  }

  readString(): string {
    const length = this.readLong();
    const start = this.take(length);
    const text = this.buffer.toString("utf8", start, start + length);
    // Bytes that are no UTF-8 read as U+FFFD, and two different names would become one.
    if (text.includes("\ufffd") && !isUtf8(this.buffer.subarray(start, start + length))) {
      throw new MalformedBytes(`the text at byte ${start} is not UTF-8`);
    }
    return text;
  }

  /**
   * The items of an array or map, block after block. `items` is called with a count that the remaining
   * bytes could hold, or with any count if an item may take no bytes at all (`leastBytes` 0).
   */
  readBlocks(leastBytes: number, items: (count: number) => void): void {
    for (let count = this.readLong(); count !== 0; count = this.readLong()) {
      // A negative count is followed by the size of the block in bytes.
      const size = count < 0 ? this.readLong() : -1;
      const start = this.position;
      const length = Math.abs(count);
      if (length * leastBytes > this.remaining) {
        throw new MalformedBytes(`${length} items announced at byte ${start}, ${this.remaining} bytes left`);
      }
      items(length);
      if (size >= 0 && this.position !== start + size) {
        throw new MalformedBytes(`a block of ${size} bytes at byte ${start} ends elsewhere`);
      }
    }
  }
}
