// What all operations share: reading the fields of a record, products and activations.

import {
  activationLinear,
  activationRelu,
  atB,
  atBlocks,
  atFlags,
  atW,
  flagAbsoluteB,
  flagAbsoluteW,
} from "../op-codes";
import { sigmoid4, splat } from "./vector-math";

@inline
export function field(op: usize, at: usize): i32 {
  return load<i32>(op + at);
}

/** Address of an operation's weights, or of their gradient. */
export function weightsOf(op: usize, base: usize): usize {
  const at: usize = field(op, atW);
  return field(op, atFlags) & flagAbsoluteW ? at : base + at;
}

export function biasesOf(op: usize, base: usize): usize {
  const at: usize = field(op, atB);
  return field(op, atFlags) & flagAbsoluteB ? at : base + at;
}

/** Blocks of lanes, or of positions, that an operation covers. */
export function blocksOf(op: usize, runBlocks: i32): i32 {
  const own = field(op, atBlocks);
  return own != 0 ? own : runBlocks;
}

@inline
export function activate(v: v128, activation: i32): v128 {
  // In this order of operands, the maximum of NaN and 0 is NaN.
  if (activation == activationRelu) return f32x4.pmax(v, splat(0));
  if (activation == activationLinear) return v;
  return sigmoid4(v);
}

/** Bytes from one row of x to the next: a row of lanes, or one number. */
@inline
export function rowBytes<Row>(): usize {
  return isVector<Row>() ? 32 : 4;
}

/** sum + w·x */
@inline
export function product(sum: v128, w: v128, x: v128): v128 {
  return f32x4.add(sum, f32x4.mul(w, x));
}
