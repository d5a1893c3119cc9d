// Runs stacked nets as TensorFlow ops, cell by cell. Forecasting, validation and training all use it; every op has a
// gradient on all backends.
//
// Legend: n nets, T target channels, τ steps, C channels, L positions; a lane is a sample path in forecasts, a row of
// the minibatch in training. Data is [n·C, L, lanes], so a vector is [n, L, lanes]; data that is the same for all lanes
// has one lane. Weights are [n, outputs, inputs]: their product with data is data again, without a transposition.

import type { Activation, ConvLayer, PoolLayer } from "../../models/forecastnet/layers.ts";
import type { CellPlan } from "../../models/forecastnet/plan.ts";
import type { TensorFlow } from "./native-binding.ts";
import {
  type Block,
  type CellBlocks,
  fixedAfter,
  type LayerBlocks,
  type PanelLayout,
  type ShortcutBlocks,
} from "./panel-layout.ts";
import { keepingResult, type Tensor, type Tensor3D, type Tensor4D } from "./tensors.ts";

/** What the next cell gets as the output of this step, [n, T, lanes]. */
export type TensorFeed = (step: number, mean: Tensor3D, deviation: Tensor3D | null) => Tensor3D;

interface NetInput {
  /** [n, windowSize, lanes], or one lane if all lanes have the same window. */
  readonly window: Tensor3D;
  readonly lanes: number;
  readonly feed: TensorFeed;
}

/** [n, τ, T, lanes] */
export interface NetOutputs {
  readonly mean: Tensor4D;
  readonly deviation: Tensor4D | null;
}

/** `stacked` has the panels of the nets, [n, rows, columns] each. The caller frees the tensors. */
export function runNets(
  tf: TensorFlow,
  layout: PanelLayout,
  stacked: readonly Tensor3D[],
  input: NetInput,
): NetOutputs {
  const operands = toOperands(tf, layout, stacked, input.window);
  const means: Tensor3D[] = [];
  const deviations: Tensor3D[] = [];
  let signal: Signal = { channels: 1, fixed: null, free: input.window };
  for (let step = 0; step < layout.cells.length; step++) {
    // Frees tensors cell by cell, so that a forecast holds the intermediate results of one cell only.
    const { mean, deviation, next } = keepingResult(tf, () =>
      runStep(tf, layout, operands, step, signal, input),
    );
    means.push(mean);
    if (deviation !== null) deviations.push(deviation);
    if (next !== null) signal = { channels: 1, fixed: input.window, free: next };
  }
  return {
    mean: tf.stack(means, 1) as Tensor4D,
    deviation: deviations.length === 0 ? null : (tf.stack(deviations, 1) as Tensor4D),
  };
}

interface Step {
  readonly mean: Tensor3D;
  readonly deviation: Tensor3D | null;
  /** The free inputs of the next cell; null for the last. */
  readonly next: Tensor3D | null;
}

function runStep(
  tf: TensorFlow,
  layout: PanelLayout,
  operands: Operands,
  step: number,
  signal: Signal,
  { lanes, feed }: NetInput,
): Step {
  const { cells } = layout.plan;
  const result = runCell(tf, cells[step], layout.cells[step], operands, signal);
  const mean = widen(tf, result.mean, lanes);
  const deviation = result.deviationSums && tf.softplus(widen(tf, result.deviationSums, lanes));
  const isLast = step === cells.length - 1;
  return {
    mean,
    deviation,
    next: isLast ? null : joinPositions(tf, result.hidden, feed(step, mean, deviation)),
  };
}

/** Data between layers: first the positions that depend on the window alone, then the others. */
interface Signal {
  readonly channels: number;
  readonly fixed: Tensor3D | null;
  readonly free: Tensor3D | null;
}

/** The matrices of stacked nets, ready for products. */
interface Operands {
  /** By panel and index. */
  readonly blocks: readonly (readonly Tensor3D[])[];
  /** W·x + b of the window, by index in the window panel. */
  readonly ofWindow: readonly Tensor3D[];
  /** W·x of the window, by index in the panel of its shortcuts. */
  readonly ofWindowShortcuts: readonly Tensor3D[];
}

interface CellResult {
  readonly hidden: Tensor3D;
  readonly mean: Tensor3D;
  /** σ is their softplus, log(1 + exp(sum)). */
  readonly deviationSums: Tensor3D | null;
}

