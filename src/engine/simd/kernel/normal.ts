// The normal distribution, four numbers at a time.
//   Φ(−a) = φ(a)·m(a) for a ≥ 0; Mills' ratio m is fitted as t·P(t) with t = 1/(1 + 0.3a), to 1.5e-7 of itself, so
//   that far tails keep their relative precision.

import { exp4, splat } from "./vector-math";

@inline
function times(p: v128, t: v128, c: f32): v128 {
  return f32x4.add(f32x4.mul(p, t), splat(c));
}

/** φ(x) */
@inline
export function bellOf(x: v128): v128 {
  return f32x4.mul(exp4(f32x4.mul(f32x4.mul(x, x), splat(-0.5))), splat(0.398942280));
}

/** Φ(x), given φ(x). */
@inline
export function cdfOf(x: v128, bell: v128): v128 {
  const t = f32x4.div(splat(1), times(f32x4.abs(x), splat(0.3), 1));
  const t2 = f32x4.mul(t, t);
  const low = times(splat(3.026855156e-1), t, 2.998661691e-1);
  const next = times(splat(3.222621016e-1), t, 2.504443594e-1);
  const high = times(splat(5.172657468e-1), t, -1.345770715e-1);
  const top = times(splat(8.942563384e-2), t, -3.940585004e-1);
  const upper = f32x4.mul(f32x4.mul(t2, t2), f32x4.add(high, f32x4.mul(top, t2)));
  const p = f32x4.add(f32x4.add(low, f32x4.mul(next, t2)), upper);
  const tail = f32x4.mul(bell, f32x4.mul(p, t));
  return v128.bitselect(tail, f32x4.sub(splat(1), tail), f32x4.lt(x, splat(0)));
}
