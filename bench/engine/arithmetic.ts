// How many floating-point operations a work needs at least; a multiplication and an addition count as two. What a
// kernel computes beyond that (padded lanes, work done twice) earns it nothing. Activations, pools, draws, losses and
// Adam are left out: what is counted is what a matrix product would be counted for.

import { type ConvLayer, outputLengthOf } from "../../src/models/forecastnet/layers.ts";
import type { CellPlan, NetPlan } from "../../src/models/forecastnet/plan.ts";
import type { Work } from "./protocol.ts";

/** Of one forecast, or of one training step, of one model. */
export function operationsOf(work: Work): number {
  const { plan } = work;
  const rows = work.kind === "forecast" ? work.paths : work.batch;
  const perCell = plan.cells.map((cell, h) =>
    work.kind === "forecast" ? forecastOf(plan, cell, h, rows) : rows * trainingOf(cell, h),
  );
  return perCell.reduce((sum, operations) => sum + operations, 0);
}

/** What depends on the window alone is the same for all paths and needed once. */
function forecastOf(plan: NetPlan, cell: CellPlan, h: number, paths: number): number {
  const heads = headsOf(cell);
  // The first cell sees nothing but the window.
  if (h === 0) return chainOf(cell).reduce((sum, all) => sum + all, heads);
  let operations = paths * heads;
  // Positions of a layer's input, from its beginning, that depend on the window alone, and numbers a position.
  let fixed = plan.windowSize;
  let width = 1;
  for (const layer of cell.layers) {
    if (layer.kind === "pool") {
      // Stride one, as in the paper: a mean reaches size − 1 positions on.
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
    // Output p reaches as far as input p + kernel − 1 − padding.
    const alike = Math.max(0, Math.min(length, fixed - (layer.kernel - 1 - layer.padding)));
    operations += perPosition(layer) * (alike + paths * (length - alike));
    fixed = alike;
    width = layer.filters;
  }
  return operations;
}

/** Forward, gradients of the weights, gradients of the inputs where something that learns lies behind them. */
function trainingOf(cell: CellPlan, h: number): number {
  const heads = 3 * headsOf(cell);
  return chainOf(cell).reduce((sum, all, i) => {
    if (i > 0) return sum + 3 * all;
    // Of a cell's own input only the previous cell's output learns.
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
