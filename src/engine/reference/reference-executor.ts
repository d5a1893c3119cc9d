// The reference executor: ForecastNet in plain loops and double precision, written to be read next to the paper. Tests
// compare the other executors with it; it serves no forecasts. Read `net.ts` first. This file adds passes over many
// windows, training sessions and Adam.

import type { Criterion } from "../../models/forecastnet/engine.ts";
import { weightCountOf } from "../../models/forecastnet/layers.ts";
import { type NetPlan, shortcutsOf } from "../../models/forecastnet/plan.ts";
import type { AdamOptions, NetExecutor, SessionTask, TrainingSession } from "../executor.ts";
import { backpropagate, type Feed, feedMeans, feedTargets, runNet, sumLoss } from "./net.ts";

export function createReferenceExecutor(): NetExecutor {
  return {
    sample: (tasks) =>
      tasks.map(({ net, window, noise }) => {
        const { mean, deviation } = samplePaths(net.plan, net.weights, window, noise);
        return { mean: Float32Array.from(mean), deviation: deviation && Float32Array.from(deviation) };
      }),
    train: (plan, tasks) => new ReferenceSession(plan, tasks),
    close: () => {},
  };
}

export type Numbers = Float32Array | Float64Array;

/** A training set of either precision: windows [row][windowSize], targets [row][step][target]. */
export interface Rows {
  readonly count: number;
  readonly windows: Numbers;
  readonly targets: Numbers;
}

/** The outputs of one teacher-forced pass over a set. Tests compare executors by them. */
export interface Derivatives {
  /** [step][target][row] */
  readonly mean: Float64Array;
  readonly deviation: Float64Array | null;
  readonly loss: number;
  /** ∂loss/∂weight, in the order of the weights. */
  readonly gradient: Float64Array;
}

/** A teacher-forced pass over the rows, with the gradient of its mean loss. */
export function differentiateNet(plan: NetPlan, weights: Numbers, rows: Rows): Derivatives {
  const w = Float64Array.from(weights);
  const size = plan.cells.length * plan.targets;
  const mean = new Float64Array(size * rows.count);
  const deviation = plan.spec.output === "gaussian" ? new Float64Array(size * rows.count) : null;
  const gradient = new Float64Array(plan.weightCount);
  const scale = 1 / (size * rows.count);
  let loss = 0;
  for (let row = 0; row < rows.count; row++) {
    const { x, targets } = rowOf(plan, rows, row);
    const traces = runNet(plan, w, x, feedTargets(targets, plan.targets));
    loss += scale * sumLoss(plan, traces, targets);
    backpropagate(plan, w, traces, { targets, scale }, gradient);
    for (const [step, trace] of traces.entries()) {
      for (let t = 0; t < plan.targets; t++) {
        const at = (step * plan.targets + t) * rows.count + row;
        mean[at] = trace.mean[t];
        if (deviation !== null && trace.deviation !== null) deviation[at] = trace.deviation[t];
      }
    }
  }
  return { mean, deviation, loss, gradient };
}

/** The mean loss over the rows. */
export function lossOfNet(plan: NetPlan, weights: Numbers, rows: Rows, criterion: Criterion): number {
  const w = Float64Array.from(weights);
  let sum = 0;
  for (let row = 0; row < rows.count; row++) {
    const { x, targets } = rowOf(plan, rows, row);
    const feed = criterion === "forced" ? feedTargets(targets, plan.targets) : feedMeans;
    sum += sumLoss(plan, runNet(plan, w, x, feed), targets);
  }
  return sum / (rows.count * plan.cells.length * plan.targets);
}

/** The rows with these indices, in this order. */
function pickRows(plan: NetPlan, rows: Rows, indices: Int32Array): Rows {
  const picked = Array.from(indices, (index) => rowOf(plan, rows, index));
  const windows = new Float64Array(indices.length * plan.windowSize);
  const targets = new Float64Array(indices.length * plan.cells.length * plan.targets);
  for (const [i, row] of picked.entries()) {
    windows.set(row.x, i * plan.windowSize);
    targets.set(row.targets, i * plan.cells.length * plan.targets);
  }
  return { count: indices.length, windows, targets };
}

