// The file format of models, for all families: format version, storage of the weights, checksum, a JSON header and numbers.
// Everything is little-endian; sections start at multiples of four.
//
//   byte    length   content
//   0       4        magic "FCNT"
//   4       2        version of this format
//   6       2        storage of the weights: 0 float32, 1 float16
//   8       4        H, length of the header, a multiple of 4
//   12      4        N, length of the numbers, a multiple of 4
//   16      32       SHA-256 of bytes 0 … 15 followed by all bytes from 48
//   48      H        header, JSON in UTF-8, padded with spaces
//   48 + H  N        numbers, section after section, each padded with zeros; or whole files of other models, one after another

import { createHash } from "node:crypto";
import { ForecastnetError } from "../runtime/errors.ts";
import type { Storage } from "./family.ts";

/** Since version 2, a scaler may be one of roots and a linear model may have a week. Releases that read version 1 only would misread both. */
export const modelFormatVersion = 2;
const oldestFormatVersion = 1;

const MAGIC = "FCNT";
const CHECKSUM_AT = 16;
const HEADER_AT = 48;
const storages: readonly Storage[] = ["float32", "float16"];

/** An array of numbers in the file. */
export interface Section {
  readonly name: string;
  readonly count: number;
  readonly storage: Storage;
}

/** The content of a file. */
export interface Envelope {
  readonly storage: Storage;
  readonly header: Uint8Array;
  readonly numbers: DataView;
}

/** `where` names the model in errors. Throws MODEL_UNFIT for a number that the storage cannot hold. */
export function encodeEnvelope(
  headerJson: string,
  storage: Storage,
  sections: readonly { readonly section: Section; readonly values: ArrayLike<number> }[],
  where: string,
): Uint8Array {
  const numbers = new Uint8Array(bytesOf(sections.map(({ section }) => section)));
  const view = new DataView(numbers.buffer);
  let at = 0;
  for (const { section, values } of sections) {
    writeSection(view, at, section, values, where);
    at += sectionBytes(section);
  }
  return wrap(headerJson, storage, numbers);
}

/** A model that consists of whole models: their files in place of the numbers. */
export function encodeParts(headerJson: string, storage: Storage, parts: readonly Uint8Array[]): Uint8Array {
  return wrap(headerJson, storage, Buffer.concat(parts));
}

/** The files of `encodeParts`, each as long as every file says itself. Throws MODEL_UNFIT. */
export function readParts(numbers: DataView, where: string): readonly Uint8Array[] {
  const bytes = new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
  const parts: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const isWhole = bytes.length - at >= HEADER_AT;
    const length = isWhole
      ? HEADER_AT + numbers.getUint32(at + 8, true) + numbers.getUint32(at + 12, true)
      : 0;
    if (!isWhole || at + length > bytes.length)
      throw unfit(where, "numbers", `have an incomplete model at byte ${at}`);
    parts.push(bytes.subarray(at, at + length));
    at += length;
  }
  return parts;
}

function wrap(headerJson: string, storage: Storage, numbers: Uint8Array): Uint8Array {
  const length = Buffer.byteLength(headerJson);
  const headerBytes = Buffer.from(headerJson + " ".repeat(padded(length) - length));
  const bytes = new Uint8Array(HEADER_AT + headerBytes.length + numbers.length);
  bytes.set(Buffer.from(MAGIC, "latin1"));
  const view = new DataView(bytes.buffer);
  view.setUint16(4, modelFormatVersion, true);
  view.setUint16(6, storages.indexOf(storage), true);
  view.setUint32(8, headerBytes.length, true);
  view.setUint32(12, numbers.length, true);
  bytes.set(headerBytes, HEADER_AT);
  bytes.set(numbers, HEADER_AT + headerBytes.length);
  bytes.set(checksumOf(bytes), CHECKSUM_AT);
  return bytes;
}

/** Checks magic, version, lengths and checksum. Throws MODEL_UNFIT. */
export function decodeEnvelope(bytes: Uint8Array, where: string): Envelope {
  if (bytes.length < HEADER_AT) {
    throw unfit(where, "length", `is ${bytes.length} bytes; expected at least ${HEADER_AT}`);
  }
  const magic = Buffer.from(bytes.subarray(0, 4)).toString("latin1");
  if (magic !== MAGIC) throw unfit(where, "magic", `is ${JSON.stringify(magic)}; expected "${MAGIC}"`);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const version = view.getUint16(4, true);
  if (version < oldestFormatVersion || version > modelFormatVersion) {
    const known = `${oldestFormatVersion} to ${modelFormatVersion}`;
    throw unfit(where, "format version", `is ${version}; this release reads versions ${known}`);
  }
  const headerLength = view.getUint32(8, true);
  const numbersLength = view.getUint32(12, true);
  const length = HEADER_AT + headerLength + numbersLength;
  if (bytes.length !== length) throw unfit(where, "length", `is ${bytes.length} bytes; expected ${length}`);
  const expected = Buffer.from(bytes.subarray(CHECKSUM_AT, HEADER_AT)).toString("hex");
  const found = Buffer.from(checksumOf(bytes)).toString("hex");
  if (found !== expected) throw unfit(where, "checksum", `is ${found}; expected ${expected}`);
  const storage = storages[view.getUint16(6, true)];
  if (storage === undefined) {
    throw unfit(where, "storage", `is ${view.getUint16(6, true)}; expected 0 (float32) or 1 (float16)`);
  }
  return {
    storage,
    header: bytes.subarray(HEADER_AT, HEADER_AT + headerLength),
    numbers: new DataView(bytes.buffer, bytes.byteOffset + HEADER_AT + headerLength, numbersLength),
  };
}

