// Derivatives by weights and biases, added to the gradient. The derivative d by a layer's sums is transposed so that
// eight outputs of a lane are adjacent. A tile of 8 outputs × 4 columns then runs the same loop as the forward pass,
// with the lanes as its columns, and needs no sum across a register.

import {
  atB,
  atChannels,
  atColumnStride,
  atColumns,
  atFirstColumn,
  atKernel,
  atOutputs,
  atPositions,
  atX,
  atXBlock,
  atXRow,
  atY,
  atYBlock,
  atYRow,
} from "../op-codes";
import { biasesOf, blocksOf, field, product, weightsOf } from "./operation";
import { splat, sumLanes } from "./vector-math";

/** x: the layer's input; y: d; b: scratch memory for d transposed. */
export function weightGradient(op: usize, base: usize, runBlocks: i32): void {
  const blocks = blocksOf(op, runBlocks);
  const outputs = field(op, atOutputs);
  const gradient = weightsOf(op, base);
  // With many positions one block of d fills the level-1 cache; with one position all blocks fit into it.
  const chunk = field(op, atPositions) > 1 ? 1 : blocks;
  for (let block = 0; block < blocks; block += chunk) {
    let output = 0;
    for (; output + 8 <= outputs; output += 8) {
      transposeEight(op, output, block, chunk);
      tiles<v128>(op, gradient, output, block, chunk);
    }
    if (output + 4 <= outputs) {
      transposeFour(op, output, block, chunk);
      tiles<f32>(op, gradient, output, block, chunk);
      output += 4;
    }
    for (; output < outputs; output++) rowTiles(op, gradient, output, block, chunk);
  }
}

@inline
function dOf(op: usize, output: i32, block: i32): usize {
  return field(op, atY) + block * field(op, atYBlock) + output * field(op, atYRow);
}

function transposeEight(op: usize, output: i32, block: i32, chunk: i32): void {
  const yRow = field(op, atYRow);
  let to: usize = field(op, atB);
  for (let b = block; b < block + chunk; b++) {
    let from = dOf(op, output, b);
    for (let position = field(op, atPositions); position > 0; position--) {
      transposeQuad(from, yRow, to, 32);
      transposeQuad(from + 4 * yRow, yRow, to + 16, 32);
      from += 32;
      to += 256;
    }
  }
}

function transposeFour(op: usize, output: i32, block: i32, chunk: i32): void {
  let to: usize = field(op, atB);
  for (let b = block; b < block + chunk; b++) {
    let from = dOf(op, output, b);
    for (let position = field(op, atPositions); position > 0; position--) {
      transposeQuad(from, field(op, atYRow), to, 16);
      from += 32;
      to += 128;
    }
  }
}

/** Turns four rows of 8 lanes into eight lanes of four numbers, `step` bytes apart. */
@inline
function transposeQuad(from: usize, row: usize, to: usize, step: usize): void {
  for (let half: usize = 0; half < 2; half++) {
    const at = from + half * 16;
    const a = v128.load(at);
    const b = v128.load(at + row);
    const c = v128.load(at + 2 * row);
    const d = v128.load(at + 3 * row);
    const ab = v128.shuffle<f32>(a, b, 0, 4, 1, 5);
    const cd = v128.shuffle<f32>(c, d, 0, 4, 1, 5);
    const abHigh = v128.shuffle<f32>(a, b, 2, 6, 3, 7);
    const cdHigh = v128.shuffle<f32>(c, d, 2, 6, 3, 7);
    const y = to + half * 4 * step;
    v128.store(y, v128.shuffle<f32>(ab, cd, 0, 1, 4, 5));
    v128.store(y + step, v128.shuffle<f32>(ab, cd, 2, 3, 6, 7));
    v128.store(y + 2 * step, v128.shuffle<f32>(abHigh, cdHigh, 0, 1, 4, 5));
    v128.store(y + 3 * step, v128.shuffle<f32>(abHigh, cdHigh, 2, 3, 6, 7));
  }
}

/** All columns for 8 outputs (`Wide` is v128) or 4 (f32). */
function tiles<Wide>(op: usize, gradient: usize, output: i32, block: i32, chunk: i32): void {
  const kernel = field(op, atKernel);
  const columns = field(op, atColumns);
  const stride = field(op, atColumnStride);
  const total = field(op, atChannels) * kernel;
  const g = gradient + (((output >> 2) * columns + field(op, atFirstColumn)) << 4);
  const x: usize = field(op, atX) + block * field(op, atXBlock);
  const xRow = field(op, atXRow);
  let column = 0;
  for (; column + 4 <= total; column += 4) {
    const c0 = column / kernel;
    const c1 = (column + 1) / kernel;
    const c2 = (column + 2) / kernel;
    const c3 = (column + 3) / kernel;
    const k0 = column - c0 * kernel;
    const k1 = column + 1 - c1 * kernel;
    const k2 = column + 2 - c2 * kernel;
    const k3 = column + 3 - c3 * kernel;
    fourColumns<Wide>(
      op,
      chunk,
      x + c0 * xRow + (k0 << 5),
      x + c1 * xRow + (k1 << 5),
      x + c2 * xRow + (k2 << 5),
      x + c3 * xRow + (k3 << 5),
      g + ((c0 * stride + k0) << 4),
      g + ((c1 * stride + k1) << 4),
      g + ((c2 * stride + k2) << 4),
      g + ((c3 * stride + k3) << 4),
    );
  }
  for (; column < total; column++) {
    const c = column / kernel;
    const k = column - c * kernel;
    oneColumn<Wide>(op, chunk, x + c * xRow + (k << 5), g + ((c * stride + k) << 4));
  }
}

