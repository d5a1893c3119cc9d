// The executors with one method more, which tests compare them by: one teacher-forced pass of a net over all rows, with
// its outputs and gradient, computed as a training step computes them.

import type { Net, NetExecutor } from "../../src/engine/executor.ts";
import {
  createReferenceExecutor,
  type Derivatives,
  differentiateNet,
} from "../../src/engine/reference/reference-executor.ts";
import { Heap, instantiateKernel } from "../../src/engine/simd/kernel.ts";
import { packWeights, unpackWeights } from "../../src/engine/simd/packing.ts";
import { NUMBER } from "../../src/engine/simd/program.ts";
import { RowPass } from "../../src/engine/simd/session.ts";
import { createSimdExecutor } from "../../src/engine/simd/simd-executor.ts";
import type { LoadedTensorFlow } from "../../src/engine/tensorflow/native-binding.ts";
import { runNets } from "../../src/engine/tensorflow/net-ops.ts";
import { fromPanel, LayoutCache, toPanel } from "../../src/engine/tensorflow/panel-layout.ts";
import { lossOfNets, shareOf, toRowBatch } from "../../src/engine/tensorflow/row-loss.ts";
import {
  createTensorFlowExecutor,
  type TensorFlowExecutor,
  type TensorFlowOptions,
} from "../../src/engine/tensorflow/tensorflow-executor.ts";
import { keepingNumbers, type Tensor, type Tensor3D } from "../../src/engine/tensorflow/tensors.ts";
import type { StackSetup } from "../../src/engine/tensorflow/training-stack.ts";
import type { TrainingSet } from "../../src/models/forecastnet/framing.ts";
import type { NetPlan } from "../../src/models/forecastnet/plan.ts";

interface Differentiating {
  differentiate(net: Net, rows: TrainingSet): Derivatives;
}

export type DifferentiatingExecutor = NetExecutor & Differentiating;

export function referenceExecutor(): DifferentiatingExecutor {
  return {
    ...createReferenceExecutor(),
    differentiate: ({ plan, weights }, rows) => differentiateNet(plan, weights, rows),
  };
}

export function simdExecutor(module: WebAssembly.Module): DifferentiatingExecutor {
  const kernel = instantiateKernel(module);
  const heap = new Heap(kernel.memory);
  return {
    ...createSimdExecutor(module),
    differentiate({ plan, weights }, rows) {
      const pass = new RowPass(plan, { criterion: "forced", gradient: true }, kernel, heap);
      const bytes = plan.weightCount * NUMBER;
      const at = { weights: heap.reserve(bytes), gradient: heap.reserve(bytes) };
      const numbers = (address: number) => new Float32Array(heap.buffer, address, plan.weightCount);
      packWeights(plan, weights, numbers(at.weights));
      numbers(at.gradient).fill(0);
      const loss = pass.run(rows, null, at);
      const gradient = new Float64Array(plan.weightCount);
      unpackWeights(plan, numbers(at.gradient), gradient);
      const outputs = emptyOutputs(plan, rows.count);
      for (let first = 0; first < rows.count; first += pass.program.maxLanes) {
        const lanes = Math.min(pass.program.maxLanes, rows.count - first);
        pass.run(
          rows,
          Int32Array.from({ length: lanes }, (_, lane) => first + lane),
          at,
        );
        copyOutputs(pass, heap, outputs, { first, lanes, count: rows.count });
      }
      heap.release(at.weights);
      heap.release(at.gradient);
      pass.close();
      return { ...outputs, loss, gradient };
    },
  };
}

function emptyOutputs(plan: NetPlan, rows: number): Pick<Derivatives, "mean" | "deviation"> {
  const size = plan.cells.length * plan.targets * rows;
  const deviation = plan.spec.output === "gaussian" ? new Float64Array(size) : null;
  return { mean: new Float64Array(size), deviation };
}

/** Copies the outputs of the last run, which had rows `first` … `first + lanes − 1` of `count`. */
function copyOutputs(
  { program, installed }: RowPass,
  { floats }: Heap,
  { mean, deviation }: Pick<Derivatives, "mean" | "deviation">,
  { first, lanes, count }: { readonly first: number; readonly lanes: number; readonly count: number },
): void {
  const stride = program.laneBytes / NUMBER;
  const [meanAt, sumsAt] = [program.mean, program.sums].map((place) => installed.resolve(place) / NUMBER);
  for (let row = 0; row < mean.length / count; row++) {
    for (let lane = 0; lane < lanes; lane++) {
      const to = row * count + first + lane;
      mean[to] = floats[meanAt + row * stride + lane];
      if (deviation !== null) deviation[to] = softplus(floats[sumsAt + row * stride + lane]);
    }
  }
}

function softplus(s: number): number {
  return Math.max(s, 0) + Math.log1p(Math.exp(-Math.abs(s)));
}

export function tensorflowExecutor(
  loaded: LoadedTensorFlow,
  options: TensorFlowOptions,
): TensorFlowExecutor & Differentiating {
  const layouts = new LayoutCache();
  return {
    ...createTensorFlowExecutor(loaded, options),
    differentiate: ({ plan, weights }, rows) =>
      differentiateOnTensorFlow(
        { tf: loaded.tf, layout: layouts.of(plan), loss: plan.spec.loss },
        weights,
        rows,
      ),
  };
}

function differentiateOnTensorFlow(
  { tf, layout, loss }: StackSetup,
  weights: Float32Array,
  set: TrainingSet,
): Derivatives {
  return keepingNumbers(tf, () => {
    const { plan, panels } = layout;
    const rows = Int32Array.from({ length: set.count }, (_, row) => row);
    const batch = toRowBatch(tf, plan, [{ set, rows, share: shareOf(plan, set.count) }]);
    const { window, lanes, targets } = batch;
    const stacked = panels.map((panel) =>
      tf.tensor3d(toPanel(panel, [weights]), [1, panel.rows, panel.columns]),
    );
    const truth = tf.unstack(targets, 1) as Tensor3D[];
    const run = (w: readonly Tensor3D[]) =>
      runNets(tf, layout, w, { window, lanes, feed: (step) => truth[step] });
    const { value, grads } = tf.valueAndGrads((...w: Tensor[]) =>
      lossOfNets(tf, loss, run(w as Tensor3D[]), batch),
    )(stacked, tf.ones([1]));
    const gradient = new Float64Array(plan.weightCount);
    for (const [i, panel] of panels.entries()) fromPanel(panel, grads[i].dataSync(), gradient);
    const { mean, deviation } = run(stacked);
    return {
      mean: Float64Array.from(mean.dataSync()),
      deviation: deviation && Float64Array.from(deviation.dataSync()),
      loss: value.dataSync()[0],
      gradient,
    };
  });
}
