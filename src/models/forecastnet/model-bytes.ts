// A model as one flat file, and back. Everything is little-endian; sections begin at multiples of four.
//
//   byte    length   content
//   0       4        magic "FCNT"
//   4       2        version of this format
//   6       2        storage of the weights: 0 float32, 1 float16
//   8       4        H, length of the header, a multiple of 4
//   12      4        N, length of the numbers, a multiple of 4
//   16      32       SHA-256 of bytes 0 … 15 followed by all bytes from 48
//   48      H        header, JSON in UTF-8, padded with spaces: what `model-header.ts` describes
//   48 + H  N        for each member: its weights, in the layout of `plan.ts`, padded with zeros; its residuals,
//                    float32; then the spread, float32
//
// What is read is checked to the last number, so that a model that decodes can run. Weights come back as views of
// one shared buffer: threads read them without a copy each.

import { createHash } from "node:crypto";
import { ForecastnetError } from "../../runtime/errors.ts";
import { fromFloat16, largestFloat16, toFloat16 } from "./float16.ts";
import type { ForecastNetModel, Member } from "./model.ts";
import { headerOf, type ModelHeader, parseHeader } from "./model-header.ts";
import { sharedPlan } from "./shared-plan.ts";

export type Storage = "float32" | "float16";

export const modelFormatVersion = 1;

const MAGIC = "FCNT";
const CHECKSUM_AT = 16;
const HEADER_AT = 48;
const storages: readonly Storage[] = ["float32", "float16"];

/** Refuses a model that could not be read back. */
export function encodeModel(model: ForecastNetModel, storage: Storage = "float32"): Uint8Array {
  const where = `model ${model.key}@${model.version}`;
  const header = encodeHeader(model);
  parseHeader(header, where);
  const numbersLength = sectionsOf(headerOf(model), storage).total;
  const bytes = new Uint8Array(HEADER_AT + header.length + numbersLength);
  bytes.set(Buffer.from(MAGIC, "latin1"));
  const view = new DataView(bytes.buffer);
  view.setUint16(4, modelFormatVersion, true);
  view.setUint16(6, storages.indexOf(storage), true);
  view.setUint32(8, header.length, true);
  view.setUint32(12, numbersLength, true);
  bytes.set(header, HEADER_AT);
  writeNumbers(new DataView(bytes.buffer, HEADER_AT + header.length), model, storage, where);
  bytes.set(checksumOf(bytes), CHECKSUM_AT);
  return bytes;
}

/** `where` names the source in errors as long as the model's own name is not known: a topic and offset, a file. */
export function decodeModel(bytes: Uint8Array, where: string): ForecastNetModel {
  const { storage, headerLength } = checkEnvelope(bytes, where);
  const header = parseHeader(bytes.subarray(HEADER_AT, HEADER_AT + headerLength), where);
  const name = `${where}: model ${header.key}@${header.version}`;
  const sections = sectionsOf(header, storage);
  const found = bytes.length - HEADER_AT - headerLength;
  if (found !== sections.total) {
    throw unfit(
      name,
      "numbers",
      `are ${found} bytes; expected are ${sections.total} for the specs of its members`,
    );
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset + HEADER_AT + headerLength, found);
  return readModel(view, header, sections, name);
}

