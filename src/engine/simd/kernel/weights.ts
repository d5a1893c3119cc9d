// Whole nets of weights: packing them into the kernel's order, and one step of Adam on part of them.

import { splat } from "./vector-math";

/**
 * Packs weights from the order of the flat array into the kernel's: see ../packing.ts. `table` has the first number,
 * rows and columns of each matrix as int32; everything else is copied. A model that is not resident is packed for
 * every forecast, so this must be cheap next to one.
 */
export function pack(from: usize, to: usize, count: i32, table: usize, matrices: i32): void {
  let done = 0;
  for (let i = 0; i < matrices; i++) {
    const entry: usize = table + i * 12;
    const start = load<i32>(entry);
    const quads = load<i32>(entry, 4) >> 2;
    const columns = load<i32>(entry, 8);
    copyNumbers(from, to, done, start);
    for (let quad = 0; quad < quads; quad++) {
      const at: usize = (start + quad * 4 * columns) << 2;
      packQuad(from + at, to + at, columns);
    }
    done = start + quads * 4 * columns;
  }
  copyNumbers(from, to, done, count);
}

@inline
function copyNumbers(from: usize, to: usize, first: i32, end: i32): void {
  if (end > first) memory.copy(to + (first << 2), from + (first << 2), (end - first) << 2);
}

/** Turns four rows into columns of four. */
function packQuad(from: usize, to: usize, columns: i32): void {
  const row: usize = columns << 2;
  let a = from;
  let y = to;
  let column = columns;
  for (; column >= 4; column -= 4) {
    const r0 = v128.load(a);
    const r1 = v128.load(a + row);
    const r2 = v128.load(a + 2 * row);
    const r3 = v128.load(a + 3 * row);
    const low01 = v128.shuffle<f32>(r0, r1, 0, 4, 1, 5);
    const low23 = v128.shuffle<f32>(r2, r3, 0, 4, 1, 5);
    const high01 = v128.shuffle<f32>(r0, r1, 2, 6, 3, 7);
    const high23 = v128.shuffle<f32>(r2, r3, 2, 6, 3, 7);
    v128.store(y, v128.shuffle<f32>(low01, low23, 0, 1, 4, 5));
    v128.store(y, v128.shuffle<f32>(low01, low23, 2, 3, 6, 7), 16);
    v128.store(y, v128.shuffle<f32>(high01, high23, 0, 1, 4, 5), 32);
    v128.store(y, v128.shuffle<f32>(high01, high23, 2, 3, 6, 7), 48);
    a += 16;
    y += 64;
  }
  for (; column > 0; column--) {
    store<f32>(y, load<f32>(a));
    store<f32>(y, load<f32>(a + row), 4);
    store<f32>(y, load<f32>(a + 2 * row), 8);
    store<f32>(y, load<f32>(a + 3 * row), 12);
    a += 4;
    y += 16;
  }
}

const beta1: f32 = 0.9;
const beta2: f32 = 0.999;
const epsilon: f32 = 1e-8;

/**
 * One bias-corrected step of Adam with decoupled decay. `rate` is the learning rate; a weight is first multiplied by
 * `shrink`, 1 − rate × decay; `firstFactor` and `secondFactor` are 1/(1 − βᵗ). Addresses are those of the first
 * number.
 */
export function adam(
  weights: usize,
  gradient: usize,
  first: usize,
  second: usize,
  count: i32,
  rate: f32,
  shrink: f32,
  firstFactor: f32,
  secondFactor: f32,
): void {
  const bytes: usize = count << 2;
  let at: usize = 0;
  for (; at + 16 <= bytes; at += 16) {
    const g = v128.load(gradient + at);
    const m = f32x4.add(f32x4.mul(v128.load(first + at), splat(beta1)), f32x4.mul(g, splat(1 - beta1)));
    const square = f32x4.mul(f32x4.mul(g, g), splat(1 - beta2));
    const v = f32x4.add(f32x4.mul(v128.load(second + at), splat(beta2)), square);
    v128.store(first + at, m);
    v128.store(second + at, v);
    const root = f32x4.add(f32x4.sqrt(f32x4.mul(v, splat(secondFactor))), splat(epsilon));
    const change = f32x4.div(f32x4.mul(m, splat(rate * firstFactor)), root);
    v128.store(weights + at, f32x4.sub(f32x4.mul(v128.load(weights + at), splat(shrink)), change));
  }
  for (; at < bytes; at += 4) {
    const g = load<f32>(gradient + at);
    const m = load<f32>(first + at) * beta1 + g * (1 - beta1);
    const v = load<f32>(second + at) * beta2 + g * g * (1 - beta2);
    store<f32>(first + at, m);
    store<f32>(second + at, v);
    const change = (m * (rate * firstFactor)) / (sqrt<f32>(v * secondFactor) + epsilon);
    store<f32>(weights + at, load<f32>(weights + at) * shrink - change);
  }
}
