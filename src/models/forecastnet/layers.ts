// The few layers every engine executes. A cell is a chain of them; a new kind of cell is a new composition in
// `cells/` and touches no engine. A layer knows its shapes, not its weights: `plan.ts` places it in the flat array.
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
  /** Zeros put before and after the sequence. */
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

/** Positions that leave a layer which runs over a sequence. */
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

/** Inputs that one output sums over: what He and Xavier initialisation ask for. */
export function fanInOf(layer: DenseLayer | ConvLayer): number {
  return layer.kind === "dense" ? layer.inputs : layer.channels * layer.kernel;
}
