// Reading a program's records.

import { atB, atBlocks, atFlags, atW, flagAbsoluteB, flagAbsoluteW } from "../op-codes";

@inline
export function field(op: usize, at: usize): i32 {
  return load<i32>(op + at);
}

/** Where an operation's weights (or their gradient) lie. */
export function weightsOf(op: usize, base: usize): usize {
  const at: usize = field(op, atW);
  return field(op, atFlags) & flagAbsoluteW ? at : base + at;
}

export function biasesOf(op: usize, base: usize): usize {
  const at: usize = field(op, atB);
  return field(op, atFlags) & flagAbsoluteB ? at : base + at;
}

/** How many blocks of lanes (or of positions) an operation covers. */
export function blocksOf(op: usize, runBlocks: i32): i32 {
  const own = field(op, atBlocks);
  return own != 0 ? own : runBlocks;
}
