// The hot loop: y = f(b + W·x). A tile is 4 outputs × 8 lanes: a column takes six loads, eight products and eight
// additions to sums that stay in registers. V8 places all loads of a basic block before its arithmetic and has 15
// registers: eight sums, six operands and a product fill them. An iteration is therefore one column (two would
// spill), and V8 does the unrolling. Three loops share the work: `plainQuads` for columns that are contiguous,
// `generalQuads` for all other groups of four outputs, `singleOutputs` for outputs outside such groups.

import {
  activationLinear,
  activationRelu,
  activationSigmoid,
  atActivation,
  atChannels,
  atColumnStride,
  atColumns,
  atFirstColumn,
  atFlags,
  atKernel,
  atOutputs,
  atPositions,
  atTable,
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
  flagPositions,
} from "../op-codes";
import { activate, biasesOf, blocksOf, field, product, rowBytes, weightsOf } from "./operation";
import { splat } from "./vector-math";

/**
 * Contiguous columns over rows of lanes: dense layers, block by block, and convolutions of one channel, position by
 * position. `generalQuads` could do the same, but would spill registers.
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
    generalQuads<f32>(op, base, blocks);
    singleOutputs<f32>(op, base, blocks);
    return;
  }
  const isPlain =
    field(op, atChannels) == 1 &&
    field(op, atActivation) != activationSigmoid &&
    (field(op, atFlags) & (flagAccumulate | flagNoBias)) == 0;
  if (isPlain) forwardPlain(op, base, blocks);
  else generalQuads<v128>(op, base, blocks);
  singleOutputs<v128>(op, base, blocks);
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

/**
 * Convolutions at every position, dense layers whose columns are not contiguous, sums added to y, and the positions
 * layout (`Row` is f32; otherwise v128).
 */
function generalQuads<Row>(op: usize, base: usize, blocks: i32): void {
  const outputs = field(op, atOutputs);
  const quads = outputs >> 2;
  const positions = field(op, atPositions);
  const channels = field(op, atChannels);
  const kernel = field(op, atKernel);
  const columns = field(op, atColumns);
  const xRow = field(op, atXRow) - kernel * <i32>rowBytes<Row>();
  const wRow = (field(op, atColumnStride) - kernel) << 4;
  const w0 = weightsOf(op, base) + (field(op, atFirstColumn) << 4);
  const biases = biasesOf(op, base);
  const isAdding = (field(op, atFlags) & flagAccumulate) != 0;
  const hasNoBias = (field(op, atFlags) & flagNoBias) != 0;
  const activation = field(op, atActivation);
  const table: usize = field(op, atTable);
  const yRow = field(op, atYRow);
  const xBlock = field(op, atXBlock);
  const yBlock = field(op, atYBlock);
  const xStep = field(op, atXStep);
  const yStep = field(op, atYStep);
  let xOfBlock: usize = field(op, atX);
  let yOfBlock: usize = field(op, atY);
  for (let block = 0; block < blocks; block++) {
    let xOfPosition = xOfBlock;
    let yOfPosition = yOfBlock;
    for (let position = 0; position < positions; position++) {
      let y0 = yOfPosition;
      let wOfQuad = w0;
      for (let quad = 0; quad < quads; quad++) {
        const y1 = y0 + yRow;
        const y2 = y1 + yRow;
        const y3 = y2 + yRow;
        let a0: v128, a1: v128, b0: v128, b1: v128, c0: v128, c1: v128, d0: v128, d1: v128;
        if (isAdding) {
          a0 = v128.load(y0);
          a1 = v128.load(y0, 16);
          b0 = v128.load(y1);
          b1 = v128.load(y1, 16);
          c0 = v128.load(y2);
          c1 = v128.load(y2, 16);
          d0 = v128.load(y3);
          d1 = v128.load(y3, 16);
        } else if (hasNoBias) {
          a0 = a1 = b0 = b1 = c0 = c1 = d0 = d1 = splat(0);
        } else {
          const b = biases + (quad << 4);
          a0 = a1 = v128.load_splat<f32>(b);
          b0 = b1 = v128.load_splat<f32>(b, 4);
          c0 = c1 = v128.load_splat<f32>(b, 8);
          d0 = d1 = v128.load_splat<f32>(b, 12);
        }
        let w = wOfQuad;
        let x = xOfPosition;
        if (table != 0) {
          let entry = table;
          for (let column = columns; column > 0; column--) {
            const xOfColumn: usize = x + load<u32>(entry);
            const x0 = v128.load(xOfColumn);
            const x1 = v128.load(xOfColumn, 16);
            let ws = v128.load_splat<f32>(w);
            a0 = product(a0, ws, x0);
            a1 = product(a1, ws, x1);
            ws = v128.load_splat<f32>(w, 4);
            b0 = product(b0, ws, x0);
            b1 = product(b1, ws, x1);
            ws = v128.load_splat<f32>(w, 8);
            c0 = product(c0, ws, x0);
            c1 = product(c1, ws, x1);
            ws = v128.load_splat<f32>(w, 12);
            d0 = product(d0, ws, x0);
            d1 = product(d1, ws, x1);
            w += 16;
            entry += 4;
          }
        } else {
          for (let channel = channels; channel > 0; channel--) {
            for (let k = kernel; k > 0; k--) {
              const x0 = v128.load(x);
              const x1 = v128.load(x, 16);
              let ws = v128.load_splat<f32>(w);
              a0 = product(a0, ws, x0);
              a1 = product(a1, ws, x1);
              ws = v128.load_splat<f32>(w, 4);
              b0 = product(b0, ws, x0);
              b1 = product(b1, ws, x1);
              ws = v128.load_splat<f32>(w, 8);
              c0 = product(c0, ws, x0);
              c1 = product(c1, ws, x1);
              ws = v128.load_splat<f32>(w, 12);
              d0 = product(d0, ws, x0);
              d1 = product(d1, ws, x1);
              w += 16;
              x += rowBytes<Row>();
            }
            w += wRow;
            x += xRow;
          }
        }
        if (activation != activationLinear) {
          a0 = activate(a0, activation);
          a1 = activate(a1, activation);
          b0 = activate(b0, activation);
          b1 = activate(b1, activation);
          c0 = activate(c0, activation);
          c1 = activate(c1, activation);
          d0 = activate(d0, activation);
          d1 = activate(d1, activation);
        }
        v128.store(y0, a0);
        v128.store(y0, a1, 16);
        v128.store(y1, b0);
        v128.store(y1, b1, 16);
        v128.store(y2, c0);
        v128.store(y2, c1, 16);
        v128.store(y3, d0);
        v128.store(y3, d1, 16);
        y0 = y3 + yRow;
        wOfQuad += columns << 4;
      }
      xOfPosition += xStep;
      yOfPosition += yStep;
    }
    xOfBlock += xBlock;
    yOfBlock += yBlock;
  }
}

/** Outputs outside a group of four, such as the heads of a net with one target: one by one, over up to 24 lanes. */
function singleOutputs<Row>(op: usize, base: usize, blocks: i32): void {
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
