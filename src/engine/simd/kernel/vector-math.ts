// Exponential, logarithm and the functions built on them, for four numbers at a time, to about one part in ten
// million. The polynomials are Chebyshev fits of (eʳ − 1 − r)/r², (ln(1+m) − m + m²/2)/m³ and artanh(√z)/√z on the
// reduced ranges. NaN stays NaN, so that a diverging training is detected.

@inline
export function splat(value: f32): v128 {
  return f32x4.splat(value);
}

@inline
function fma(a: v128, b: v128, c: f32): v128 {
  return f32x4.add(f32x4.mul(a, b), splat(c));
}

/** Saturates outside −86 … 88. Its chains of operations are short, because its callers wait for the result. */
@inline
function exp4(value: v128): v128 {
  // Pseudo-minimum and -maximum are one instruction each and, in this order of operands, keep NaN.
  const x = f32x4.pmin(f32x4.pmax(value, splat(-86)), splat(88));
  // Adding 1.5·2²³ rounds a small number to a whole one and leaves it in the lowest bits.
  const shifted = f32x4.add(f32x4.mul(x, splat(1.44269504)), splat(12582912));
  const n = f32x4.sub(shifted, splat(12582912));
  // ln 2 in two parts: the first has few bits, so that n times it is exact.
  let r = f32x4.sub(x, f32x4.mul(n, splat(0.693359375)));
  r = f32x4.add(r, f32x4.mul(n, splat(2.12194440e-4)));
  const r2 = f32x4.mul(r, r);
  const low = fma(splat(1.6666573358e-1), r, 5.0000000143e-1);
  const high = fma(splat(8.3637764666e-3), r, 4.1666456778e-2);
  const top = f32x4.add(high, f32x4.mul(r2, splat(1.3934544520e-3)));
  const p = f32x4.add(low, f32x4.mul(r2, top));
  const y = f32x4.add(splat(1), f32x4.add(r, f32x4.mul(r2, p)));
  const power = i32x4.add(i32x4.shl(shifted, 23), i32x4.splat(0x3f800000));
  return f32x4.mul(y, power);
}

/** −∞ at 0, NaN below. Subnormal numbers count as the smallest normal one. */
export function log4(x: v128): v128 {
  const least = splat(1.17549435e-38);
  const bits = f32x4.pmax(x, least);
  let e = f32x4.convert_i32x4_s(i32x4.sub(i32x4.shr_s(bits, 23), i32x4.splat(127)));
  let m = v128.or(v128.and(bits, i32x4.splat(0x007fffff)), i32x4.splat(0x3f800000));
  // Maps m from [1, 2) to [√½, √2) − 1.
  const isHigh = f32x4.gt(m, splat(1.41421356));
  m = f32x4.sub(v128.bitselect(f32x4.mul(m, splat(0.5)), m, isHigh), splat(1));
  e = f32x4.add(e, v128.and(isHigh, splat(1)));
  let p = fma(splat(7.1497538929e-2), m, -1.1571200726e-1);
  p = fma(p, m, 1.1661511067e-1);
  p = fma(p, m, -1.2411050684e-1);
  p = fma(p, m, 1.4249936533e-1);
  p = fma(p, m, -1.6668480240e-1);
  p = fma(p, m, 2.0000707478e-1);
  p = fma(p, m, -2.4999989049e-1);
  p = fma(p, m, 3.3333331191e-1);
  const z = f32x4.mul(m, m);
  let y = f32x4.mul(f32x4.mul(z, m), p);
  y = f32x4.sub(y, f32x4.mul(e, splat(2.12194440e-4)));
  y = f32x4.sub(y, f32x4.mul(z, splat(0.5)));
  y = f32x4.add(f32x4.add(m, y), f32x4.mul(e, splat(0.693359375)));
  y = v128.bitselect(splat(-Infinity), y, f32x4.eq(x, splat(0)));
  const isUnfit = v128.or(f32x4.lt(x, splat(0)), f32x4.ne(x, x));
  y = v128.bitselect(splat(NaN), y, isUnfit);
  return v128.bitselect(x, y, f32x4.eq(x, splat(Infinity)));
}

/** ln(1 + u) = 2 artanh(u / (2 + u)) for u in [0, 1], with full relative precision for small u. */
@inline
function log1p4(u: v128): v128 {
  const s = f32x4.div(u, f32x4.add(splat(2), u));
  const z = f32x4.mul(s, s);
  let p = fma(splat(1.408732864e-1), z, 1.398070942e-1);
  p = fma(p, z, 2.001242686e-1);
  p = fma(p, z, 3.333315797e-1);
  p = fma(p, z, 1);
  return f32x4.mul(f32x4.add(s, s), p);
}

@inline
export function softplus4(x: v128): v128 {
  const u = exp4(f32x4.neg(f32x4.abs(x)));
  return f32x4.add(f32x4.pmax(x, splat(0)), log1p4(u));
}

export function sigmoid4(x: v128): v128 {
  return f32x4.div(splat(1), f32x4.add(splat(1), exp4(f32x4.neg(x))));
}

/** The sum of the four lanes. */
@inline
export function sumLanes(v: v128): f32 {
  const pairs = f32x4.add(v, v128.shuffle<f32>(v, v, 2, 3, 0, 1));
  return f32x4.extract_lane(pairs, 0) + f32x4.extract_lane(pairs, 1);
}

/** φ(x) */
@inline
export function bellOf(x: v128): v128 {
  return f32x4.mul(exp4(f32x4.mul(f32x4.mul(x, x), splat(-0.5))), splat(0.398942280));
}

/**
 * Φ(x), given φ(x). For a ≥ 0, Φ(−a) = φ(a)·m(a). Mills' ratio m is fitted as t·P(t) with t = 1/(1 + 0.3a), to
 * 1.5e-7 of itself, so that far tails keep their relative precision.
 */
@inline
export function cdfOf(x: v128, bell: v128): v128 {
  const t = f32x4.div(splat(1), fma(f32x4.abs(x), splat(0.3), 1));
  const t2 = f32x4.mul(t, t);
  const low = fma(splat(3.026855156e-1), t, 2.998661691e-1);
  const next = fma(splat(3.222621016e-1), t, 2.504443594e-1);
  const high = fma(splat(5.172657468e-1), t, -1.345770715e-1);
  const top = fma(splat(8.942563384e-2), t, -3.940585004e-1);
  const upper = f32x4.mul(f32x4.mul(t2, t2), f32x4.add(high, f32x4.mul(top, t2)));
  const p = f32x4.add(f32x4.add(low, f32x4.mul(next, t2)), upper);
  const tail = f32x4.mul(bell, f32x4.mul(p, t));
  return v128.bitselect(tail, f32x4.sub(splat(1), tail), f32x4.lt(x, splat(0)));
}
