// Several nets in training as one stack: their weights and Adam's moments in shared tensors on the device. Stacks are
// split and joined as nets skip steps and return, so that a net that skips a step costs nothing and stays unchanged.
//
// Legend: g the gradient, m and v its running first and second moments, k the steps taken, η the learning rate,
// λ the weight decay (0 for biases and shortcuts), r the shortcut rate (1 for all others); s₁ = 1 − β₁ᵏ and
// s₂ = 1 − β₂ᵏ correct the moments' bias towards their start at zero. k, η, λ and r differ by net.
//   m ← β₁m + (1 − β₁)g,  v ← β₂v + (1 − β₂)g²
//   w ← (1 − η·λ)w − r·η · (m / s₁) / (√(v / s₂) + ε)
// An op costs a pass over memory, so factors that are one number per net are taken out of the tensors. The stack keeps
// M = m / (1 − β₁) and V = v / (1 − β₂):
//   M ← β₁M + g,  V ← β₂V + g²,  w ← (1 − η·λ)w − c · M / (√V + d)
//   with q = √(s₂ / (1 − β₂)),  c = r · η · q · (1 − β₁) / s₁,  d = ε · q

import type { Criterion } from "../../models/forecastnet/engine.ts";
import type { Loss } from "../../models/forecastnet/spec.ts";
import type { AdamOptions } from "../executor.ts";
import type { TensorFlow } from "./native-binding.ts";
import { runNets } from "./net-ops.ts";
import { fromPanel, type PanelLayout, type PanelRole, toPanel } from "./panel-layout.ts";
import { lossOfNets, type RowBatch, type RowPick, toRowBatch } from "./row-loss.ts";
import { keepingNumbers, keepingResult, type Tensor, type Tensor3D } from "./tensors.ts";

export interface StackSetup {
  readonly tf: TensorFlow;
  readonly layout: PanelLayout;
  /** Not part of the layout, which nets with another loss can share. */
  readonly loss: Loss;
}

export class TrainingStack {
  /** Indices of the nets in the session, in the order of the stack. */
  readonly nets: readonly number[];
  readonly #setup: StackSetup;
  readonly #tf: TensorFlow;
  readonly #layout: PanelLayout;
  /** By panel. */
  #states: readonly PanelState[];

  private constructor(setup: StackSetup, nets: readonly number[], states: readonly PanelState[]) {
    this.#setup = setup;
    this.#tf = setup.tf;
    this.#layout = setup.layout;
    this.nets = nets;
    this.#states = states;
    keepAll(setup.tf, states);
  }

  /** Nets with these weights and moments of zero. */
  static from(setup: StackSetup, nets: readonly number[], weights: readonly Float32Array[]): TrainingStack {
    const { tf, layout } = setup;
    const states = layout.panels.map((panel): PanelState => {
      const shape: [number, number, number] = [nets.length, panel.rows, panel.columns];
      return { w: tf.tensor3d(toPanel(panel, weights), shape), m: tf.zeros(shape), v: tf.zeros(shape) };
    });
    return new TrainingStack(setup, nets, states);
  }

