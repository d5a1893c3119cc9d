// The kernel's door: runs a program on a net. The memory belongs to the caller, who lays out programs, weights and
// data in it; nothing is allocated here.

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
import { draw, loss } from "./outputs";
import { field } from "./record";
import { clear, copy, copyNumbers, pool, poolGradient, splatRows } from "./rows";
import { biasGradient, weightGradient } from "./weight-gradient";

export { adam } from "./adam";
export { mixtureQuantiles } from "./mixture";
export { pack } from "./pack";

/**
 * `lanes` are in use, the rest of the last block of 8 is padding. `noise` is the table of the sample paths, `scale`
 * what derivatives of the loss are multiplied with. Returns the sum of the losses met on the way.
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