/** The noise of the paths, [step][target][path]; null for linear outputs, which have one path. */
type Draws = { readonly paths: number; readonly values: Numbers } | null;

/** Each path feeds its sample μ + σ·z, or its linear output, to the next cell. Arrays are [step][target][path]. */
export function samplePaths(
  plan: NetPlan,
  weights: Numbers,
  window: Numbers,
  draws: Draws,
): { readonly mean: Float64Array; readonly deviation: Float64Array | null } {
  const w = Float64Array.from(weights);
  const x = Float64Array.from(window);
  const P = draws === null ? 1 : draws.paths;
  const mean = new Float64Array(plan.cells.length * plan.targets * P);
  const deviation = plan.spec.output === "gaussian" ? new Float64Array(mean.length) : null;
  for (let path = 0; path < P; path++) {
    const feed: Feed = ({ mean: μ, deviation: σ }, step) =>
      μ.map((_, t) => {
        const at = (step * plan.targets + t) * P + path;
        mean[at] = μ[t];
        if (deviation === null || σ === null || draws === null) return μ[t];
        deviation[at] = σ[t];
        return μ[t] + σ[t] * draws.values[at];
      });
    runNet(plan, w, x, feed);
  }
  return { mean, deviation };
}

function rowOf(plan: NetPlan, rows: Rows, row: number): { x: Float64Array; targets: Float64Array } {
  const size = plan.cells.length * plan.targets;
  return {
    x: Float64Array.from(rows.windows.subarray(row * plan.windowSize, (row + 1) * plan.windowSize)),
    targets: Float64Array.from(rows.targets.subarray(row * size, (row + 1) * size)),
  };
}

/** Nets in training, one after the other. Weights stay in double precision; `weights` rounds them. */
class ReferenceSession implements TrainingSession {
  readonly #plan: NetPlan;
  readonly #tasks: readonly SessionTask[];
  readonly #weights: readonly Float64Array[];
  readonly #adams: readonly Adam[];

  constructor(plan: NetPlan, tasks: readonly SessionTask[]) {
    this.#plan = plan;
    this.#tasks = tasks;
    this.#weights = tasks.map(({ weights }) => Float64Array.from(weights));
    this.#adams = tasks.map(() => new Adam(plan));
  }

  step(rows: readonly (Int32Array | null)[], adam: readonly AdamOptions[]): Float64Array {
    return Float64Array.from(this.#tasks, ({ training }, net) => {
      const indices = rows[net];
      // A net that skips the step has no loss.
      if (indices === null) return Number.NaN;
      const picked = pickRows(this.#plan, training, indices);
      const { loss, gradient } = differentiateNet(this.#plan, this.#weights[net], picked);
      this.#adams[net].step(this.#weights[net], gradient, adam[net]);
      return loss;
    });
  }

  validate(criterion: Criterion): Float64Array {
    return Float64Array.from(this.#tasks, ({ validation }, net) =>
      lossOfNet(this.#plan, this.#weights[net], validation, criterion),
    );
  }

  weights(net: number): Float32Array {
    return Float32Array.from(this.#weights[net]);
  }

  close(): void {}
}

// Adam with decoupled weight decay, on the flat array.
//
// Legend: g the gradient, m and v its running first and second moments, n the steps taken, η the learning rate,
// λ the weight decay (0 for biases and shortcuts), r the shortcut rate (1 for all other weights).
//   m ← β₁m + (1 − β₁)g,  v ← β₂v + (1 − β₂)g²
//   w ← w − η·λ·w − r·η · (m / (1 − β₁ⁿ)) / (√(v / (1 − β₂ⁿ)) + ε)

const β1 = 0.9;
const β2 = 0.999;
const ε = 1e-8;

class Adam {
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
