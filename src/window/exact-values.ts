// An array of doubles in the narrowest form that gives back every one of them bit for bit, with NaN for "nothing there". It
// begins with two bytes a number and moves to a wider form when a number comes that does not fit. It never moves back, so
// numbers of different kinds cannot make it convert again and again.

import {
  type Codes,
  codeOf,
  doubles,
  type Fit,
  type Form,
  fitOf,
  numberOf,
  twoBytes,
  writeCodes,
} from "./number-forms.ts";

/** A quarter of a form's span stays free for numbers beyond those so far, so that the base seldom moves. */
const SHARE = 0.75;

/** A run of slots that moves to another place. */
export interface Move {
  readonly from: number;
  readonly to: number;
  readonly length: number;
}

export class ExactValues {
  #form: Form = twoBytes.form;
  #base = twoBytes.base;
  #codes: Codes;

  constructor(length: number) {
    this.#codes = this.#form.create(length).fill(this.#form.missing);
  }

  get bytes(): number {
    return this.#codes.byteLength;
  }

  at(place: number): number {
    return numberOf(this.#codes[place], this.#form, this.#base);
  }

  set(place: number, value: number): void {
    const code = codeOf(value, this.#form, this.#base);
    if (code === null) this.#widenFor(place, value);
    else this.#codes[place] = code;
  }

  clear(from: number, to: number): void {
    this.#codes.fill(this.#form.missing, from, to);
  }

  /**
   * Copies `count` numbers from `place` on to every `stride`-th place of the target, from `first` on. After the last number follows
   * the first. Returns how many are NaN.
   */
  copy(place: number, count: number, target: Float64Array, first = 0, stride = 1): number {
    const codes = this.#codes;
    const { negativeZero, missing, scale } = this.#form;
    const base = this.#base;
    let nans = 0;
    let from = place;
    for (let i = 0, to = first; i < count; i++, to += stride) {
      const code = codes[from];
      const value = code <= negativeZero ? (code === missing ? Number.NaN : -0) : (base + code) / scale;
      if (Number.isNaN(value)) nans++;
      target[to] = value;
      if (++from === codes.length) from = 0;
    }
    return nans;
  }

  /** Puts the values at `place` and after it, none of them beyond the last place. */
  load(place: number, values: Float64Array): void {
    for (let i = 0; i < values.length; i++) this.set(place + i, values[i]);
  }

  /** The same numbers in an array of another length; places to which nothing moves are empty. */
  resize(length: number, moves: readonly Move[]): void {
    const codes = this.#form.create(length).fill(this.#form.missing);
    for (const { from, to, length: count } of moves) codes.set(this.#codes.subarray(from, from + count), to);
    this.#codes = codes;
  }

  #widenFor(place: number, value: number): void {
    const { length } = this.#codes;
    const values = new Float64Array(length);
    this.copy(0, length, values);
    values[place] = value;
    const fit = this.#widerFit(values);
    this.#form = fit.form;
    this.#base = fit.base;
    this.#codes = fit.form.create(length);
    writeCodes(values, fit, this.#codes);
  }

  #widerFit(values: Float64Array): Fit {
    const { isInteger, decimals, bytes } = this.#form;
    if (!isInteger) return doubles;
    return fitOf(values, values.length, { leastDecimals: decimals, leastBytes: bytes, share: SHARE });
  }
}
