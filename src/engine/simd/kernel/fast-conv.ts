// Convolutions with kernels of 2 to 4 in fewer products, by the method of Toom and Cook (Winograd's F(4, 3) for a
// kernel of 3): a tile of m = 7 − kernel neighbouring outputs is evaluated at six points, so that 6 products per
// channel replace m·kernel.
//
// Legend: d0 … d5 the inputs of a tile; the points are 0, 1, −1, 2, −2 and ∞.
//   U = G·w of every filter and channel, V = Bᵀ·d of every tile and channel,
//   M_j = Σ_c U_j·V_j for each point j (six dense products), y = f(Aᵀ·M + b)
// Six records follow the operation's record, the dense products of one block: x is V_j, w is U_j, y is M_j.

import {
  atActivation,
  atChannels,
  atFlags,
  atKernel,
  atOutputs,
  atPositions,
  atW,
  atX,
  atXBlock,
  atXRow,
  atY,
  atYBlock,
  atYRow,
  flagNoBias,
  recordBytes,
} from "../op-codes";
import { forward } from "./forward";
import { activate, biasesOf, blocksOf, field, weightsOf } from "./operation";
import { splat } from "./vector-math";

@inline
function scaled(value: v128, factor: f32): v128 {
  return f32x4.mul(value, splat(factor));
}

export function fastConv(op: usize, base: usize, runBlocks: i32): void {
  const blocks = blocksOf(op, runBlocks);
  transformFilters(op, base);
  for (let block = 0; block < blocks; block++) {
    transformInput(op, block);
    for (let j = 1; j <= 6; j++) forward(op + j * recordBytes, base, 1);
    transformOutput(op, base, block);
  }
}

@inline
function tilesOf(op: usize): i32 {
  const outputs = 7 - field(op, atKernel);
  return (field(op, atPositions) + outputs - 1) / outputs;
}

function transformFilters(op: usize, base: usize): void {
  const kernel = field(op, atKernel);
  const count = (field(op, atOutputs) >> 2) * field(op, atChannels);
  const bytes: usize = count << 4;
  const zero = splat(0);
  let w = weightsOf(op, base);
  let u: usize = field(op + recordBytes, atW);
  for (let i = 0; i < count; i++) {
    const w0 = v128.load(w);
    const w1 = v128.load(w, 16);
    const w2 = kernel > 2 ? v128.load(w, 32) : zero;
    const w3 = kernel > 3 ? v128.load(w, 48) : zero;
    const even = f32x4.add(w0, w2);
    const odd = f32x4.add(w1, w3);
    const even2 = f32x4.add(w0, scaled(w2, 4));
    const odd2 = f32x4.add(scaled(w1, 2), scaled(w3, 8));
    v128.store(u, scaled(w0, 0.25));
    v128.store(u + bytes, scaled(f32x4.add(even, odd), -1.0 / 6.0));
    v128.store(u + 2 * bytes, scaled(f32x4.sub(even, odd), -1.0 / 6.0));
    v128.store(u + 3 * bytes, scaled(f32x4.add(even2, odd2), 1.0 / 24.0));
    v128.store(u + 4 * bytes, scaled(f32x4.sub(even2, odd2), 1.0 / 24.0));
    v128.store(u + 5 * bytes, v128.load(w + ((kernel - 1) << 4)));
    w += kernel << 4;
    u += 16;
  }
}

function transformInput(op: usize, block: i32): void {
  const channels = field(op, atChannels);
  const tiles = tilesOf(op);
  const step = (7 - field(op, atKernel)) << 5;
  const point: usize = (tiles * channels) << 5;
  const rows = field(op, atPositions) + field(op, atKernel) - 1;
  const v: usize = field(op + recordBytes, atX);
  for (let channel = 0; channel < channels; channel++) {
    let x: usize = field(op, atX) + block * field(op, atXBlock) + channel * field(op, atXRow);
    let to = v + (channel << 5);
    let left = rows;
    for (let tile = 0; tile < tiles; tile++) {
      transformTile(x, left, to, point);
      transformTile(x + 16, left, to + 16, point);
      x += step;
      to += channels << 5;
      left -= step >> 5;
    }
  }
}