function encodeHeader(model: ForecastNetModel): Uint8Array {
  const json = JSON.stringify(headerOf(model));
  const length = Buffer.byteLength(json);
  return Buffer.from(json + " ".repeat(padded(length) - length));
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

function unfit(where: string, field: string, problem: string): ForecastnetError {
  return new ForecastnetError("MODEL_UNFIT", `${where}: ${field} ${problem}`, { context: { where, field } });
}

function checkEnvelope(bytes: Uint8Array, where: string): { storage: Storage; headerLength: number } {
  if (bytes.length < HEADER_AT) {
    throw unfit(where, "length", `is ${bytes.length} bytes; expected are at least ${HEADER_AT}`);
  }
  const magic = Buffer.from(bytes.subarray(0, 4)).toString("latin1");
  if (magic !== MAGIC) throw unfit(where, "magic", `is ${JSON.stringify(magic)}; expected is "${MAGIC}"`);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const version = view.getUint16(4, true);
  if (version !== modelFormatVersion) {
    throw unfit(where, "format version", `is ${version}; this release reads version ${modelFormatVersion}`);
  }
  const headerLength = view.getUint32(8, true);
  const length = HEADER_AT + headerLength + view.getUint32(12, true);
  if (bytes.length !== length)
    throw unfit(where, "length", `is ${bytes.length} bytes; expected are ${length}`);
  const expected = Buffer.from(bytes.subarray(CHECKSUM_AT, HEADER_AT)).toString("hex");
  const found = Buffer.from(checksumOf(bytes)).toString("hex");
  if (found !== expected) throw unfit(where, "checksum", `is ${found}; expected is ${expected}`);
  const storage = storages[view.getUint16(6, true)];
  if (storage === undefined) {
    throw unfit(where, "storage", `is ${view.getUint16(6, true)}; expected is 0 (float32) or 1 (float16)`);
  }
  return { storage, headerLength };
}

/** A run of numbers in the file. */
interface Section {
  readonly at: number;
  readonly count: number;
  readonly storage: Storage;
}

interface Sections {
  readonly members: readonly { readonly weights: Section; readonly residuals: Section }[];
  readonly spread: Section;
  readonly total: number;
  readonly numbers: number;
}

function sectionsOf(header: ModelHeader, storage: Storage): Sections {
  let total = 0;
  let numbers = 0;
  const section = (count: number, stored: Storage): Section => {
    const at = total;
    total += padded(count * (stored === "float32" ? 4 : 2));
    numbers += count;
    return { at, count, storage: stored };
  };
  const { horizon, targets } = header.members[0].spec;
  const rows = horizon * targets.length;
  const members = header.members.map(({ spec, residualsPerStep }) => ({
    weights: section(sharedPlan(spec).weightCount, storage),
    residuals: section(residualsPerStep * rows, "float32"),
  }));
  const spread = section(header.hasSpread ? rows : 0, "float32");
  return { members, spread, total, numbers };
}

function writeNumbers(view: DataView, model: ForecastNetModel, storage: Storage, where: string): void {
  const { members, spread } = sectionsOf(headerOf(model), storage);
  for (const [m, member] of model.members.entries()) {
    write(view, members[m].weights, member.weights, `${where}: weights of member ${m}`);
    write(view, members[m].residuals, member.residuals ?? [], `${where}: residuals of member ${m}`);
  }
  write(view, spread, model.spread ?? [], `${where}: spread`);
}

function write(
  view: DataView,
  { at, count, storage }: Section,
  values: ArrayLike<number>,
  what: string,
): void {
  if (values.length !== count) {
    throw new ForecastnetError("MODEL_UNFIT", `${what} has ${values.length} numbers; expected are ${count}`);
  }
  const largest = storage === "float32" ? Number.MAX_VALUE : largestFloat16;
  for (let i = 0; i < count; i++) {
    if (!(Math.abs(values[i]) <= largest)) {
      const expected = `a finite number that ${storage} can hold`;
      throw new ForecastnetError("MODEL_UNFIT", `${what} has ${values[i]} at ${i}; expected is ${expected}`);
    }
    if (storage === "float32") view.setFloat32(at + 4 * i, values[i], true);
    else view.setUint16(at + 2 * i, toFloat16(values[i]), true);
  }
}

function readModel(view: DataView, header: ModelHeader, sections: Sections, name: string): ForecastNetModel {
  const numbers = new Float32Array(new SharedArrayBuffer(4 * sections.numbers));
  let end = 0;
  const take = (section: Section, what: string): Float32Array => {
    const values = numbers.subarray(end, end + section.count);
    end += section.count;
    read(view, section, values, `${name}: ${what}`);
    return values;
  };
  const members = header.members.map(({ spec, share, residualsPerStep }, m): Member => {
    const weights = take(sections.members[m].weights, `weights of member ${m}`);
    const residuals = take(sections.members[m].residuals, `residuals of member ${m}`);
    requireAscending(residuals, residualsPerStep, `${name}: residuals of member ${m}`);
    return { spec, weights, share, residuals: spec.output === "linear" ? residuals : null };
  });
  const spread = take(sections.spread, "spread");
  const { key, version, scaler } = header;
  return { key, version, scaler, members, spread: header.hasSpread ? spread : null };
}

function read(view: DataView, { at, count, storage }: Section, into: Float32Array, what: string): void {
  for (let i = 0; i < count; i++) {
    const value =
      storage === "float32"
        ? view.getFloat32(at + 4 * i, true)
        : fromFloat16(view.getUint16(at + 2 * i, true));
    if (!Number.isFinite(value)) {
      throw new ForecastnetError("MODEL_UNFIT", `${what} has ${value} at ${i}; expected is a finite number`);
    }
    into[i] = value;
  }
}

function requireAscending(residuals: Float32Array, perStep: number, what: string): void {
  const at = residuals.findIndex((value, i) => i % perStep !== 0 && value < residuals[i - 1]);
  if (at < 0) return;
  throw new ForecastnetError(
    "MODEL_UNFIT",
    `${what} has ${residuals[at]} after ${residuals[at - 1]} at ${at}; expected are ascending errors in a step`,
  );
}
