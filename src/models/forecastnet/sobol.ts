// The scrambled Sobol' sequence as ranks: for each of its first P points, which of P equal slices of [0, 1) it falls into, in
// any number of dimensions. Only the order of the points in a dimension matters, and their first k = ⌈log₂ P⌉ binary digits
// decide it, so no more are computed.
//
// Legend: a polynomial over GF(2) is a number whose bit i is the coefficient of xⁱ. m_i are the odd direction numbers of a
// dimension, i = 1 … k, below 2ⁱ; the first s of them are free and drawn from the seed.

import { createRandom, type Random } from "../../runtime/random.ts";

/** For each dimension, the ranks 0 … points − 1 of the points. */
export function sobolRanks(dimensions: number, points: number, seed: number): readonly Int32Array[] {
  const digits = Math.ceil(Math.log2(points));
  const random = createRandom(seed);
  // The first dimension is van der Corput's sequence, which has no polynomial: all its direction numbers are 1.
  return [1, ...primitivePolynomials(dimensions - 1)].map((polynomial) => {
    const directions = directionsOf(polynomial, digits, random);
    const key = Math.floor(random.uniform() * 2 ** 32);
    return ranksOf(directions, points, key);
  });
}

const known: number[] = [];

/** The first primitive polynomials by degree. Modulo one of degree s, the powers of x take all 2ˢ − 1 non-zero residues. */
export function primitivePolynomials(count: number): readonly number[] {
  while (known.length < count) {
    const degree = known.length === 0 ? 1 : degreeOf(known[known.length - 1]) + 1;
    const leading = 2 ** degree;
    for (let polynomial = leading + 1; polynomial < 2 * leading; polynomial += 2) {
      if (isPrimitive(polynomial, degree)) known.push(polynomial);
    }
  }
  return known.slice(0, count);
}

function degreeOf(polynomial: number): number {
  return 31 - Math.clz32(polynomial);
}

function isPrimitive(polynomial: number, degree: number): boolean {
  const order = 2 ** degree - 1;
  const x = degree === 1 ? 1 : 2;
  if (power(x, order, polynomial) !== 1) return false;
  return primeFactorsOf(order).every((prime) => power(x, order / prime, polynomial) !== 1);
}

function power(base: number, exponent: number, modulus: number): number {
  let result = 1;
  let square = base;
  for (let left = exponent; left > 0; left >>= 1) {
    if (left & 1) result = multiply(result, square, modulus);
    square = multiply(square, square, modulus);
  }
  return result;
}

function multiply(a: number, b: number, modulus: number): number {
  const leading = 1 << degreeOf(modulus);
  let product = 0;
  let shifted = a;
  for (let left = b; left > 0; left >>= 1) {
    if (left & 1) product ^= shifted;
    shifted <<= 1;
    if (shifted & leading) shifted ^= modulus;
  }
  return product;
}

function primeFactorsOf(value: number): readonly number[] {
  const primes: number[] = [];
  let left = value;
  for (let divisor = 2; divisor * divisor <= left; divisor++) {
    if (left % divisor !== 0) continue;
    primes.push(divisor);
    while (left % divisor === 0) left /= divisor;
  }
  return left > 1 ? [...primes, left] : primes;
}

/** The direction numbers as k-digit binary fractions, first digit highest. */
function directionsOf(polynomial: number, digits: number, random: Random): Int32Array {
  const s = degreeOf(polynomial);
  const m = new Int32Array(digits + 1).fill(1);
  for (let i = 1; i <= digits && s > 0; i++) {
    if (i <= s) {
      m[i] = 2 * Math.floor(random.uniform() * 2 ** (i - 1)) + 1;
      continue;
    }
    m[i] = m[i - s] ^ (m[i - s] << s);
    for (let j = 1; j < s; j++) {
      if ((polynomial >> (s - j)) & 1) m[i] ^= m[i - j] << j;
    }
  }
  return m.subarray(1).map((value, i) => value << (digits - 1 - i));
}

function ranksOf(directions: Int32Array, points: number, key: number): Int32Array {
  const digits = directions.length;
  const pointAt = new Int32Array(2 ** digits).fill(-1);
  for (let n = 0; n < points; n++) {
    let fraction = 0;
    for (let b = 0; b < digits; b++) if ((n >> b) & 1) fraction ^= directions[b];
    pointAt[scramble(fraction, digits, key)] = n;
  }
  const ranks = new Int32Array(points);
  let rank = 0;
  for (const n of pointAt) if (n >= 0) ranks[n] = rank++;
  return ranks;
}

/** Nested scrambling: whether a digit is flipped depends on the digits before it. */
function scramble(fraction: number, digits: number, key: number): number {
  let scrambled = 0;
  for (let b = digits - 1; b >= 0; b--) {
    const before = (fraction >> (b + 1)) | (1 << (digits - 1 - b));
    scrambled |= (((fraction >> b) ^ mix(key, before)) & 1) << b;
  }
  return scrambled;
}

function mix(key: number, value: number): number {
  let mixed = Math.imul(key ^ 0x9e3779b9, 0x85ebca6b) ^ value;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x7feb352d);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x846ca68b);
  return mixed ^ (mixed >>> 16);
}