/** Splits the stacked panels [n, rows, columns], and computes all products with the window [n, windowSize, lanes]. */
function toOperands(
  tf: TensorFlow,
  layout: PanelLayout,
  stacked: readonly Tensor3D[],
  window: Tensor3D,
): Operands {
  const split = (tensor: Tensor3D, panel: number): Tensor3D[] => {
    const { blockRows } = layout.panels[panel];
    return blockRows.length === 1 ? [tensor] : tf.split(tensor, [...blockRows], 1);
  };
  const { windowShortcuts } = layout;
  const isOfWindow = (panel: number) =>
    panel === layout.window?.weights || panel === layout.window?.biases || panel === windowShortcuts;
  const blocks = stacked.map((tensor, panel) => (isOfWindow(panel) ? [] : split(tensor, panel)));
  const ofWindowShortcuts =
    windowShortcuts === null ? [] : split(tf.matMul(stacked[windowShortcuts], window), windowShortcuts);
  if (layout.window === null) return { blocks, ofWindow: [], ofWindowShortcuts };
  const { weights, biases } = layout.window;
  const sums: Tensor3D = tf.add(tf.matMul(stacked[weights], window), stacked[biases]);
  return { blocks, ofWindow: split(sums, weights), ofWindowShortcuts };
}

function runCell(
  tf: TensorFlow,
  cell: CellPlan,
  blocks: CellBlocks,
  operands: Operands,
  input: Signal,
): CellResult {
  let signal = input;
  for (const [i, layer] of cell.layers.entries()) {
    if (layer.kind === "pool") signal = applyPool(tf, layer, signal);
    else if (layer.kind === "conv") signal = applyConv(tf, layer, operands, blocks.layers[i], signal);
    else {
      const sums = applyDense(tf, operands, blocks.layers[i], signal);
      signal = { channels: 1, fixed: null, free: activate(tf, layer.activation, sums) };
    }
  }
  // The last layer is dense, so its output has no fixed part.
  const hidden = signal.free as Tensor3D;
  const ofHidden = applyDense(tf, operands, blocks.mean, signal);
  const mean =
    blocks.shortcut === null ? ofHidden : addShortcut(tf, operands, blocks.shortcut, ofHidden, input);
  const deviationSums = blocks.deviation && applyDense(tf, operands, blocks.deviation, signal);
  return { hidden, mean, deviationSums };
}

function applyDense(tf: TensorFlow, operands: Operands, blocks: LayerBlocks, input: Signal): Tensor3D {
  const { window, fixed, free, bias } = blocks;
  let sums = window === null ? blockOf(operands, bias as Block) : operands.ofWindow[window];
  for (const [block, part] of [
    [fixed, input.fixed],
    [free, input.free],
  ] as const) {
    if (block === null || part === null) continue;
    sums = tf.add(tf.matMul(blockOf(operands, block), toVector(tf, part, input.channels)), sums);
  }
  return sums;
}

/** A cell's input has one channel, and a free part always: the window in the first cell, the feedback in others. */
function addShortcut(
  tf: TensorFlow,
  operands: Operands,
  { window, free }: ShortcutBlocks,
  sums: Tensor3D,
  input: Signal,
): Tensor3D {
  const widened: Tensor3D = tf.add(tf.matMul(blockOf(operands, free), input.free as Tensor3D), sums);
  return window === null ? widened : tf.add(widened, operands.ofWindowShortcuts[window]);
}

function applyConv(
  tf: TensorFlow,
  layer: ConvLayer,
  operands: Operands,
  blocks: LayerBlocks,
  { fixed, free }: Signal,
): Signal {
  const { padding, filters } = layer;
  const filter = (data: Tensor3D) => convolve(tf, layer, operands, blocks, data);
  if (fixed === null || free === null) {
    const padded = padPositions(tf, (fixed ?? free) as Tensor3D, padding, padding);
    const filtered = filter(padded);
    return { channels: filters, fixed: fixed && filtered, free: free && filtered };
  }
  const fixedOutputs = fixedAfter(layer, fixed.shape[1]);
  const head = padPositions(tf, fixed, padding, 0);
  // Free outputs also see the last fixed inputs.
  const tail = padPositions(tf, joinPositions(tf, positionsFrom(tf, head, fixedOutputs), free), 0, padding);
  return { channels: filters, fixed: fixedOutputs === 0 ? null : filter(head), free: filter(tail) };
}

