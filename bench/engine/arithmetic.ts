// The minimum number of floating-point operations of a work; a multiplication and an addition count as two. Additional
// operations of a kernel (padded lanes, repeated work) do not count. Only products of matrices count, not activations,
// pools, noise, losses and Adam.

import { type ConvLayer, outputLengthOf } from "../../src/models/forecastnet/layers.ts";
import type { CellPlan, NetPlan } from "../../src/models/forecastnet/plan.ts";
import type { Work } from "./protocol.ts";

/** Operations of one forecast, or of one training step, of one model. */
export function operationsOf(work: Work): number {
  const { plan } = work;
  const rows = work.kind === "forecast" ? work.paths : work.batch;
  const perCell = plan.cells.map((cell, h) =>
    work.kind === "forecast" ? forecastOf(plan, cell, h, rows) : rows * trainingOf(cell, h),
  );
  return perCell.reduce((sum, operations) => sum + operations, 0);
}

/** Data that depends on the window alone is the same for all paths and computed once. */
function forecastOf(plan: NetPlan, cell: CellPlan, h: number, paths: number): number {
  const heads = headsOf(cell);
  // The first cell sees nothing but the window.
  if (h === 0) return chainOf(cell).reduce((sum, all) => sum + all, heads);
  let operations = paths * heads;
  // The first `fixed` positions of a layer's input depend on the window alone; each has `width` numbers.
  let fixed = plan.windowSize;
  let width = 1;
  for (const layer of cell.layers) {
    if (layer.kind === "pool") {
      // With stride one, as in the paper, a mean includes the next size − 1 positions.
      fixed = Math.max(0, fixed - (layer.size - 1));
      continue;
    }
    if (layer.kind === "dense") {
      operations += 2 * layer.outputs * (fixed * width + paths * (layer.inputs - fixed * width));
      fixed = 0;
      width = 1;
      continue;
    }
    const length = outputLengthOf(layer);
    // Output p depends on inputs up to p + kernel − 1 − padding.
    const fixedOutputs = Math.max(0, Math.min(length, fixed - (layer.kernel - 1 - layer.padding)));
    operations += perPosition(layer) * (fixedOutputs + paths * (length - fixedOutputs));
    fixed = fixedOutputs;
    width = layer.filters;
  }
  return operations;
}

/** Forward pass, gradients by the weights, and gradients by those inputs that depend on weights. */
function trainingOf(cell: CellPlan, h: number): number {
  const heads = 3 * headsOf(cell);
  return chainOf(cell).reduce((sum, all, i) => {
    if (i > 0) return sum + 3 * all;
    // Of a cell's input only the previous cell's output depends on weights.
    const learning = h === 0 ? 0 : cell.outputs / cell.inputs;
    return sum + (2 + learning) * all;
  }, heads);
}

function chainOf({ layers }: CellPlan): readonly number[] {
  return layers.map((layer) => {
    if (layer.kind === "pool") return 0;
    if (layer.kind === "dense") return 2 * layer.inputs * layer.outputs;
    return perPosition(layer) * outputLengthOf(layer);
  });
}

function headsOf({ mean, deviation }: CellPlan): number {
  return 2 * (mean.inputs * mean.outputs + (deviation === null ? 0 : deviation.inputs * deviation.outputs));
}

function perPosition({ filters, channels, kernel }: ConvLayer): number {
  return 2 * filters * channels * kernel;
}
