// The hot loop: y = f(b + W·x). A tile is 4 outputs × 8 lanes: a column takes six loads, eight products and eight
// additions to sums that stay in registers. The engine puts all loads of a basic block before its arithmetic and has
// 15 registers to give: eight sums, six operands and a product fill them. So a loop turn is one column (two would
// spill), and unrolling is left to the engine. Convolutions and outputs that do not fill a group of four have loops
// of their own.

import {
  activationRelu,
  activationSigmoid,
  atActivation,
  atChannels,
  atColumns,
  atFirstColumn,
  atFlags,
  atKernel,
  atOutputs,
  atPositions,
  atX,
  atXBlock,
  atXStep,
  atY,
  atYBlock,
  atYRow,
  atYStep,
  flagAccumulate,
  flagNoBias,
  flagPositions,
} from "../op-codes";
import { convQuads } from "./forward-conv";
import { forwardRows } from "./forward-rows";
import { biasesOf, blocksOf, field, weightsOf } from "./record";
import { product } from "./tile";
import { splat } from "./vector-math";

/**
 * Columns that follow each other, over rows of lanes: dense layers, one block after the other, and convolutions of
 * one channel, one position after the other. A loop for these alone, though the general one could do it: there is little
 * else to keep in registers, so that nothing is spilled.
 */
function plainQuads(op: usize, base: usize, xs: usize, xStep: usize, ys: usize, yStep: usize, count: i32): void {
  const quads = field(op, atOutputs) >> 2;
  const kernel = field(op, atKernel);
  const w0 = weightsOf(op, base) + (field(op, atFirstColumn) << 4);
  const biases = biasesOf(op, base);
  const activation = field(op, atActivation);
  const yRow: usize = field(op, atYRow);
  const wSkip: usize = (field(op, atColumns) - kernel) << 4;
  for (let i: usize = 0; i < <usize>count; i++) {
    const x0 = xs + i * xStep;
    let y = ys + i * yStep;
    let w = w0;
    let b = biases;
    for (let quad = quads; quad > 0; quad--) {
      let a0 = v128.load_splat<f32>(b);
      let b0 = v128.load_splat<f32>(b, 4);
      let c0 = v128.load_splat<f32>(b, 8);
      let d0 = v128.load_splat<f32>(b, 12);
      let a1 = a0;
      let b1 = b0;
      let c1 = c0;
      let d1 = d0;
      let x = x0;
      for (let k = kernel; k > 0; k--) {
        const low = v128.load(x);
        const high = v128.load(x, 16);
        let ws = v128.load_splat<f32>(w);
        a0 = product(a0, ws, low);
        a1 = product(a1, ws, high);
        ws = v128.load_splat<f32>(w, 4);
        b0 = product(b0, ws, low);
        b1 = product(b1, ws, high);
        ws = v128.load_splat<f32>(w, 8);
        c0 = product(c0, ws, low);
        c1 = product(c1, ws, high);
        ws = v128.load_splat<f32>(w, 12);
        d0 = product(d0, ws, low);
        d1 = product(d1, ws, high);
        w += 16;
        x += 32;
      }
      if (activation == activationRelu) {
        a0 = f32x4.pmax(a0, splat(0));
        a1 = f32x4.pmax(a1, splat(0));
        b0 = f32x4.pmax(b0, splat(0));
        b1 = f32x4.pmax(b1, splat(0));
        c0 = f32x4.pmax(c0, splat(0));
        c1 = f32x4.pmax(c1, splat(0));
        d0 = f32x4.pmax(d0, splat(0));
        d1 = f32x4.pmax(d1, splat(0));
      }
      v128.store(y, a0);
      v128.store(y, a1, 16);
      y += yRow;
      v128.store(y, b0);
      v128.store(y, b1, 16);
      y += yRow;
      v128.store(y, c0);
      v128.store(y, c1, 16);
      y += yRow;
      v128.store(y, d0);
      v128.store(y, d1, 16);
      y += yRow;
      w += wSkip;
      b += 16;
    }
  }
}

export function forward(op: usize, base: usize, runBlocks: i32): void {
  const blocks = blocksOf(op, runBlocks);
  if (field(op, atFlags) & flagPositions) {
    convQuads<f32>(op, base, blocks);
    forwardRows<f32>(op, base, blocks);
    return;
  }
  const isPlain =
    field(op, atChannels) == 1 &&
    field(op, atActivation) != activationSigmoid &&
    (field(op, atFlags) & (flagAccumulate | flagNoBias)) == 0;
  if (isPlain) forwardPlain(op, base, blocks);
  else convQuads<v128>(op, base, blocks);
  forwardRows<v128>(op, base, blocks);
}

function forwardPlain(op: usize, base: usize, blocks: i32): void {
  const positions = field(op, atPositions);
  const x: usize = field(op, atX);
  const y: usize = field(op, atY);
  const xBlock = field(op, atXBlock);
  const yBlock = field(op, atYBlock);
  if (positions == 1) {
    plainQuads(op, base, x, xBlock, y, yBlock, blocks);
    return;
  }
  for (let block = 0; block < blocks; block++) {
    const xOfBlock = x + block * xBlock;
    const yOfBlock = y + block * yBlock;
    plainQuads(op, base, xOfBlock, field(op, atXStep), yOfBlock, field(op, atYStep), positions);
  }
}
