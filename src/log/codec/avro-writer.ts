// Writes Avro values one after the other into slabs of memory, for the records of the hot path: a forecast is
// hundreds of doubles, which avsc writes one by one. Knows no schema: writers.generated.ts calls it field by field.

/** Some 25 forecasts. A value keeps its slab alive, so this is also the most memory that one can hold. */
const slabBytes = 64 * 1024;

/** A record as the generated writers take it: an array of doubles, or bytes that hold numbers, may be a typed array. */
export type Writable<T> = T extends Uint8Array
  ? Uint8Array | Uint16Array | Float32Array | Float64Array
  : T extends readonly number[]
    ? T | Float64Array
    : T extends readonly (infer Item)[]
      ? readonly Writable<Item>[]
      : T extends object
        ? { readonly [Field in keyof T]: Writable<T[Field]> }
        : T;

export class AvroWriter {
  /** Whether arrays of doubles are written with single precision, as the schema of `withFloats` says. */
  readonly #hasFloats: boolean;
  #slab = Buffer.allocUnsafeSlow(slabBytes);
  #view = new DataView(this.#slab.buffer);
  /** Where the current value begins; values before it have been handed out. */
  #start = 0;
  #position = 0;

  constructor({ hasFloats = false } = {}) {
    this.#hasFloats = hasFloats;
  }

  /** Begins a new value after a constant prefix. */
  begin(prefix: Buffer): void {
    this.#start = this.#position;
    this.#append(prefix);
  }

  /** The bytes written since `begin`. They are never written again. */
  end(): Buffer {
    return this.#slab.subarray(this.#start, this.#position);
  }

  /** An int, a long, a count, or the index of a branch or symbol: any safe integer. */
  writeLong(value: number): void {
    if (!Number.isSafeInteger(value))
      throw new TypeError(`Avro cannot hold ${value} as a long: not a safe integer`);
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

  /** The numbers of a typed array are written little-endian. */
  writeBytes(bytes: Uint8Array | Uint16Array | Float32Array | Float64Array): void {
    this.writeLong(bytes.byteLength);
    if (bytes instanceof Float32Array) this.#appendFloats(bytes);
    else if (bytes instanceof Float64Array) this.#appendDoubles(bytes);
    else if (bytes instanceof Uint16Array)
      this.#append(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    else this.#append(bytes);
  }

  /** An array of doubles. */
  writeDoubles(values: readonly number[] | Float64Array): void {
    this.beginArray(values.length);
    // A loop for each kind of array: one that meets all of them would be compiled for none.
    if (this.#hasFloats) this.#appendAsFloats(values);
    else if (values instanceof Float64Array) this.#appendDoubles(values);
    else this.#appendNumbers(values);
    this.endArray();
  }

  /** The caller writes the items; an array without any has no block. */
  beginArray(length: number): void {
    if (length > 0) this.writeLong(length);
  }

  endArray(): void {
    this.writeLong(0);
  }

  #append(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#slab.set(bytes, this.#position);
    this.#position += bytes.length;
  }

  #appendNumbers(values: readonly number[]): void {
    const { length } = values;
    this.#reserve(8 * length);
    const view = this.#view;
    let position = this.#position;
    for (let i = 0; i < length; i++, position += 8) {
      if (typeof values[i] !== "number") throw new TypeError(`${values[i]} is not a number`);
      view.setFloat64(position, values[i], true);
    }
    this.#position = position;
  }

  #appendAsFloats(values: readonly number[] | Float64Array): void {
    const { length } = values;
    this.#reserve(4 * length);
    const view = this.#view;
    let position = this.#position;
    for (let i = 0; i < length; i++, position += 4) {
      if (typeof values[i] !== "number") throw new TypeError(`${values[i]} is not a number`);
      view.setFloat32(position, values[i], true);
    }
    this.#position = position;
  }

  #appendDoubles(values: Float64Array): void {
    const { length } = values;
    this.#reserve(8 * length);
    const view = this.#view;
    let position = this.#position;
    for (let i = 0; i < length; i++, position += 8) view.setFloat64(position, values[i], true);
    this.#position = position;
  }

  #appendFloats(values: Float32Array): void {
    const { length } = values;
    this.#reserve(4 * length);
    const view = this.#view;
    let position = this.#position;
    for (let i = 0; i < length; i++, position += 4) view.setFloat32(position, values[i], true);
    this.#position = position;
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

  /** Moves the current value to a new slab when this one has no room for the bytes. */
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
