// What the loops over tiles have in common.

import {
  activationLinear,
  activationRelu,
} from "../op-codes";
import { sigmoid4, splat } from "./vector-math";

@inline
export function activate(v: v128, activation: i32): v128 {
  // Of zero and not-a-number, this order of operands keeps the latter.
  if (activation == activationRelu) return f32x4.pmax(v, splat(0));
  if (activation == activationLinear) return v;
  return sigmoid4(v);
}

/** Bytes between rows of x that follow each other: a row of lanes, or one number. */
@inline
export function rowBytes<Row>(): usize {
  return isVector<Row>() ? 32 : 4;
}

/** One product of a tile added to its sum. */
@inline
export function product(sum: v128, w: v128, x: v128): v128 {
  return f32x4.add(sum, f32x4.mul(w, x));
}