/**
 * Makes every patch of inputs under the kernel a column, so that one product convolves all positions of all lanes of
 * all nets, each with its own weights. TensorFlow's convolution would use the same weights for all nets.
 */
function convolve(
  tf: TensorFlow,
  { channels, filters, kernel, activation }: ConvLayer,
  operands: Operands,
  blocks: LayerBlocks,
  data: Tensor3D,
): Tensor3D {
  const [sequences, length, lanes] = data.shape;
  const nets = sequences / channels;
  const positions = length - kernel + 1;
  const shifted = Array.from({ length: kernel }, (_, k) =>
    tf.slice(data, [0, k, 0], [sequences, positions, lanes]),
  );
  const patches = tf.reshape(tf.concat(shifted, 1), [nets, channels * kernel, positions * lanes]) as Tensor3D;
  const sums: Tensor3D = tf.add(
    tf.matMul(blockOf(operands, blocks.free as Block), patches),
    blockOf(operands, blocks.bias as Block),
  );
  return tf.reshape(activate(tf, activation, sums), [nets * filters, positions, lanes]);
}

function applyPool(tf: TensorFlow, layer: PoolLayer, { channels, fixed, free }: Signal): Signal {
  const { size, stride } = layer;
  // For the op this is one image, sequences by positions, with the lanes as its channels.
  const pool = (data: Tensor3D | null) =>
    data === null || data.shape[1] < size ? null : tf.avgPool(data, [1, size], [1, stride], "valid");
  if (fixed === null || free === null) return { channels, fixed: pool(fixed), free: pool(free) };
  const fixedOutputs = fixedAfter(layer, fixed.shape[1]);
  const start = fixedOutputs * stride;
  const gap = start - fixed.shape[1];
  const rest =
    gap < 0 ? joinPositions(tf, positionsFrom(tf, fixed, start), free) : positionsFrom(tf, free, gap);
  return { channels, fixed: pool(fixed), free: pool(rest) };
}

/** Concatenates along the positions; data with one lane is repeated for all lanes of the other. */
function joinPositions(tf: TensorFlow, first: Tensor3D | null, second: Tensor3D | null): Tensor3D {
  if (first === null || second === null) return (first ?? second) as Tensor3D;
  const lanes = Math.max(first.shape[2], second.shape[2]);
  return tf.concat([widen(tf, first, lanes), widen(tf, second, lanes)], 1);
}

function widen(tf: TensorFlow, data: Tensor3D, lanes: number): Tensor3D {
  return data.shape[2] === lanes ? data : tf.tile(data, [1, 1, lanes]);
}

function positionsFrom(tf: TensorFlow, data: Tensor3D, start: number): Tensor3D | null {
  const [sequences, length, lanes] = data.shape;
  if (start >= length) return null;
  return start === 0 ? data : tf.slice(data, [0, start, 0], [sequences, length - start, lanes]);
}

function padPositions(tf: TensorFlow, data: Tensor3D, before: number, after: number): Tensor3D {
  if (before === 0 && after === 0) return data;
  return tf.pad3d(data, [
    [0, 0],
    [before, after],
    [0, 0],
  ]);
}

function toVector(tf: TensorFlow, data: Tensor3D, channels: number): Tensor3D {
  if (channels === 1) return data;
  const [sequences, length, lanes] = data.shape;
  return tf.reshape(data, [sequences / channels, channels * length, lanes]);
}

function blockOf(operands: Operands, { panel, index }: Block): Tensor3D {
  return operands.blocks[panel][index];
}

function activate(tf: TensorFlow, activation: Activation, sums: Tensor3D): Tensor3D {
  if (activation === "linear") return sums;
  return activation === "relu" ? relu(tf, sums) : tf.sigmoid(sums);
}

/** Has a gradient of two ops; that of TensorFlow.js takes six. It runs as often as any other op. */
function relu(tf: TensorFlow, sums: Tensor3D): Tensor3D {
  const withSlope = tf.customGrad((x, save) => {
    const value = tf.relu(x as Tensor3D);
    (save as (tensors: Tensor3D[]) => void)([value]);
    const gradFunc = (slope: Tensor, saved: Tensor[]) =>
      tf.mul(slope, tf.cast(tf.greater(saved[0], 0), "float32"));
    return { value, gradFunc };
  });
  return withSlope(sums) as Tensor3D;
}
