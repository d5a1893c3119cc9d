// Initial weights of a net, drawn from a seed: He for rectifiers, Xavier for the rest, biases zero, as in the paper.

import { createRandom, type Random } from "../../runtime/random.ts";
import { type ConvLayer, type DenseLayer, fanInOf, weightCountOf } from "./layers.ts";
import type { NetPlan, Placed } from "./plan.ts";

export function initialWeights(plan: NetPlan, seed: number): Float32Array {
  const weights = new Float32Array(plan.weightCount);
  const random = createRandom(seed);
  for (const { layers, mean, deviation } of plan.cells) {
    for (const layer of layers) if (layer.kind !== "pool") draw(weights, layer, random);
    draw(weights, mean, random);
    if (deviation !== null) draw(weights, deviation, random);
  }
  return weights;
}

function draw(weights: Float32Array, layer: Placed<DenseLayer | ConvLayer>, random: Random): void {
  const deviation = deviationOf(layer);
  const end = layer.weightsAt + weightCountOf(layer);
  for (let i = layer.weightsAt; i < end; i++) weights[i] = deviation * random.normal();
}

/** A rectifier passes half of the variance, so He takes 2 / in where Xavier takes 2 / (in + out). */
function deviationOf(layer: DenseLayer | ConvLayer): number {
  const fanIn = fanInOf(layer);
  const fanOut = layer.kind === "dense" ? layer.outputs : layer.filters * layer.kernel;
  return Math.sqrt(2 / (layer.activation === "relu" ? fanIn : fanIn + fanOut));
}
