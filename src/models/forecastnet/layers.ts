// The layers that every engine executes. A cell is a chain of them; a new kind of cell is a new chain in `cells.ts` and
// changes no engine. A layer has shapes and no weights: `plan.ts` assigns its place in the flat array of weights.
//
// Legend: data between layers is [channel][position], channel-major; a vector has one channel.
//   dense  y[o] = f(Σ_i w[o][i]·x[i] + b[o])
//   conv   y[f][p] = f(Σ_c Σ_k w[f][c][k]·x[c][p + k − padding] + b[f]), zeros outside
//   pool   y[c][p] = mean of x[c][p·stride … p·stride + size − 1], whole windows only

export const activations = ["relu", "sigmoid", "linear"] as const;

export type Activation = (typeof activations)[number];

export interface DenseLayer {
  readonly kind: "dense";
  readonly inputs: number;
  readonly outputs: number;
  readonly activation: Activation;
}

export interface ConvLayer {
  readonly kind: "conv";
  readonly channels: number;
  readonly length: number;
  readonly filters: number;
  readonly kernel: number;
  /** Zeros before and after the sequence. */
  readonly padding: number;
  readonly activation: Activation;
}

/** Average pooling; it has no weights. */
export interface PoolLayer {
  readonly kind: "pool";
  readonly channels: number;
  readonly length: number;
  readonly size: number;
  readonly stride: number;
}

export type Layer = DenseLayer | ConvLayer | PoolLayer;

export function inputSizeOf(layer: Layer): number {
  return layer.kind === "dense" ? layer.inputs : layer.channels * layer.length;
}

export function outputSizeOf(layer: Layer): number {
  if (layer.kind === "dense") return layer.outputs;
  return (layer.kind === "conv" ? layer.filters : layer.channels) * outputLengthOf(layer);
}

/** Length of the output sequence. */
export function outputLengthOf(layer: ConvLayer | PoolLayer): number {
  return layer.kind === "conv"
    ? layer.length + 2 * layer.padding - layer.kernel + 1
    : Math.floor((layer.length - layer.size) / layer.stride) + 1;
}

/** Numbers in the weight matrix, row-major by output. */
export function weightCountOf(layer: Layer): number {
  if (layer.kind === "dense") return layer.inputs * layer.outputs;
  return layer.kind === "conv" ? layer.filters * layer.channels * layer.kernel : 0;
}

export function biasCountOf(layer: Layer): number {
  if (layer.kind === "dense") return layer.outputs;
  return layer.kind === "conv" ? layer.filters : 0;
}

/** Inputs that one output sums over, for the initial weights. */
export function fanInOf(layer: DenseLayer | ConvLayer): number {
  return layer.kind === "dense" ? layer.inputs : layer.channels * layer.kernel;
}
