// The paper's experiment on vanishing gradients: 20 sigmoid cells with an output after each, against a perceptron of
// the same depth whose 20 outputs are all at its end. The perceptron is a spec, too: one cell of 20 layers that forecasts
// 20 channels one step ahead from the same 40 numbers.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Engine } from "../../src/models/forecastnet/engine.ts";
import { frameHistory } from "../../src/models/forecastnet/framing.ts";
import { initialWeights } from "../../src/models/forecastnet/initial-weights.ts";
import { weightCountOf } from "../../src/models/forecastnet/layers.ts";
import { planNet } from "../../src/models/forecastnet/plan.ts";
import { type ForecastNetSpec, specOf } from "../../src/models/forecastnet/spec.ts";
import type { DifferentiatingExecutor } from "../rig/differentiating-executors.ts";
import { openEngine, openExecutor, rangeScaler, syntheticSeries, τ } from "./support/paper-setup.ts";

const neurons = 24;
const interleaved = specOf("FN2", τ, { cell: { kind: "dense", units: [neurons], activation: "sigmoid" } });
const perceptron = specOf("FN2", 1, {
  inputLength: 2,
  channels: τ,
  targets: Array.from({ length: τ }, (_, c) => c),
  cell: { kind: "dense", units: new Array<number>(τ).fill(neurons), activation: "sigmoid" },
});

let executor: DifferentiatingExecutor;
let engine: Engine;
before(async () => {
  executor = await openExecutor();
  engine = await openEngine(executor);
});
after(() => engine.close());

/** Mean |∂loss/∂w| of the first and of the last hidden layer. */
function gradientEnds(spec: ForecastNetSpec) {
  const series = syntheticSeries();
  const { plan, rows } = framed(series, spec);
  const { gradient } = executor.differentiate({ plan, weights: initialWeights(plan, 1) }, rows);
  const layers = plan.cells.flatMap((cell) => cell.layers);
  const meanOf = (layer: (typeof layers)[number]) => {
    const count = weightCountOf(layer);
    const slopes = gradient.subarray(layer.weightsAt, layer.weightsAt + count);
    return slopes.reduce((sum, slope) => sum + Math.abs(slope), 0) / count;
  };
  return { first: meanOf(layers[0]), last: meanOf(layers[layers.length - 1]) };
}

/** Both nets get the same windows: 40 values in, 20 out. */
function framed(series: Float64Array, spec: ForecastNetSpec) {
  const scaler = rangeScaler(series);
  const { count, windows, targets } = frameHistory(specOf("FN2", τ), scaler, series, { from: 0, to: 600 });
  return { plan: planNet(spec), rows: { count, windows, targets } };
}

async function lossAfterTraining(spec: ForecastNetSpec): Promise<{ before: number; after: number }> {
  const { plan, rows } = framed(syntheticSeries(), spec);
  const start = initialWeights(plan, 1);
  const options = {
    seed: 1,
    batchSize: 64,
    maxEpochs: 10,
    learningRate: 1e-3,
    weightDecay: 0,
    shortcutRate: 1,
    schedule: "constant",
    stepsPerEpoch: null,
    criterion: "forced",
  } as const;
  const { loss } = executor.differentiate({ plan, weights: start }, rows);
  const [result] = await engine.fit([{ spec, start, training: rows, validation: rows, options }]);
  assert.equal(result.outcome, "fitted");
  return { before: loss, after: result.validationLoss };
}

test("interleaved outputs preserve the first layer's gradient, which vanishes in an equally deep perceptron", () => {
  const net = gradientEnds(interleaved);
  const deep = gradientEnds(perceptron);
  const share = (ends: { first: number; last: number }) => ends.first / ends.last;
  console.log(
    `first / last hidden layer: ForecastNet ${share(net).toExponential(1)}, perceptron ${share(deep).toExponential(1)}`,
  );
  assert.ok(share(net) > 1e-2, "the gradient reaches the first cell");
  assert.ok(share(deep) < 1e-6, "the gradient of the perceptron does not reach its first layer");
});

test("the interleaved net learns, and the perceptron does not", async () => {
  const net = await lossAfterTraining(interleaved);
  const deep = await lossAfterTraining(perceptron);
  console.log(
    `loss: ForecastNet ${net.before.toFixed(4)} → ${net.after.toFixed(4)}, perceptron ${deep.before.toFixed(4)} → ${deep.after.toFixed(4)}`,
  );
  assert.ok(net.after < 0.5 * deep.after, "ForecastNet ends well below the perceptron");
});
