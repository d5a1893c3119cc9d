// The kernel's entry: runs a program on a net. The caller owns the memory and places programs, weights and data in
// it; the kernel allocates nothing.

import {
  atCode,
  opActivationGradient,
  opBiasGradient,
  opClear,
  opCopy,
  opCopyNumbers,
  opDraw,
  opEnd,
  opFastConv,
  opFlip,
  opForward,
  opInputGradient,
  opLoss,
  opMatvec,
  opPool,
  opPoolGradient,
  opSplat,
  opWeightGradient,
  recordBytes,
} from "../op-codes";
import { activationGradient, flip, inputGradient } from "./backward";
import { fastConv } from "./fast-conv";
import { forward } from "./forward";
import { matvec } from "./matvec";
import { field } from "./operation";
import { draw, loss } from "./outputs";
import { clear, copy, copyNumbers, pool, poolGradient, splatRows } from "./rows";
import { biasGradient, weightGradient } from "./weight-gradient";

export { mixtureQuantiles } from "./mixture";
export { adam, pack } from "./weights";

/**
 * The first `lanes` lanes are in use; the rest of the last block of 8 is padding. `noise` is the table that drives
 * the sample paths; derivatives of the loss are multiplied by `scale`. Returns the sum of all losses.
 */
export function run(
  program: usize,
  weights: usize,
  gradient: usize,
  noise: usize,
  lanes: i32,
  scale: f32,
): f64 {
  const blocks = (lanes + 7) >> 3;
  let total: f64 = 0;
  for (let op = program; field(op, atCode) != opEnd; op += recordBytes) {
    const code = field(op, atCode);
    if (code == opForward) forward(op, weights, blocks);
    else if (code == opFastConv) {
      fastConv(op, weights, blocks);
      op += 6 * recordBytes;
    } else if (code == opMatvec) matvec(op, weights);
    else if (code == opClear) clear(op, blocks);
    else if (code == opSplat) splatRows(op, blocks);
    else if (code == opCopy) copy(op, blocks);
    else if (code == opPool) pool(op, blocks);
    else if (code == opDraw) draw(op, noise, blocks);
    else if (code == opCopyNumbers) copyNumbers(op);
    else if (code == opLoss) total += loss(op, lanes, scale);
    else if (code == opInputGradient) inputGradient(op, weights, blocks);
    else if (code == opFlip) flip(op, weights);
    else if (code == opActivationGradient) activationGradient(op, blocks);
    else if (code == opPoolGradient) poolGradient(op, blocks);
    else if (code == opWeightGradient) weightGradient(op, gradient, blocks);
    else if (code == opBiasGradient) biasGradient(op, gradient, blocks);
  }
  return total;
}
