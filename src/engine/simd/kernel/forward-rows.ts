// Outputs that do not fill a group of four, such as the heads of a net with one target: one by one, over 24 lanes.

import {
  atActivation,
  atChannels,
  atColumnStride,
  atColumns,
  atFirstColumn,
  atFlags,
  atKernel,
  atOutputs,
  atPositions,
  atX,
  atXBlock,
  atXRow,
  atXStep,
  atY,
  atYBlock,
  atYRow,
  atYStep,
  flagAccumulate,
  flagNoBias,
} from "../op-codes";
import { biasesOf, field, weightsOf } from "./record";
import { activate, product, rowBytes } from "./tile";
import { splat } from "./vector-math";

export function forwardRows<Row>(op: usize, base: usize, blocks: i32): void {
  const outputs = field(op, atOutputs);
  const first = outputs & ~3;
  const positions = field(op, atPositions);
  const columns = field(op, atColumns);
  const weights = weightsOf(op, base) + ((first * columns + field(op, atFirstColumn)) << 2);
  const biases = biasesOf(op, base);
  const xBlock = field(op, atXBlock);
  const yBlock = field(op, atYBlock);
  const xStep = field(op, atXStep);
  const yStep = field(op, atYStep);
  for (let output = first; output < outputs; output++) {
    const w = weights + (((output - first) * columns) << 2);
    const b = biases + (output << 2);
    let x: usize = field(op, atX);
    let y: usize = field(op, atY) + output * field(op, atYRow);
    for (let position = 0; position < positions; position++) {
      let block = 0;
      for (; block + 3 <= blocks; block += 3) {
        threeBlocks<Row>(op, w, b, x + block * xBlock, y + block * yBlock);
      }
      for (; block < blocks; block++) oneBlock<Row>(op, w, b, x + block * xBlock, y + block * yBlock);
      x += xStep;
      y += yStep;
    }
  }
}

/** One output over 24 lanes. */
function threeBlocks<Row>(op: usize, weights: usize, b: usize, xs: usize, y: usize): void {
  const kernel = field(op, atKernel);
  const xRow = field(op, atXRow) - kernel * <i32>rowBytes<Row>();
  const wRow = (field(op, atColumnStride) - kernel) << 2;
  const xBlock = field(op, atXBlock);
  const yBlock = field(op, atYBlock);
  const isAdding = (field(op, atFlags) & flagAccumulate) != 0;
  const y1 = y + yBlock;
  const y2 = y1 + yBlock;
  const bias = field(op, atFlags) & flagNoBias ? splat(0) : v128.load_splat<f32>(b);
  let a0 = isAdding ? v128.load(y) : bias;
  let a1 = isAdding ? v128.load(y, 16) : bias;
  let b0 = isAdding ? v128.load(y1) : bias;
  let b1 = isAdding ? v128.load(y1, 16) : bias;
  let c0 = isAdding ? v128.load(y2) : bias;
  let c1 = isAdding ? v128.load(y2, 16) : bias;
  let w = weights;
  let x0 = xs;
  let x1 = x0 + xBlock;
  let x2 = x1 + xBlock;
  for (let channel = field(op, atChannels); channel > 0; channel--) {
    for (let k = kernel; k > 0; k--) {
      const ws = v128.load_splat<f32>(w);
      a0 = product(a0, ws, v128.load(x0));
      a1 = product(a1, ws, v128.load(x0, 16));
      b0 = product(b0, ws, v128.load(x1));
      b1 = product(b1, ws, v128.load(x1, 16));
      c0 = product(c0, ws, v128.load(x2));
      c1 = product(c1, ws, v128.load(x2, 16));
      w += 4;
      x0 += rowBytes<Row>();
      x1 += rowBytes<Row>();
      x2 += rowBytes<Row>();
    }
    w += wRow;
    x0 += xRow;
    x1 += xRow;
    x2 += xRow;
  }
  const activation = field(op, atActivation);
  v128.store(y, activate(a0, activation));
  v128.store(y, activate(a1, activation), 16);
  v128.store(y1, activate(b0, activation));
  v128.store(y1, activate(b1, activation), 16);
  v128.store(y2, activate(c0, activation));
  v128.store(y2, activate(c1, activation), 16);
}

/** One output over 8 lanes. */
function oneBlock<Row>(op: usize, weights: usize, b: usize, xs: usize, y: usize): void {
  const kernel = field(op, atKernel);
  const xRow = field(op, atXRow) - kernel * <i32>rowBytes<Row>();
  const wRow = (field(op, atColumnStride) - kernel) << 2;
  const isAdding = (field(op, atFlags) & flagAccumulate) != 0;
  const bias = field(op, atFlags) & flagNoBias ? splat(0) : v128.load_splat<f32>(b);
  let a0 = isAdding ? v128.load(y) : bias;
  let a1 = isAdding ? v128.load(y, 16) : bias;
  let w = weights;
  let x = xs;
  for (let channel = field(op, atChannels); channel > 0; channel--) {
    for (let k = kernel; k > 0; k--) {
      const ws = v128.load_splat<f32>(w);
      a0 = product(a0, ws, v128.load(x));
      a1 = product(a1, ws, v128.load(x, 16));
      w += 4;
      x += rowBytes<Row>();
    }
    w += wRow;
    x += xRow;
  }
  const activation = field(op, atActivation);
  v128.store(y, activate(a0, activation));
  v128.store(y, activate(a1, activation), 16);
}
