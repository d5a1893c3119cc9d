// Derivatives by the inputs of layers. A dense layer reads its packed weights by column. The weights of a convolution
// are first reversed (`flip`); its backward pass is then a forward pass over the derivative padded with zeros.

import {
  activationLinear,
  activationRelu,
  atActivation,
  atB,
  atBBlock,
  atBRow,
  atChannels,
  atColumns,
  atFirstColumn,
  atFlags,
  atKernel,
  atOutputs,
  atPositions,
  atX,
  atXBlock,
  atXRow,
  atY,
  atYBlock,
  atYRow,
  flagAccumulate,
} from "../op-codes";
import { blocksOf, field, product, weightsOf } from "./operation";
import { splat } from "./vector-math";

/** y[i] = Σ_o w[o][firstColumn + i]·x[o] for i < kernel. */
export function inputGradient(op: usize, base: usize, runBlocks: i32): void {
  const blocks = blocksOf(op, runBlocks);
  const weights = weightsOf(op, base);
  const first = field(op, atFirstColumn);
  const count = field(op, atKernel);
  const yRow = field(op, atYRow);
  for (let block = 0; block < blocks; block++) {
    const x: usize = field(op, atX) + block * field(op, atXBlock);
    const y: usize = field(op, atY) + block * field(op, atYBlock);
    let column = 0;
    for (; column + 4 <= count; column += 4) {
      fourColumns(op, weights, first + column, x, y + column * yRow);
    }
    for (; column < count; column++) oneColumn(op, weights, first + column, x, y + column * yRow);
  }
}

function fourColumns(op: usize, weights: usize, column: i32, xs: usize, y: usize): void {
  const outputs = field(op, atOutputs);
  const columns = field(op, atColumns);
  const xRow = field(op, atXRow);
  const yRow = field(op, atYRow);
  const y1 = y + yRow;
  const y2 = y1 + yRow;
  const y3 = y2 + yRow;
  const isAdding = (field(op, atFlags) & flagAccumulate) != 0;
  const zero = splat(0);
  let a0 = isAdding ? v128.load(y) : zero;
  let a1 = isAdding ? v128.load(y, 16) : zero;
  let b0 = isAdding ? v128.load(y1) : zero;
  let b1 = isAdding ? v128.load(y1, 16) : zero;
  let c0 = isAdding ? v128.load(y2) : zero;
  let c1 = isAdding ? v128.load(y2, 16) : zero;
  let d0 = isAdding ? v128.load(y3) : zero;
  let d1 = isAdding ? v128.load(y3, 16) : zero;
  let x = xs;
  let wOfQuad = weights + (column << 4);
  for (let quad = outputs >> 2; quad > 0; quad--) {
    let w = wOfQuad;
    for (let row = 4; row > 0; row--) {
      const x0 = v128.load(x);
      const x1 = v128.load(x, 16);
      let ws = v128.load_splat<f32>(w);
      a0 = product(a0, ws, x0);
      a1 = product(a1, ws, x1);
      ws = v128.load_splat<f32>(w, 16);
      b0 = product(b0, ws, x0);
      b1 = product(b1, ws, x1);
      ws = v128.load_splat<f32>(w, 32);
      c0 = product(c0, ws, x0);
      c1 = product(c1, ws, x1);
      ws = v128.load_splat<f32>(w, 48);
      d0 = product(d0, ws, x0);
      d1 = product(d1, ws, x1);
      w += 4;
      x += xRow;
    }
    wOfQuad += columns << 4;
  }
  let w = weights + (((outputs & ~3) * columns + column) << 2);
  for (let row = outputs & 3; row > 0; row--) {
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
    w += columns << 2;
    x += xRow;
  }
  v128.store(y, a0);
  v128.store(y, a1, 16);
  v128.store(y1, b0);
  v128.store(y1, b1, 16);
  v128.store(y2, c0);
  v128.store(y2, c1, 16);
  v128.store(y3, d0);
  v128.store(y3, d1, 16);
}

function oneColumn(op: usize, weights: usize, column: i32, xs: usize, y: usize): void {
  const outputs = field(op, atOutputs);
  const columns = field(op, atColumns);
  const xRow = field(op, atXRow);
  const isAdding = (field(op, atFlags) & flagAccumulate) != 0;
  let a0 = isAdding ? v128.load(y) : splat(0);
  let a1 = isAdding ? v128.load(y, 16) : splat(0);
  let x = xs;
  for (let output = 0; output < outputs; output++) {
    const ws = v128.load_splat<f32>(weights + weightAt(output, column, outputs, columns));
    a0 = product(a0, ws, v128.load(x));
    a1 = product(a1, ws, v128.load(x, 16));
    x += xRow;
  }
  v128.store(y, a0);
  v128.store(y, a1, 16);
}

/** Bytes from the start of a packed matrix to one of its weights. */
@inline
function weightAt(output: i32, column: i32, outputs: i32, columns: i32): i32 {
  if (output < (outputs & ~3)) return (((output >> 2) * columns + column) << 4) + ((output & 3) << 2);
  return (output * columns + column) << 2;
}

/** y = w with filters and channels exchanged and the kernel reversed: [channel][filter][k] from [filter][channel][k]. */
export function flip(op: usize, base: usize): void {
  const weights = weightsOf(op, base);
  const y: usize = field(op, atY);
  const filters = field(op, atOutputs);
  const channels = field(op, atChannels);
  const kernel = field(op, atKernel);
  for (let filter = 0; filter < filters; filter++) {
    for (let channel = 0; channel < channels; channel++) {
      for (let k = 0; k < kernel; k++) {
        const from = weightAt(filter, channel * kernel + k, filters, channels * kernel);
        const to = weightAt(channel, filter * kernel + kernel - 1 - k, channels, filters * kernel);
        store<f32>(y + to, load<f32>(weights + from));
      }
    }
  }
}

/** y = x·f′(b), where b is the output of the activation, with `kernel` rows of zeros around each channel of y. */
export function activationGradient(op: usize, runBlocks: i32): void {
  const blocks = blocksOf(op, runBlocks);
  const positions = field(op, atPositions);
  const padding = field(op, atKernel) << 5;
  const activation = field(op, atActivation);
  const bytes = positions << 5;
  for (let block = 0; block < blocks; block++) {
    let x: usize = field(op, atX) + block * field(op, atXBlock);
    let y: usize = field(op, atY) + block * field(op, atYBlock);
    let b: usize = field(op, atB) + block * field(op, atBBlock);
    for (let channel = field(op, atChannels); channel > 0; channel--) {
      if (padding != 0) {
        memory.fill(y - padding, 0, padding);
        memory.fill(y + bytes, 0, padding);
      }
      for (let at = 0; at < bytes; at += 16) {
        v128.store(y + at, slopeTimes(v128.load(b + at), v128.load(x + at), activation));
      }
      x += field(op, atXRow);
      y += field(op, atYRow);
      b += field(op, atBRow);
    }
  }
}

@inline
function slopeTimes(value: v128, gradient: v128, activation: i32): v128 {
  if (activation == activationRelu) return v128.and(gradient, f32x4.gt(value, splat(0)));
  if (activation == activationLinear) return gradient;
  return f32x4.mul(gradient, f32x4.mul(value, f32x4.sub(splat(1), value)));
}
