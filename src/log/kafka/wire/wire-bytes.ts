// Writes and reads the primitive types of Kafka's protocol.
//
// In compact request versions, a length is an unsigned varint holding length + 1, or 0 for null, and every structure
// ends with tagged fields. We send no tagged fields and skip those we receive.

/** Larger values are passed on and not copied. */
const COPIED_BYTES = 4096;

export class WireWriter {
  #buffer = Buffer.allocUnsafe(512);
  #length = 0;
  /** Where the last part begins in the buffer. */
  #start = 0;
  /** All parts but the last. */
  readonly #parts: Buffer[] = [];

  /** All that was written. A large value among the parts is the one that was passed in. */
  get parts(): readonly Buffer[] {
    const last = this.#buffer.subarray(this.#start, this.#length);
    if (this.#parts.length === 0) return [last];
    return last.length === 0 ? this.#parts : [...this.#parts, last];
  }

  get bytes(): Buffer {
    const { parts } = this;
    return parts.length === 1 ? parts[0] : Buffer.concat(parts);
  }

  int8(value: number): this {
    this.#length = this.#room(1).writeInt8(value, this.#length);
    return this;
  }

  int16(value: number): this {
    this.#length = this.#room(2).writeInt16BE(value, this.#length);
    return this;
  }

  int32(value: number): this {
    this.#length = this.#room(4).writeInt32BE(value, this.#length);
    return this;
  }

  int64(value: number): this {
    this.#length = this.#room(8).writeBigInt64BE(BigInt(value), this.#length);
    return this;
  }

  string(value: string | null): this {
    if (value === null) return this.int16(-1);
    const length = Buffer.byteLength(value);
    this.int16(length);
    const buffer = this.#room(length); // may move what was written
    this.#length += buffer.write(value, this.#length);
    return this;
  }

  blob(value: Buffer): this {
    return this.int32(value.length).raw(value);
  }

  /** Without a length prefix. */
  raw(value: Buffer): this {
    if (value.length > COPIED_BYTES) {
      this.#parts.push(this.#buffer.subarray(this.#start, this.#length), value);
      this.#start = this.#length;
      return this;
    }
    const buffer = this.#room(value.length); // may move what was written
    this.#length += value.copy(buffer, this.#length);
    return this;
  }

  uvarint(value: number): this {
    let left = value;
    for (; left > 0x7f; left >>>= 7) this.int8((((left & 0x7f) | 0x80) << 24) >> 24);
    return this.int8(left);
  }

  compactString(value: string | null): this {
    if (value === null) return this.uvarint(0);
    const bytes = Buffer.from(value);
    return this.uvarint(bytes.length + 1).raw(bytes);
  }

  compactArray<T>(items: readonly T[], write: (item: T) => unknown): this {
    this.uvarint(items.length + 1);
    for (const item of items) write(item);
    return this;
  }

  noTags(): this {
    return this.int8(0);
  }

  array<T>(items: readonly T[], write: (item: T) => unknown): this {
    this.int32(items.length);
    for (const item of items) write(item);
    return this;
  }

  #room(bytes: number): Buffer {
    if (this.#length + bytes > this.#buffer.length) {
      const last = this.#buffer.subarray(this.#start, this.#length);
      this.#buffer = Buffer.allocUnsafe(2 * (last.length + bytes) + 512);
      this.#length = last.copy(this.#buffer);
      this.#start = 0;
    }
    return this.#buffer;
  }
}

export class WireReader {
  readonly #buffer: Buffer;
  #at = 0;

  constructor(buffer: Buffer) {
    this.#buffer = buffer;
  }

  int16(): number {
    this.#at += 2;
    return this.#buffer.readInt16BE(this.#at - 2);
  }

  int32(): number {
    this.#at += 4;
    return this.#buffer.readInt32BE(this.#at - 4);
  }

  /** Offsets, ids and times all fit a double exactly. */
  int64(): number {
    this.#at += 8;
    return Number(this.#buffer.readBigInt64BE(this.#at - 8));
  }

  string(): string | null {
    const length = this.int16();
    return length < 0 ? null : this.raw(length).toString("utf8");
  }

  /** A view, not a copy. */
  blob(): Buffer {
    return this.raw(Math.max(0, this.int32()));
  }

  array<T>(read: () => T): T[] {
    return this.#items(this.int32(), read);
  }

  uvarint(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.raw(1)[0];
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  }

  compactString(): string | null {
    const length = this.uvarint() - 1;
    return length < 0 ? null : this.raw(length).toString("utf8");
  }

  compactArray<T>(read: () => T): T[] {
    return this.#items(this.uvarint() - 1, read);
  }

  skipTags(): void {
    for (let left = this.uvarint(); left > 0; left--) {
      this.uvarint(); // tag number
      this.raw(this.uvarint());
    }
  }

  #items<T>(length: number, read: () => T): T[] {
    const items: T[] = [];
    for (let i = 0; i < length; i++) items.push(read());
    return items;
  }

  /** A view, not a copy. */
  raw(length: number): Buffer {
    this.#at += length;
    if (this.#at > this.#buffer.length) throw new RangeError("the answer ends inside a value");
    return this.#buffer.subarray(this.#at - length, this.#at);
  }
}
