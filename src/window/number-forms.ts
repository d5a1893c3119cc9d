// How doubles are held in fewer bytes without losing a bit. Most sensors report a few decimals or single precision, so most
// series fit a form of one, two or four bytes a number. A form is chosen by what numbers are, never by a configuration, and
// numbers that fit no narrower one stay doubles.
//
// A number of an integer form is (base + code) / 10^decimals. A division is correctly rounded, so it gives back the very double
// that a decimal text of up to 15 digits is read as. The two lowest codes stand for NaN and for −0, which is no multiple.

export type FormName = "INT8" | "INT16" | "INT32" | "FLOAT32" | "FLOAT64";

export type Codes = Int8Array | Int16Array | Int32Array | Float32Array | Float64Array;

export interface Form {
  readonly name: FormName;
  readonly isInteger: boolean;
  readonly decimals: number;
  /** Ten to the power of `decimals`; 1 for floats. */
  readonly scale: number;
  /** The code of −0; the one below it is NaN. NaN for floats, which hold both as themselves. */
  readonly negativeZero: number;
  /** What a place without a number holds. */
  readonly missing: number;
  /** Largest distance of two numbers in units of 1 / scale. */
  readonly span: number;
  readonly bytes: number;
  readonly create: (length: number) => Codes;
  readonly view: (buffer: ArrayBuffer, length: number) => Codes;
}

/** Numbers in one form. `base` is an integer; −0 for floats, because adding it changes no float, not even −0. */
export interface Fit {
  readonly form: Form;
  readonly base: number;
}

/** Steps of a picoampere in amperes. */
const MOST_DECIMALS = 12;
/** Up to here different multiples are different doubles, whatever the decimals. */
const MOST_UNITS = 2 ** 50;
const SCALES = Array.from({ length: MOST_DECIMALS + 1 }, (_, decimals) => Number(`1e${decimals}`));

const arrays = {
  INT8: Int8Array,
  INT16: Int16Array,
  INT32: Int32Array,
  FLOAT32: Float32Array,
  FLOAT64: Float64Array,
} as const;

function createForm(name: FormName, decimals: number): Form {
  const ArrayOf = arrays[name];
  const bytes = ArrayOf.BYTES_PER_ELEMENT;
  const isInteger = name.startsWith("INT");
  const lowest = -(2 ** (8 * bytes - 1));
  return Object.freeze({
    name,
    isInteger,
    decimals,
    scale: SCALES[decimals],
    negativeZero: isInteger ? lowest + 1 : Number.NaN,
    missing: isInteger ? lowest : Number.NaN,
    span: isInteger ? 2 ** (8 * bytes) - 3 : Number.POSITIVE_INFINITY,
    bytes,
    create: (length: number) => new ArrayOf(length),
    view: (buffer: ArrayBuffer, length: number) => new ArrayOf(buffer, 0, length),
  });
}

const withDecimals = (name: FormName) => SCALES.map((_, decimals) => createForm(name, decimals));
const float32 = createForm("FLOAT32", 0);
const float64 = createForm("FLOAT64", 0);

/** By name and decimals. Every form is one object. */
const forms: Readonly<Record<FormName, readonly Form[]>> = {
  INT8: withDecimals("INT8"),
  INT16: withDecimals("INT16"),
  INT32: withDecimals("INT32"),
  FLOAT32: [float32],
  FLOAT64: [float64],
};

const integerForms = [forms.INT8, forms.INT16, forms.INT32];

/** Undefined for decimals that no form has. */
export function formOf(name: FormName, decimals: number): Form | undefined {
  return forms[name][decimals];
}

/** What a fit leaves open for the numbers that come later. */
export interface FitRule {
  readonly leastDecimals: number;
  /** Bytes that a number has at least. */
  readonly leastBytes: number;
  /** Share of a form's span that the numbers may fill. */
  readonly share: number;
}

/** The narrowest form of these numbers alone. */
export const tightFit: FitRule = { leastDecimals: 0, leastBytes: 1, share: 1 };

/** For an array that holds nothing yet. */
export const twoBytes: Fit = { form: forms.INT16[0], base: 0 };
export const doubles: Fit = { form: float64, base: -0 };

/** The narrowest form that gives back the first `count` values bit for bit. Depends on the set of values, not on their order. */
export function fitOf(values: Float64Array, count: number, rule: FitRule): Fit {
  return integerFitOf(values, count, rule) ?? floatFitOf(values, count);
}

function integerFitOf(
  values: Float64Array,
  count: number,
  { leastDecimals, leastBytes, share }: FitRule,
): Fit | null {
  let decimals = leastDecimals;
  let scale = SCALES[decimals];
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < count; i++) {
    const value = values[i];
    if (Number.isNaN(value) || (value === 0 && 1 / value < 0)) continue;
    let units = Math.round(value * scale);
    while (units / scale !== value) {
      if (++decimals > MOST_DECIMALS) return null;
      scale = SCALES[decimals];
      units = Math.round(value * scale);
      low *= 10;
      high *= 10;
    }
    if (units < low) low = units;
    if (units > high) high = units;
  }
  if (Math.max(-low, high) > MOST_UNITS) return null;
  for (const formsByDecimals of integerForms) {
    const form = formsByDecimals[decimals];
    if (form.bytes < leastBytes || high - low > form.span * share) continue;
    return { form, base: low > high ? 0 : low + Math.floor((high - low) / 2) };
  }
  return null;
}

function floatFitOf(values: Float64Array, count: number): Fit {
  let form = float32;
  for (let i = 0; i < count && form === float32; i++) {
    if (!Number.isNaN(values[i]) && Math.fround(values[i]) !== values[i]) form = float64;
  }
  return { form, base: -0 };
}

/** Writes the codes of numbers that `fit` was found for, which need no check. */
export function writeCodes(values: Float64Array, { form, base }: Fit, codes: Codes): void {
  const { isInteger, scale, missing, negativeZero } = form;
  for (let i = 0; i < codes.length; i++) {
    const value = values[i];
    if (!isInteger) codes[i] = value;
    else if (Number.isNaN(value)) codes[i] = missing;
    else if (value === 0 && 1 / value < 0) codes[i] = negativeZero;
    else codes[i] = Math.round(value * scale) - base;
  }
}

/** Null when the value does not fit. NaN for NaN in a form of floats. */
export function codeOf(value: number, form: Form, base: number): number | null {
  if (!form.isInteger) return form === float64 || Object.is(Math.fround(value), value) ? value : null;
  if (Number.isNaN(value)) return form.missing;
  const units = Math.round(value * form.scale);
  if (units / form.scale !== value || Math.abs(units) > MOST_UNITS) return null;
  if (value === 0) return 1 / value < 0 ? form.negativeZero : inSpan(-base, form);
  return inSpan(units - base, form);
}

function inSpan(code: number, { negativeZero }: Form): number | null {
  return code > negativeZero && code <= -negativeZero ? code : null;
}

/** The number that a code stands for. */
export function numberOf(code: number, form: Form, base: number): number {
  if (code <= form.negativeZero) return code === form.missing ? Number.NaN : -0;
  return (base + code) / form.scale;
}