function fourColumns<Wide>(
  op: usize,
  chunk: i32,
  xa: usize,
  xb: usize,
  xc: usize,
  xd: usize,
  ga: usize,
  gb: usize,
  gc: usize,
  gd: usize,
): void {
  const high: usize = field(op, atColumns) << 4;
  const lanes = field(op, atPositions) << 3;
  const xBlock: usize = field(op, atXBlock) - (lanes << 2);
  let d: usize = field(op, atB);
  let a0 = v128.load(ga);
  let b0 = v128.load(gb);
  let c0 = v128.load(gc);
  let d0 = v128.load(gd);
  let a1 = splat(0);
  let b1 = a1;
  let c1 = a1;
  let d1 = a1;
  if (isVector<Wide>()) {
    a1 = v128.load(ga + high);
    b1 = v128.load(gb + high);
    c1 = v128.load(gc + high);
    d1 = v128.load(gd + high);
  }
  for (let block = chunk; block > 0; block--) {
    // The lanes of a row and the rows of successive positions are contiguous.
    for (let lane = lanes; lane > 0; lane--) {
      const low = v128.load(d);
      const top = isVector<Wide>() ? v128.load(d, 16) : low;
      let x = v128.load_splat<f32>(xa);
      a0 = product(a0, x, low);
      if (isVector<Wide>()) a1 = product(a1, x, top);
      x = v128.load_splat<f32>(xb);
      b0 = product(b0, x, low);
      if (isVector<Wide>()) b1 = product(b1, x, top);
      x = v128.load_splat<f32>(xc);
      c0 = product(c0, x, low);
      if (isVector<Wide>()) c1 = product(c1, x, top);
      x = v128.load_splat<f32>(xd);
      d0 = product(d0, x, low);
      if (isVector<Wide>()) d1 = product(d1, x, top);
      d += isVector<Wide>() ? 32 : 16;
      xa += 4;
      xb += 4;
      xc += 4;
      xd += 4;
    }
    xa += xBlock;
    xb += xBlock;
    xc += xBlock;
    xd += xBlock;
  }
  v128.store(ga, a0);
  v128.store(gb, b0);
  v128.store(gc, c0);
  v128.store(gd, d0);
  if (isVector<Wide>()) {
    v128.store(ga + high, a1);
    v128.store(gb + high, b1);
    v128.store(gc + high, c1);
    v128.store(gd + high, d1);
  }
}

function oneColumn<Wide>(op: usize, chunk: i32, xs: usize, g: usize): void {
  const high: usize = field(op, atColumns) << 4;
  const lanes = field(op, atPositions) << 3;
  const xBlock: usize = field(op, atXBlock) - (lanes << 2);
  let d: usize = field(op, atB);
  let x = xs;
  let a0 = v128.load(g);
  let a1 = splat(0);
  if (isVector<Wide>()) a1 = v128.load(g + high);
  for (let block = chunk; block > 0; block--) {
    for (let lane = lanes; lane > 0; lane--) {
      const value = v128.load_splat<f32>(x);
      a0 = product(a0, value, v128.load(d));
      if (isVector<Wide>()) a1 = product(a1, value, v128.load(d, 16));
      d += isVector<Wide>() ? 32 : 16;
      x += 4;
    }
    x += xBlock;
  }
  v128.store(g, a0);
  if (isVector<Wide>()) v128.store(g + high, a1);
}

/** An output outside the groups of four: sums over the lanes, column by column. */
function rowTiles(op: usize, gradient: usize, output: i32, block: i32, chunk: i32): void {
  const kernel = field(op, atKernel);
  const rows = gradient + ((output * field(op, atColumns) + field(op, atFirstColumn)) << 2);
  for (let channel = 0; channel < field(op, atChannels); channel++) {
    const x: usize = field(op, atX) + block * field(op, atXBlock) + channel * field(op, atXRow);
    const g = rows + ((channel * field(op, atColumnStride)) << 2);
    for (let k = 0; k < kernel; k++) {
      const at = g + (k << 2);
      store<f32>(at, load<f32>(at) + sumLanes(dotOfRows(op, output, block, chunk, x + (k << 5))));
    }
  }
}

function dotOfRows(op: usize, output: i32, block: i32, chunk: i32, xs: usize): v128 {
  const positions = field(op, atPositions);
  let even = splat(0);
  let odd = splat(0);
  let xOfBlock = xs;
  for (let b = block; b < block + chunk; b++) {
    let d = dOf(op, output, b);
    let x = xOfBlock;
    for (let position = positions; position > 0; position--) {
      even = product(even, v128.load(x), v128.load(d));
      odd = product(odd, v128.load(x, 16), v128.load(d, 16));
      d += 32;
      x += 32;
    }
    xOfBlock += field(op, atXBlock);
  }
  return f32x4.add(even, odd);
}

/** b += sums of y over lanes and positions. */
export function biasGradient(op: usize, base: usize, runBlocks: i32): void {
  const blocks = blocksOf(op, runBlocks);
  const biases = biasesOf(op, base);
  const positions = field(op, atPositions);
  for (let output = 0; output < field(op, atOutputs); output++) {
    let even = splat(0);
    let odd = splat(0);
    for (let block = 0; block < blocks; block++) {
      let d = dOf(op, output, block);
      for (let position = positions; position > 0; position--) {
        even = f32x4.add(even, v128.load(d));
        odd = f32x4.add(odd, v128.load(d, 16));
        d += 32;
      }
    }
    const at = biases + (output << 2);
    store<f32>(at, load<f32>(at) + sumLanes(f32x4.add(even, odd)));
  }
}
