// Writes Avro values into one growing scratch buffer. For the hot path only: a forecast of 24 steps and 9
// quantiles takes avsc 7 µs, most of it in single doubles, and this half of that.

const scratchBytes = 64 * 1024;

export class AvroWriter {
  #buffer = Buffer.allocUnsafeSlow(scratchBytes);
  #view = new DataView(this.#buffer.buffer);
  #position = 0;

  /** Begins a new value behind a constant prefix. */
  begin(prefix: Buffer): void {
    this.#position = 0;
    this.#reserve(prefix.length);
    this.#buffer.set(prefix);
    this.#position = prefix.length;
  }

  /** A copy of what was written since `begin`. */
  end(): Buffer {
    const bytes = Buffer.allocUnsafe(this.#position);
    this.#buffer.copy(bytes, 0, 0, this.#position);
    return bytes;
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
      this.#buffer[this.#position++] = (low & 0x7f) | 0x80;
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
    const length = Buffer.byteLength(text, "utf8");
    this.writeLong(length);
    this.#reserve(length);
    this.#buffer.write(text, this.#position, "utf8");
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

  writeArray<T>(items: readonly T[], write: (item: T) => void): void {
    if (items.length > 0) {
      this.writeLong(items.length);
      for (const item of items) write(item);
    }
    this.writeLong(0);
  }

  /** A number below 2^28, lowest seven bits first. */
  #writeGroups(value: number): void {
    let rest = value;
    while (rest > 0x7f) {
      this.#buffer[this.#position++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#buffer[this.#position++] = rest;
  }

  #reserve(bytes: number): void {
    const needed = this.#position + bytes;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(2 * needed);
    this.#buffer.copy(larger, 0, 0, this.#position);
    this.#buffer = larger;
    this.#view = new DataView(larger.buffer);
  }
}
