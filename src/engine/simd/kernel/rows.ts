// Operations on rows that use no weights: clearing, copying, broadcasting a value to all lanes, and average pools
// forward and backward. A row is 8 lanes, 32 bytes; in the positions layout a pool reads single numbers instead.

import {
  atChannels,
  atFlags,
  atKernel,
  atPositions,
  atX,
  atXBlock,
  atXRow,
  atXStep,
  atY,
  atYBlock,
  atYRow,
  atYStep,
  flagPositions,
} from "../op-codes";
import { blocksOf, field } from "./operation";
import { splat } from "./vector-math";

/** Zeros in `kernel` bytes of each channel. */
export function clear(op: usize, runBlocks: i32): void {
  const blocks = blocksOf(op, runBlocks);
  for (let block = 0; block < blocks; block++) {
    let y: usize = field(op, atY) + block * field(op, atYBlock);
    for (let channel = field(op, atChannels); channel > 0; channel--) {
      memory.fill(y, 0, field(op, atKernel));
      y += field(op, atYRow);
    }
  }
}

/** `kernel` bytes from x to y. */
export function copyNumbers(op: usize): void {
  memory.copy(field(op, atY), field(op, atX), field(op, atKernel));
}

/** `positions` rows of each channel; the steps of both sides may differ. */
export function copy(op: usize, runBlocks: i32): void {
  const blocks = blocksOf(op, runBlocks);
  const positions = field(op, atPositions);
  const xStep = field(op, atXStep);
  const yStep = field(op, atYStep);
  for (let block = 0; block < blocks; block++) {
    let x0: usize = field(op, atX) + block * field(op, atXBlock);
    let y0: usize = field(op, atY) + block * field(op, atYBlock);
    for (let channel = field(op, atChannels); channel > 0; channel--) {
      let x = x0;
      let y = y0;
      for (let position = positions; position > 0; position--) {
        v128.store(y, v128.load(x));
        v128.store(y, v128.load(x, 16), 16);
        x += xStep;
        y += yStep;
      }
      x0 += field(op, atXRow);
      y0 += field(op, atYRow);
    }
  }
}

/** Broadcasts each of `positions` numbers of a channel to a row. */
export function splatRows(op: usize, runBlocks: i32): void {
  const blocks = blocksOf(op, runBlocks);
  const positions = field(op, atPositions);
  for (let block = 0; block < blocks; block++) {
    let x0: usize = field(op, atX);
    let y0: usize = field(op, atY) + block * field(op, atYBlock);
    for (let channel = field(op, atChannels); channel > 0; channel--) {
      let x = x0;
      let y = y0;
      for (let position = positions; position > 0; position--) {
        const value = v128.load_splat<f32>(x);
        v128.store(y, value);
        v128.store(y, value, 16);
        x += 4;
        y += 32;
      }
      x0 += field(op, atXRow);
      y0 += field(op, atYRow);
    }
  }
}

/** y[c][p] = mean of x[c][p·stride …]; `kernel` is the pool's size, `xStep` its stride in bytes. */
export function pool(op: usize, runBlocks: i32): void {
  if (field(op, atFlags) & flagPositions) poolNumbers(op);
  else poolRows(op, blocksOf(op, runBlocks));
}

function poolRows(op: usize, blocks: i32): void {
  const size = field(op, atKernel);
  const positions = field(op, atPositions);
  const xStep = field(op, atXStep);
  const share = splat(1 / <f32>size);
  for (let block = 0; block < blocks; block++) {
    let x0: usize = field(op, atX) + block * field(op, atXBlock);
    let y0: usize = field(op, atY) + block * field(op, atYBlock);
    for (let channel = field(op, atChannels); channel > 0; channel--) {
      let x = x0;
      let y = y0;
      for (let position = positions; position > 0; position--) {
        let a = v128.load(x);
        let b = v128.load(x, 16);
        for (let k = 1; k < size; k++) {
          const at = x + (k << 5);
          a = f32x4.add(a, v128.load(at));
          b = f32x4.add(b, v128.load(at, 16));
        }
        v128.store(y, f32x4.mul(a, share));
        v128.store(y, f32x4.mul(b, share), 16);
        x += xStep;
        y += 32;
      }
      x0 += field(op, atXRow);
      y0 += field(op, atYRow);
    }
  }
}

function poolNumbers(op: usize): void {
  const size = field(op, atKernel);
  const positions = field(op, atPositions);
  const xStep = field(op, atXStep);
  const share: f32 = 1 / <f32>size;
  let x0: usize = field(op, atX);
  let y0: usize = field(op, atY);
  for (let channel = field(op, atChannels); channel > 0; channel--) {
    let x = x0;
    let y = y0;
    for (let position = positions; position > 0; position--) {
      let sum: f32 = load<f32>(x);
      for (let k = 1; k < size; k++) sum += load<f32>(x + (k << 2));
      store<f32>(y, sum * share);
      x += xStep;
      y += 4;
    }
    x0 += field(op, atXRow);
    y0 += field(op, atYRow);
  }
}

/** Adds x, the derivative by a pool's outputs, to y, the derivative by its inputs, which the program has cleared. */
export function poolGradient(op: usize, runBlocks: i32): void {
  const blocks = blocksOf(op, runBlocks);
  const size = field(op, atKernel);
  const positions = field(op, atPositions);
  const yStep = field(op, atYStep);
  const share = splat(1 / <f32>size);
  for (let block = 0; block < blocks; block++) {
    let x0: usize = field(op, atX) + block * field(op, atXBlock);
    let y0: usize = field(op, atY) + block * field(op, atYBlock);
    for (let channel = field(op, atChannels); channel > 0; channel--) {
      let x = x0;
      let y = y0;
      for (let position = positions; position > 0; position--) {
        const a = f32x4.mul(v128.load(x), share);
        const b = f32x4.mul(v128.load(x, 16), share);
        for (let k = 0; k < size; k++) {
          const at = y + (k << 5);
          v128.store(at, f32x4.add(v128.load(at), a));
          v128.store(at, f32x4.add(v128.load(at, 16), b), 16);
        }
        x += 32;
        y += yStep;
      }
      x0 += field(op, atXRow);
      y0 += field(op, atYRow);
    }
  }
}
