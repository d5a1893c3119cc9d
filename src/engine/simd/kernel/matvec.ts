// y = f(b + W·x) for one vector x, [channel][position]: the contribution of the shared window, computed once for all
// sample paths. Four outputs of a group share a register, so packed weights are read in order.

import {
  atActivation,
  atChannels,
  atColumnStride,
  atColumns,
  atFirstColumn,
  atKernel,
  atOutputs,
  atX,
  atXRow,
  atY,
} from "../op-codes";
import { activate, biasesOf, field, weightsOf } from "./operation";
import { splat, sumLanes } from "./vector-math";

export function matvec(op: usize, base: usize): void {
  const outputs = field(op, atOutputs);
  const columns = field(op, atColumns);
  const activation = field(op, atActivation);
  const weights = weightsOf(op, base);
  const biases = biasesOf(op, base);
  const y: usize = field(op, atY);
  const quads = outputs >> 2;
  for (let quad = 0; quad < quads; quad++) {
    const at = quad << 4;
    const sum = quadSum(op, weights + quad * (columns << 4));
    v128.store(y + at, activate(f32x4.add(v128.load(biases + at), sum), activation));
  }
  for (let output = quads << 2; output < outputs; output++) {
    const at = output << 2;
    const sum = rowSum(op, weights + output * (columns << 2));
    store<f32>(y + at, f32x4.extract_lane(activate(splat(load<f32>(biases + at) + sum), activation), 0));
  }
}

function quadSum(op: usize, weights: usize): v128 {
  const kernel = field(op, atKernel);
  const stride = field(op, atColumnStride);
  const xRow = field(op, atXRow);
  let w0 = weights + (field(op, atFirstColumn) << 4);
  let x0: usize = field(op, atX);
  // Four sums, so that an addition does not wait for the one before it.
  let a = splat(0);
  let b = splat(0);
  let c = splat(0);
  let d = splat(0);
  for (let channel = field(op, atChannels); channel > 0; channel--) {
    let w = w0;
    let x = x0;
    let k = kernel;
    for (; k >= 4; k -= 4) {
      a = f32x4.add(a, f32x4.mul(v128.load(w), v128.load_splat<f32>(x)));
      b = f32x4.add(b, f32x4.mul(v128.load(w, 16), v128.load_splat<f32>(x, 4)));
      c = f32x4.add(c, f32x4.mul(v128.load(w, 32), v128.load_splat<f32>(x, 8)));
      d = f32x4.add(d, f32x4.mul(v128.load(w, 48), v128.load_splat<f32>(x, 12)));
      w += 64;
      x += 16;
    }
    for (; k > 0; k--) {
      a = f32x4.add(a, f32x4.mul(v128.load(w), v128.load_splat<f32>(x)));
      w += 16;
      x += 4;
    }
    w0 += stride << 4;
    x0 += xRow;
  }
  return f32x4.add(f32x4.add(a, b), f32x4.add(c, d));
}

function rowSum(op: usize, weights: usize): f32 {
  const kernel = field(op, atKernel);
  const stride = field(op, atColumnStride);
  const xRow = field(op, atXRow);
  let w0 = weights + (field(op, atFirstColumn) << 2);
  let x0: usize = field(op, atX);
  let sum = splat(0);
  let rest: f32 = 0;
  for (let channel = field(op, atChannels); channel > 0; channel--) {
    let w = w0;
    let x = x0;
    let k = kernel;
    for (; k >= 4; k -= 4) {
      sum = f32x4.add(sum, f32x4.mul(v128.load(w), v128.load(x)));
      w += 16;
      x += 16;
    }
    for (; k > 0; k--) {
      rest += load<f32>(w) * load<f32>(x);
      w += 4;
      x += 4;
    }
    w0 += stride << 2;
    x0 += xRow;
  }
  return sumLanes(sum) + rest;
}
