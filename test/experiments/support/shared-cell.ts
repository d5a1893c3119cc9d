// The time-invariant counterpart of a dense ForecastNet: the same net with one set of weights for all its cells, which
// makes it a recurrent net that meets the window again at every step. The gradient of a shared weight is the sum over
// the cells that use it, so Adam runs here, on what the engine differentiates.
//
// Legend: m, v the moments of Adam, g the gradient; step counts from 1 where β is raised to it.

import type { Engine } from "../../../src/engine/engine.ts";
import type { TrainingSet } from "../../../src/models/forecastnet/framing.ts";
import { initialWeights } from "../../../src/models/forecastnet/initial-weights.ts";
import type { ForecastNetModel } from "../../../src/models/forecastnet/model.ts";
import { type NetPlan, planNet } from "../../../src/models/forecastnet/plan.ts";
import type { ForecastNetSpec } from "../../../src/models/forecastnet/spec.ts";
import { createRandom } from "../../../src/runtime/random.ts";
import { frameTrainingPart, type Lesson, modelOf } from "./laboratory.ts";

const [β1, β2, ε] = [0.9, 0.999, 1e-8];
const warmUpSteps = 20;

/** As many steps as the ordinary net takes in this lesson, with the same rates; the last weights are kept. */
export async function trainSharedCell(
  engine: Engine,
  series: Float64Array,
  spec: ForecastNetSpec,
  { seed, rate, batchSize, maxEpochs }: Lesson,
): Promise<ForecastNetModel> {
  const plan = planNet(spec);
  const { scaler, training } = frameTrainingPart(spec, series);
  const homes = homesOf(plan);
  const weights = initialWeights(plan, seed);
  const spread = () => {
    for (let i = 0; i < weights.length; i++) weights[i] = weights[homes[i]];
  };
  const random = createRandom(seed);
  const [g, m, v] = [0, 1, 2].map(() => new Float64Array(plan.weightCount));
  const steps = maxEpochs * Math.ceil(training.count / batchSize);
  spread();
  for (let step = 0; step < steps; step++) {
    const rows = drawRows(training, batchSize, () => random.uniform());
    const { gradient } = await engine.differentiate(spec, weights, rows);
    g.fill(0);
    for (let i = 0; i < g.length; i++) g[homes[i]] += gradient[i];
    const fall = 0.5 * (1 + Math.cos((Math.PI * step) / steps));
    const pace = rate * fall * Math.min(1, (step + 1) / warmUpSteps);
    for (let i = 0; i < g.length; i++) {
      if (homes[i] !== i) continue;
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
 * For every weight the one of cell 1 that stands for it. Cell 0 has no cell before it; the window comes first in a
 * cell's input, so its weights are those of cell 1 with nothing on what is missing: a state that starts at zero.
 */
function homesOf({ cells, weightCount }: NetPlan): Int32Array {
  const homes = new Int32Array(weightCount);
  const layersOf = (cell: number) => [...cells[cell].layers, cells[cell].mean];
  const shared = layersOf(1);
  for (let cell = 0; cell < cells.length; cell++) {
    for (const [l, layer] of layersOf(cell).entries()) {
      const home = shared[l];
      if (layer.kind !== "dense" || home.kind !== "dense") throw new Error("only dense cells can be shared");
      for (let o = 0; o < layer.outputs; o++) {
        homes[layer.biasesAt + o] = home.biasesAt + o;
        for (let i = 0; i < layer.inputs; i++) {
          homes[layer.weightsAt + o * layer.inputs + i] = home.weightsAt + o * home.inputs + i;
        }
      }
    }
  }
  return homes;
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