  /** Replaces two stacks by one; both are closed. */
  static join(first: TrainingStack, second: TrainingStack): TrainingStack {
    const tf = first.#tf;
    const join = (a: Tensor3D, b: Tensor3D) => tf.concat([a, b], 0);
    const states = first.#states.map(({ w, m, v }, panel) => {
      const other = second.#states[panel];
      return { w: join(w, other.w), m: join(m, other.m), v: join(v, other.v) };
    });
    const nets = [...first.nets, ...second.nets];
    const joined = new TrainingStack(first.#setup, nets, states);
    first.close();
    second.close();
    return joined;
  }

  /** Splits into the chosen nets and the others, null for none. Closes this stack unless it is one of the two. */
  split(isChosen: (net: number) => boolean): readonly [TrainingStack | null, TrainingStack | null] {
    const chosen = this.nets.filter(isChosen);
    if (chosen.length === this.nets.length) return [this, null];
    if (chosen.length === 0) return [null, this];
    const parts = [this.#pick(isChosen), this.#pick((net) => !isChosen(net))] as const;
    this.close();
    return parts;
  }

  #pick(isChosen: (net: number) => boolean): TrainingStack {
    const tf = this.#tf;
    const places = this.nets.flatMap((net, place) => (isChosen(net) ? [place] : []));
    const indices = tf.tensor1d(places, "int32");
    const pick = (tensor: Tensor3D) => tf.gather(tensor, indices);
    const states = this.#states.map(({ w, m, v }) => ({ w: pick(w), m: pick(m), v: pick(v) }));
    indices.dispose();
    return new TrainingStack(
      this.#setup,
      places.map((place) => this.nets[place]),
      states,
    );
  }

  /** One Adam step of every net, which `steps` includes. Returns the losses before it, in the order of `nets`. */
  step(
    picks: readonly RowPick[],
    options: readonly AdamOptions[],
    steps: readonly number[],
  ): ArrayLike<number> {
    const tf = this.#tf;
    const before = this.#states;
    let losses: ArrayLike<number> = [];
    this.#states = keepingResult(tf, () => {
      const batch = toRowBatch(tf, this.#layout.plan, picks);
      const { value, grads } = tf.valueAndGrads((...weights: Tensor[]) =>
        this.#lossOf(weights as Tensor3D[], batch, "forced"),
      )(
        before.map(({ w }) => w),
        tf.ones([this.nets.length]),
      );
      losses = value.dataSync();
      const factors = toFactors(tf, options, steps);
      return before.map((state, panel) =>
        this.#stepPanel(state, grads[panel] as Tensor3D, factors[this.#layout.panels[panel].role]),
      );
    });
    keepAll(tf, this.#states);
    disposeAll(before);
    return losses;
  }

  #stepPanel(state: PanelState, gradient: Tensor3D, factors: StepFactors): PanelState {
    const tf = this.#tf;
    return keepingResult(tf, () => stepPanel(tf, state, gradient, factors));
  }

  /** The loss of every net over its rows. */
  measure(picks: readonly RowPick[], criterion: Criterion): ArrayLike<number> {
    const tf = this.#tf;
    return keepingNumbers(tf, () => {
      const batch = toRowBatch(tf, this.#layout.plan, picks);
      const weights = this.#states.map(({ w }) => w);
      return this.#lossOf(weights, batch, criterion).dataSync();
    });
  }

  #lossOf(weights: readonly Tensor3D[], batch: RowBatch, criterion: Criterion): Tensor {
    const { tf, layout, loss } = this.#setup;
    const { window, lanes, targets } = batch;
    const truth = tf.unstack(targets, 1) as Tensor3D[];
    const feed = (step: number, mean: Tensor3D) => (criterion === "forced" ? truth[step] : mean);
    return lossOfNets(tf, loss, runNets(tf, layout, weights, { window, lanes, feed }), batch);
  }

  /** A copy of one net's weights, in the order of the plan. */
  weights(net: number): Float32Array {
    const tf = this.#tf;
    const place = this.nets.indexOf(net);
    const flat = new Float32Array(this.#layout.plan.weightCount);
    for (const [i, panel] of this.#layout.panels.entries()) {
      const values = keepingNumbers(tf, () =>
        tf.slice(this.#states[i].w, [place, 0, 0], [1, panel.rows, panel.columns]).dataSync(),
      );
      fromPanel(panel, values, flat);
    }
    return flat;
  }

  close(): void {
    disposeAll(this.#states);
  }
}

/** Keeps the tensors when the scope that created them ends. */
function keepAll(tf: TensorFlow, states: readonly PanelState[]): void {
  for (const tensor of states.flatMap(({ w, m, v }) => [w, m, v])) tf.keep(tensor);
}

function disposeAll(states: readonly PanelState[]): void {
  for (const tensor of states.flatMap(({ w, m, v }) => [w, m, v])) tensor.dispose();
}

const β1 = 0.9;
const β2 = 0.999;
const ε = 1e-8;

/** One panel of the stack, [n, rows, columns] each. */
interface PanelState {
  readonly w: Tensor3D;
  /** M of the legend. */
  readonly m: Tensor3D;
  /** V of the legend. */
  readonly v: Tensor3D;
}

/** Factors of each net for panels of one role, [n, 1, 1]. */
interface StepFactors {
  readonly c: Tensor3D;
  readonly d: Tensor3D;
  /** Null when no net decays. */
  readonly shrink: Tensor3D | null;
}

/** `steps` includes the current step. */
function toFactors(
  tf: TensorFlow,
  options: readonly AdamOptions[],
  steps: readonly number[],
): Readonly<Record<PanelRole, StepFactors>> {
  const perNet = (factor: (option: AdamOptions, step: number) => number) =>
    tf.tensor3d(
      options.map((option, i) => factor(option, steps[i])),
      [options.length, 1, 1],
    );
  const q = (k: number) => Math.sqrt((1 - β2 ** k) / (1 - β2));
  const decays = options.some(({ weightDecay }) => weightDecay !== 0);
  const wayOf = ({ learningRate: η }: AdamOptions, k: number) => (η * q(k) * (1 - β1)) / (1 - β1 ** k);
  const biases = { c: perNet(wayOf), d: perNet((_option, k) => ε * q(k)), shrink: null };
  const shrink = decays ? perNet(({ learningRate, weightDecay }) => 1 - learningRate * weightDecay) : null;
  const hasOwnRate = options.some(({ shortcutRate }) => shortcutRate !== 1);
  const ofShortcuts = hasOwnRate ? perNet((option, k) => option.shortcutRate * wayOf(option, k)) : biases.c;
  return { weights: { ...biases, shrink }, biases, shortcuts: { ...biases, c: ofShortcuts } };
}

/** The next state; the caller disposes of the previous one. */
function stepPanel(
  tf: TensorFlow,
  { w, m, v }: PanelState,
  g: Tensor3D,
  { c, d, shrink }: StepFactors,
): PanelState {
  const nextM: Tensor3D = tf.add(tf.mul(m, β1), g);
  const nextV: Tensor3D = tf.add(tf.mul(v, β2), tf.square(g));
  const change = tf.mul(tf.div(nextM, tf.add(tf.sqrt(nextV), d)), c);
  return { w: tf.sub(shrink === null ? w : tf.mul(w, shrink), change), m: nextM, v: nextV };
}