/** The header as an object with unchecked fields. Throws MODEL_UNFIT when it is none. */
export function parseHeaderJson(header: Uint8Array, where: string): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(header));
    if (typeof parsed === "object" && parsed !== null) return parsed as Record<string, unknown>;
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message : String(cause);
    throw new ForecastnetError("MODEL_UNFIT", `${where}: the header is not JSON: ${problem}`, { cause });
  }
  throw new ForecastnetError("MODEL_UNFIT", `${where}: the header is not an object`);
}

/** Reads the sections into views of one shared buffer, which threads read without copying. Throws MODEL_UNFIT. */
export function readSections(
  numbers: DataView,
  sections: readonly Section[],
  where: string,
): readonly Float32Array[] {
  const expected = bytesOf(sections);
  if (numbers.byteLength !== expected) {
    const found = numbers.byteLength;
    throw unfit(where, "numbers", `are ${found} bytes; expected ${expected} for what its header says`);
  }
  const total = sections.reduce((sum, { count }) => sum + count, 0);
  const all = new Float32Array(new SharedArrayBuffer(4 * total));
  let from = 0;
  let at = 0;
  return sections.map((section) => {
    const values = all.subarray(from, from + section.count);
    readSection(numbers, at, section, values, where);
    from += section.count;
    at += sectionBytes(section);
    return values;
  });
}

function writeSection(
  view: DataView,
  at: number,
  { name, count, storage }: Section,
  values: ArrayLike<number>,
  where: string,
): void {
  const what = `${where}: ${name}`;
  if (values.length !== count) {
    throw new ForecastnetError("MODEL_UNFIT", `${what} has ${values.length} numbers; expected ${count}`);
  }
  const largest = storage === "float32" ? Number.MAX_VALUE : largestFloat16;
  for (let i = 0; i < count; i++) {
    if (!(Math.abs(values[i]) <= largest)) {
      const expected = `a finite number that ${storage} can hold`;
      throw new ForecastnetError("MODEL_UNFIT", `${what} has ${values[i]} at ${i}; expected ${expected}`);
    }
    if (storage === "float32") view.setFloat32(at + 4 * i, values[i], true);
    else view.setUint16(at + 2 * i, toFloat16(values[i]), true);
  }
}

function readSection(
  view: DataView,
  at: number,
  { name, count, storage }: Section,
  into: Float32Array,
  where: string,
): void {
  for (let i = 0; i < count; i++) {
    const value =
      storage === "float32"
        ? view.getFloat32(at + 4 * i, true)
        : fromFloat16(view.getUint16(at + 2 * i, true));
    if (!Number.isFinite(value)) {
      const what = `${where}: ${name}`;
      throw new ForecastnetError("MODEL_UNFIT", `${what} has ${value} at ${i}; expected a finite number`);
    }
    into[i] = value;
  }
}

function sectionBytes({ count, storage }: Section): number {
  return padded(count * (storage === "float32" ? 4 : 2));
}

function bytesOf(sections: readonly Section[]): number {
  return sections.reduce((sum, section) => sum + sectionBytes(section), 0);
}

function padded(length: number): number {
  return 4 * Math.ceil(length / 4);
}

function checksumOf(bytes: Uint8Array): Uint8Array {
  return createHash("sha256")
    .update(bytes.subarray(0, CHECKSUM_AT))
    .update(bytes.subarray(HEADER_AT))
    .digest();
}

export function unfit(where: string, field: string, problem: string): ForecastnetError {
  return new ForecastnetError("MODEL_UNFIT", `${where}: ${field} ${problem}`, { context: { where, field } });
}

/** The largest finite number of half precision. */
export const largestFloat16 = 65504;

const single = new Float32Array(1);
const bits = new Uint32Array(single.buffer);

/** The nearest half-precision number, ties to even; what is too large becomes infinite. */
export function toFloat16(value: number): number {
  single[0] = value;
  const sign = (bits[0] >>> 16) & 0x8000;
  const exponent = ((bits[0] >>> 23) & 0xff) - 127;
  const fraction = bits[0] & 0x7fffff;
  if (exponent === 128) return sign | 0x7c00 | (fraction === 0 ? 0 : 0x200);
  if (exponent > 15) return sign | 0x7c00;
  // Below 2⁻¹⁴ half precision has no leading one of its own: it is made a digit of the fraction.
  if (exponent < -14) return sign | roundOff(fraction | 0x800000, -1 - exponent);
  // A fraction that rounds up to 2 carries into the exponent, and from the last exponent into infinity.
  return sign | (((exponent + 15) << 10) + roundOff(fraction, 13));
}

/** Shifts right by `places` with rounding to even. */
function roundOff(value: number, places: number): number {
  if (places > 31) return 0;
  const kept = value >>> places;
  const rest = value - kept * 2 ** places;
  const half = 2 ** (places - 1);
  return rest > half || (rest === half && (kept & 1) === 1) ? kept + 1 : kept;
}

/** The weight of the last bit, by exponent; a power per number would take most of the time of restoring models. */
const unitByExponent = Float64Array.from({ length: 31 }, (_, exponent) => 2 ** (Math.max(exponent, 1) - 25));

/** Every half-precision number is a single-precision one. */
export function fromFloat16(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >>> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (exponent === 0 ? fraction : 1024 + fraction) * unitByExponent[exponent];
}
