// The functions a neuron applies to its weighted sum, and their slopes.

import type { Activation } from "../../models/forecastnet/layers.ts";

/** y = f(a) */
export function activate(activation: Activation, a: number): number {
  if (activation === "relu") return Math.max(0, a);
  return activation === "sigmoid" ? 1 / (1 + Math.exp(-a)) : a;
}

/** f′(a), told from y = f(a) alone; at the corner of ReLU it is 0. */
export function slope(activation: Activation, y: number): number {
  if (activation === "relu") return y > 0 ? 1 : 0;
  return activation === "sigmoid" ? y * (1 - y) : 1;
}
