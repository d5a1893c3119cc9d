// The time-invariant counterpart of a dense ForecastNet: the same net with one set of weights for all its cells, which
// makes it a recurrent net that sees the window at every step. The gradient of a shared weight is the sum over the cells
// that use it, so Adam runs here, on the gradients of an executor.
//
// Legend: m, v the moments of Adam, g the gradient; step counts from 1 where β is raised to it.

import type { TrainingSet } from "../../../src/models/forecastnet/framing.ts";
import { initialWeights } from "../../../src/models/forecastnet/initial-weights.ts";
import type { ForecastNetModel } from "../../../src/models/forecastnet/model.ts";
import { type NetPlan, planNet } from "../../../src/models/forecastnet/plan.ts";
import type { ForecastNetSpec } from "../../../src/models/forecastnet/spec.ts";
import { createRandom } from "../../../src/runtime/random.ts";
import type { DifferentiatingExecutor } from "../../rig/differentiating-executors.ts";
import { frameTrainingPart, modelOf, type TrainingSettings } from "./paper-setup.ts";

const [β1, β2, ε] = [0.9, 0.999, 1e-8];
const warmUpSteps = 20;

/** Takes as many steps as the ordinary net with these settings, at the same rates, and returns the last weights. */
export function trainSharedCell(
  executor: DifferentiatingExecutor,
  series: Float64Array,
  spec: ForecastNetSpec,
  { seed, rate, batchSize, maxEpochs }: TrainingSettings,
): ForecastNetModel {
  const plan = planNet(spec);
  const { scaler, training } = frameTrainingPart(spec, series);
  const shared = sharedIndices(plan);
  const weights = initialWeights(plan, seed);
  const spread = () => {
    for (let i = 0; i < weights.length; i++) weights[i] = weights[shared[i]];
  };
  const random = createRandom(seed);
  const [g, m, v] = [0, 1, 2].map(() => new Float64Array(plan.weightCount));
  const steps = maxEpochs * Math.ceil(training.count / batchSize);
  spread();
  for (let step = 0; step < steps; step++) {
    const rows = drawRows(training, batchSize, () => random.uniform());
    const { gradient } = executor.differentiate({ plan, weights }, rows);
    g.fill(0);
    for (let i = 0; i < g.length; i++) g[shared[i]] += gradient[i];
    const fall = 0.5 * (1 + Math.cos((Math.PI * step) / steps));
    const pace = rate * fall * Math.min(1, (step + 1) / warmUpSteps);
    for (let i = 0; i < g.length; i++) {
      if (shared[i] !== i) continue;
      m[i] = β1 * m[i] + (1 - β1) * g[i];
      v[i] = β2 * v[i] + (1 - β2) * g[i] * g[i];
      const root = Math.sqrt(v[i] / (1 - β2 ** (step + 1))) + ε;
      weights[i] -= (pace * m[i]) / (1 - β1 ** (step + 1)) / root;
    }
    spread();
  }
  return modelOf(spec, scaler, weights);
}

/**
 * For every weight the index of the weight of cell 1 that it shares. Cell 0 has no cell before it. The window is first
 * in a cell's input, so cell 0 has the weights of cell 1 on the window alone: a state that starts at zero.
 */
function sharedIndices({ cells, weightCount }: NetPlan): Int32Array {
  const indices = new Int32Array(weightCount);
  const layersOf = (cell: number) => [...cells[cell].layers, cells[cell].mean];
  const sharedLayers = layersOf(1);
  for (let cell = 0; cell < cells.length; cell++) {
    for (const [l, layer] of layersOf(cell).entries()) {
      const common = sharedLayers[l];
      if (layer.kind !== "dense" || common.kind !== "dense")
        throw new Error("only dense cells can share weights");
      for (let o = 0; o < layer.outputs; o++) {
        indices[layer.biasesAt + o] = common.biasesAt + o;
        for (let i = 0; i < layer.inputs; i++) {
          indices[layer.weightsAt + o * layer.inputs + i] = common.weightsAt + o * common.inputs + i;
        }
      }
    }
  }
  return indices;
}

function drawRows(set: TrainingSet, count: number, uniform: () => number): TrainingSet {
  const [inputs, outputs] = [set.windows.length / set.count, set.targets.length / set.count];
  const windows = new Float32Array(count * inputs);
  const targets = new Float32Array(count * outputs);
  for (let row = 0; row < count; row++) {
    const from = Math.floor(uniform() * set.count);
    windows.set(set.windows.subarray(from * inputs, (from + 1) * inputs), row * inputs);
    targets.set(set.targets.subarray(from * outputs, (from + 1) * outputs), row * outputs);
  }
  return { count, windows, targets };
}
