// The numbers of one channel of a block as they are stored: in the narrowest form that gives back exactly these numbers. Which
// form that is depends on the numbers alone, not on the form that the grid holds them in, so a replay writes the same bytes.

import type { PackedValuesRecord } from "../log/codec/schemas.generated.ts";
import { doubles, type Form, fitOf, formOf, numberOf, tightFit, writeCodes } from "./number-forms.ts";

/** Memory that the next block uses again. A stored array of bytes is not aligned as the numbers in it must be. */
let scratch = new ArrayBuffer(512);
let scratchBytes = new Uint8Array(scratch);

/** Packs the first `count` values. Little-endian, as are all machines that we run on. */
export function packValues(values: Float64Array, count: number): PackedValuesRecord {
  const fit = fitOf(values, count, tightFit);
  const { form, base } = fit;
  reserve(doubles.form.bytes * count);
  writeCodes(values, fit, form.view(scratch, count));
  return {
    form: form.name,
    decimals: form.decimals,
    base: base + 0,
    codes: Buffer.from(scratchBytes.subarray(0, count * form.bytes)),
  };
}

/** Null when the record contradicts itself. */
export function packedCount({ form, decimals, codes }: PackedValuesRecord): number | null {
  const known = formOf(form, decimals);
  return known === undefined || codes.length % known.bytes !== 0 ? null : codes.length / known.bytes;
}

/** Copies the numbers of a record that does not contradict itself. Returns how many there are. */
export function unpackValues(record: PackedValuesRecord, target: Float64Array): number {
  const form = formOf(record.form, record.decimals) as Form;
  const base = form.isInteger ? record.base : doubles.base;
  reserve(record.codes.length);
  scratchBytes.set(record.codes);
  const codes = form.view(scratch, record.codes.length / form.bytes);
  for (let i = 0; i < codes.length; i++) target[i] = numberOf(codes[i], form, base);
  return codes.length;
}

function reserve(bytes: number): void {
  if (bytes <= scratch.byteLength) return;
  scratch = new ArrayBuffer(bytes);
  scratchBytes = new Uint8Array(scratch);
}
