// Writes Avro values one behind the other into slabs of memory. For the hot path only: a forecast is hundreds of
// doubles, which avsc writes one by one.

/** Holds some 25 forecasts. What is handed out keeps its slab alive, so this is also the most a single one can. */
const slabBytes = 64 * 1024;

export class AvroWriter {
  #slab = Buffer.allocUnsafeSlow(slabBytes);
  #view = new DataView(this.#slab.buffer);
  /** Where the present value begins; what lies before it has been handed out. */
  #start = 0;
  #position = 0;

  /** Begins a new value behind a constant prefix. */
  begin(prefix: Buffer): void {
    this.#start = this.#position;
    this.#reserve(prefix.length);
    this.#slab.set(prefix, this.#position);
    this.#position += prefix.length;
  }

  /** What was written since `begin`; nobody writes there again. */
  end(): Buffer {
    return this.#slab.subarray(this.#start, this.#position);
  }

  /** An int, a long, a count or the index of a branch or symbol: any safe integer. */
  writeLong(value: number): void {
    if (!Number.isSafeInteger(value))
      throw new TypeError(`${value} is not a whole number that Avro can hold`);
    this.#reserve(10);
    // Zigzag: the sign goes to the lowest bit. Then seven bits a byte; the part above 28 bits comes last.
    const zigzag = value >= 0 ? value * 2 : -value * 2 - 1;
    const high = Math.floor(zigzag / 2 ** 28);
    let low = zigzag % 2 ** 28;
    if (high === 0) {
      this.#writeGroups(low);
      return;
    }
    for (let group = 0; group < 4; group++) {
      this.#slab[this.#position++] = (low & 0x7f) | 0x80;
      low >>>= 7;
    }
    this.#writeGroups(high);
  }

  writeDouble(value: number): void {
    if (typeof value !== "number") throw new TypeError(`${value} is not a number`);
    this.#reserve(8);
    this.#view.setFloat64(this.#position, value, true);
    this.#position += 8;
  }

  writeString(text: string): void {
    if (text.length < 64 && this.#writeShortAscii(text)) return;
    const length = Buffer.byteLength(text, "utf8");
    this.writeLong(length);
    this.#reserve(length);
    this.#slab.write(text, this.#position, "utf8");
    this.#position += length;
  }

  writeDoubles(values: readonly number[]): void {
    const count = values.length;
    if (count > 0) {
      this.writeLong(count);
      this.#reserve(count * 8);
      const view = this.#view;
      let position = this.#position;
      for (let i = 0; i < count; i++, position += 8) {
        if (typeof values[i] !== "number") throw new TypeError(`${values[i]} is not a number`);
        view.setFloat64(position, values[i], true);
      }
      this.#position = position;
    }
    this.writeLong(0);
  }

  /** Bytes that are an encoded value already. */
  writeEncoded(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#slab.set(bytes, this.#position);
    this.#position += bytes.length;
  }

  /** As bytes: Float64, little-endian. */
  writeDoublesAsBytes(values: Float64Array): void {
    const { length } = values;
    this.writeLong(8 * length);
    this.#reserve(8 * length);
    const view = this.#view;
    let position = this.#position;
    for (let i = 0; i < length; i++, position += 8) view.setFloat64(position, values[i], true);
    this.#position = position;
  }

  /** As bytes: Float32, little-endian. */
  writeFloatsAsBytes(values: Float32Array): void {
    const { length } = values;
    this.writeLong(4 * length);
    this.#reserve(4 * length);
    const view = this.#view;
    let position = this.#position;
    for (let i = 0; i < length; i++, position += 4) view.setFloat32(position, values[i], true);
    this.#position = position;
  }

  writeArray<T>(items: readonly T[], write: (item: T) => void): void {
    if (items.length > 0) {
      this.writeLong(items.length);
      for (const item of items) write(item);
    }
    this.writeLong(0);
  }

  /** Most texts are short names, for which a call out of the engine costs more than the bytes. */
  #writeShortAscii(text: string): boolean {
    const { length } = text;
    this.#reserve(length + 1);
    const slab = this.#slab;
    const start = this.#position + 1;
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i);
      if (code > 0x7f) return false;
      slab[start + i] = code;
    }
    slab[start - 1] = length * 2; // zigzag, in a single byte below 64
    this.#position = start + length;
    return true;
  }

  /** A number below 2^28, lowest seven bits first. */
  #writeGroups(value: number): void {
    let rest = value;
    while (rest > 0x7f) {
      this.#slab[this.#position++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#slab[this.#position++] = rest;
  }

  /** Moves to a fresh slab, with what the present value has so far, when this one cannot take the bytes. */
  #reserve(bytes: number): void {
    if (this.#position + bytes <= this.#slab.length) return;
    const written = this.#slab.subarray(this.#start, this.#position);
    this.#slab = Buffer.allocUnsafeSlow(Math.max(slabBytes, 2 * (written.length + bytes)));
    this.#view = new DataView(this.#slab.buffer);
    this.#slab.set(written);
    this.#start = 0;
    this.#position = written.length;
  }
}