/** Rows past the last are taken as zero: memory there may hold anything, and every input contributes to every point. */
@inline
function transformTile(x: usize, left: i32, to: usize, point: usize): void {
  const zero = splat(0);
  const d0 = v128.load(x);
  const d1 = left > 1 ? v128.load(x, 32) : zero;
  const d2 = left > 2 ? v128.load(x, 64) : zero;
  const d3 = left > 3 ? v128.load(x, 96) : zero;
  const d4 = left > 4 ? v128.load(x, 128) : zero;
  const d5 = left > 5 ? v128.load(x, 160) : zero;
  const a = f32x4.sub(d4, scaled(d2, 4));
  const b = f32x4.sub(d3, scaled(d1, 4));
  const c = f32x4.sub(d4, d2);
  const e = scaled(f32x4.sub(d3, d1), 2);
  v128.store(to, f32x4.add(f32x4.sub(scaled(d0, 4), scaled(d2, 5)), d4));
  v128.store(to + point, f32x4.add(a, b));
  v128.store(to + 2 * point, f32x4.sub(a, b));
  v128.store(to + 3 * point, f32x4.add(c, e));
  v128.store(to + 4 * point, f32x4.sub(c, e));
  v128.store(to + 5 * point, f32x4.add(f32x4.sub(scaled(d1, 4), scaled(d3, 5)), d5));
}

function transformOutput(op: usize, base: usize, block: i32): void {
  const outputs = field(op, atOutputs);
  const positions = field(op, atPositions);
  const perTile = 7 - field(op, atKernel);
  const tiles = tilesOf(op);
  const activation = field(op, atActivation);
  const point: usize = (outputs * tiles) << 5;
  const biases = biasesOf(op, base);
  const hasBias = (field(op, atFlags) & flagNoBias) == 0;
  let m: usize = field(op + recordBytes, atY);
  for (let output = 0; output < outputs; output++) {
    const bias = hasBias ? v128.load_splat<f32>(biases + (output << 2)) : splat(0);
    let y: usize = field(op, atY) + block * field(op, atYBlock) + output * field(op, atYRow);
    let left = positions;
    for (let tile = 0; tile < tiles; tile++) {
      const count = min(perTile, left);
      outputsOfTile(m, point, y, count, perTile, bias, activation);
      outputsOfTile(m + 16, point, y + 16, count, perTile, bias, activation);
      m += 32;
      y += perTile << 5;
      left -= perTile;
    }
  }
}

@inline
function outputsOfTile(
  m: usize,
  point: usize,
  y: usize,
  count: i32,
  perTile: i32,
  bias: v128,
  activation: i32,
): void {
  const m1 = v128.load(m + point);
  const m2 = v128.load(m + 2 * point);
  const m3 = v128.load(m + 3 * point);
  const m4 = v128.load(m + 4 * point);
  const m5 = v128.load(m + 5 * point);
  const even = f32x4.add(f32x4.add(m1, m2), bias);
  const odd = f32x4.add(f32x4.sub(m1, m2), bias);
  const even2 = f32x4.add(m3, m4);
  const odd2 = f32x4.sub(m3, m4);
  v128.store(y, activate(f32x4.add(f32x4.add(v128.load(m), even), even2), activation));
  if (count > 1) v128.store(y, activate(f32x4.add(odd, scaled(odd2, 2)), activation), 32);
  if (count > 2) {
    const sum = f32x4.add(even, scaled(even2, 4));
    v128.store(y, activate(perTile == 3 ? f32x4.add(sum, m5) : sum, activation), 64);
  }
  if (count > 3) {
    const sum = f32x4.add(odd, scaled(odd2, 8));
    v128.store(y, activate(perTile == 4 ? f32x4.add(sum, m5) : sum, activation), 96);
  }
  if (count > 4) v128.store(y, activate(f32x4.add(f32x4.add(even, scaled(even2, 16)), m5), activation), 128);
}
