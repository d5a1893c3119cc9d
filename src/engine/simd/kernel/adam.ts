// One step of Adam on part of the weights: β1 0.9, β2 0.999, ε 1e-8, bias-corrected; decay is decoupled.

import { splat } from "./vector-math";

const beta1: f32 = 0.9;
const beta2: f32 = 0.999;
const epsilon: f32 = 1e-8;

/**
 * `rate` is the learning rate, `shrink` what a weight is multiplied with first (1 − rate × decay); `firstFactor` and
 * `secondFactor` are 1/(1 − βᵗ). All addresses are those of the first number.
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
