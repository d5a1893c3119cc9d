// What a layer's operations have in common: where its weights lie, in bytes, and how they are counted.

import type { Activation, ConvLayer, DenseLayer } from "../../models/forecastnet/layers.ts";
import type { Placed } from "../../models/forecastnet/plan.ts";
import { activationLinear, activationRelu, activationSigmoid } from "./op-codes.ts";
import { type Fields, NUMBER } from "./program.ts";

const codeOf: Readonly<Record<Activation, number>> = {
  linear: activationLinear,
  relu: activationRelu,
  sigmoid: activationSigmoid,
};

/** All columns of a dense layer; `inputs` rows follow each other in the data. */
export function denseFields(layer: Placed<DenseLayer>): Fields {
  return {
    w: layer.weightsAt * NUMBER,
    b: layer.biasesAt * NUMBER,
    channels: 1,
    kernel: layer.inputs,
    columns: layer.inputs,
    columnStride: layer.inputs,
    outputs: layer.outputs,
    positions: 1,
    activation: codeOf[layer.activation],
  };
}

export function convFields(layer: Placed<ConvLayer>): Fields {
  return {
    w: layer.weightsAt * NUMBER,
    b: layer.biasesAt * NUMBER,
    channels: layer.channels,
    kernel: layer.kernel,
    columns: layer.channels * layer.kernel,
    columnStride: layer.kernel,
    outputs: layer.filters,
    activation: codeOf[layer.activation],
  };
}
