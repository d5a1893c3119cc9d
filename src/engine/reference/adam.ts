// Adam with decoupled weight decay, on the flat array.
//
// Legend: g the gradient, m and v its running first and second moments, n the steps taken, η the learning rate,
// λ the weight decay (0 for biases and shortcuts), r the shortcut rate (1 for all other weights).
//   m ← β₁m + (1 − β₁)g,  v ← β₂v + (1 − β₂)g²
//   w ← w − η·λ·w − r·η · (m / (1 − β₁ⁿ)) / (√(v / (1 − β₂ⁿ)) + ε)

import { weightCountOf } from "../../models/forecastnet/layers.ts";
import { type NetPlan, shortcutsOf } from "../../models/forecastnet/plan.ts";
import type { AdamOptions } from "../executor.ts";

const β1 = 0.9;
const β2 = 0.999;
const ε = 1e-8;

export class Adam {
  readonly #m: Float64Array;
  readonly #v: Float64Array;
  readonly #isDecayed: Uint8Array;
  readonly #isShortcut: Uint8Array;
  #n = 0;

  constructor(plan: NetPlan) {
    this.#m = new Float64Array(plan.weightCount);
    this.#v = new Float64Array(plan.weightCount);
    this.#isDecayed = new Uint8Array(plan.weightCount);
    this.#isShortcut = new Uint8Array(plan.weightCount);
    for (const { layers, mean, deviation } of plan.cells) {
      for (const layer of deviation === null ? [...layers, mean] : [...layers, mean, deviation]) {
        this.#isDecayed.fill(1, layer.weightsAt, layer.weightsAt + weightCountOf(layer));
      }
    }
    for (const { from, to } of shortcutsOf(plan)) {
      this.#isShortcut.fill(1, from, to);
      this.#isDecayed.fill(0, from, to);
    }
  }

  step(w: Float64Array, g: Float64Array, { learningRate: η, weightDecay, shortcutRate }: AdamOptions): void {
    const m = this.#m;
    const v = this.#v;
    this.#n += 1;
    const mScale = 1 / (1 - β1 ** this.#n);
    const vScale = 1 / (1 - β2 ** this.#n);
    for (let i = 0; i < w.length; i++) {
      m[i] = β1 * m[i] + (1 - β1) * g[i];
      v[i] = β2 * v[i] + (1 - β2) * g[i] ** 2;
      const λ = this.#isDecayed[i] === 1 ? weightDecay : 0;
      const r = this.#isShortcut[i] === 1 ? shortcutRate : 1;
      w[i] -= η * λ * w[i] + (r * η * (m[i] * mScale)) / (Math.sqrt(v[i] * vScale) + ε);
    }
  }
}
