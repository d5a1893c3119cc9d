// Some nets in training as one stack: weights and Adam's moments side by side on the device. Stacks are cut in two
// and joined as nets rest and return, so that a resting net costs nothing and cannot be touched.

import type { Loss } from "../../models/forecastnet/spec.ts";
import type { AdamOptions, Criterion } from "../executor.ts";
import { type PanelState, type StepFactors, stepPanel, toFactors } from "./adam-step.ts";
import { lossOfNets } from "./loss-ops.ts";
import type { TensorFlow } from "./native-binding.ts";
import { runNets } from "./net-ops.ts";
import { fromPanel, type PanelLayout, toPanel } from "./panel-layout.ts";
import { type RowBatch, type RowPick, toRowBatch } from "./row-batch.ts";
import { keepingNumbers, keepingResult } from "./tensor-scope.ts";
import type { Tensor, Tensor3D } from "./tensor-types.ts";

export interface StackSetup {
  readonly tf: TensorFlow;
  readonly layout: PanelLayout;
  /** Not in the layout, which nets of another loss may share. */
  readonly loss: Loss;
}

export class TrainingStack {
  /** The session's numbers of the nets, in the order they lie in. */
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

  /** Nets that begin from these weights, with no moments yet. */
  static from(setup: StackSetup, nets: readonly number[], weights: readonly Float32Array[]): TrainingStack {
    const { tf, layout } = setup;
    const states = layout.panels.map((panel): PanelState => {
      const shape: [number, number, number] = [nets.length, panel.rows, panel.columns];
      return { w: tf.tensor3d(toPanel(panel, weights), shape), m: tf.zeros(shape), v: tf.zeros(shape) };
    });
    return new TrainingStack(setup, nets, states);
  }

  /** One stack in the place of two; the ones given are gone. */
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

  /** Cut in two: the nets chosen and the others, null for none. This stack is gone unless it is one of them. */
  part(isChosen: (net: number) => boolean): readonly [TrainingStack | null, TrainingStack | null] {
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

  /** One Adam step of every net; `steps` counts it already. Returns the losses before it, in the order of `nets`. */
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

  /** The loss of every net over the rows picked for it. */
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

  /** A copy of one net's weights, in the layout of the plan. */
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

/** The stack's own from now on, whatever scope they were made in. */
function keepAll(tf: TensorFlow, states: readonly PanelState[]): void {
  for (const tensor of states.flatMap(({ w, m, v }) => [w, m, v])) tf.keep(tensor);
}

function disposeAll(states: readonly PanelState[]): void {
  for (const tensor of states.flatMap(({ w, m, v }) => [w, m, v])) tensor.dispose();
}
