// How many nets run as one stack. Larger stacks share the fixed cost of an op among more nets; in stacks that are too
// large, intermediate results leave the caches of the CPU or exhaust the memory of the GPU.

import { inputSizeOf, type Layer, outputLengthOf, outputSizeOf } from "../../models/forecastnet/layers.ts";
import type { CellPlan, NetPlan } from "../../models/forecastnet/plan.ts";

const floatBytes = 4;

/** Memory of one stack while it runs, in bytes. */
export interface StackLimits {
  readonly forecast: number;
  readonly training: number;
}

/** A CPU gains nothing from larger stacks of forecasts; a GPU is used better by larger stacks. */
export const stackLimits: Readonly<Record<"cpu" | "gpu", StackLimits>> = {
  cpu: { forecast: 128 * 2 ** 20, training: 512 * 2 ** 20 },
  gpu: { forecast: 512 * 2 ** 20, training: 2 * 2 ** 30 },
};

/** Maximum rows of one validation pass: enough for products to run at full speed. */
const maxRows = 256;

/** Nets of one forecast stack. Counts the weights stacked and split, and the widest cell's results for every path. */
export function netsPerForecast(plan: NetPlan, paths: number, limit: number): number {
  const widest = Math.max(...plan.cells.map(floatsOfCell));
  return atLeastOne(limit / (floatBytes * (2 * plan.weightCount + widest * paths)));
}

/** Nets of one training stack. Counts weights, moments, gradient, and the results of all cells for the backward pass. */
export function netsPerTraining(plan: NetPlan, rows: number, limit: number): number {
  const all = plan.cells.reduce((sum, cell) => sum + floatsOfCell(cell), 0);
  return atLeastOne(limit / (floatBytes * (6 * plan.weightCount + 2 * all * rows)));
}

/** Rows that a stack of `nets` validates in one pass. */
export function rowsPerValidation(plan: NetPlan, nets: number, limit: number): number {
  const widest = Math.max(...plan.cells.map(floatsOfCell));
  return Math.min(maxRows, atLeastOne(limit / (floatBytes * nets * widest)));
}

/** Intermediate results of one lane of one net in a cell, in numbers. */
function floatsOfCell({ inputs, layers }: CellPlan): number {
  return layers.reduce((sum, layer) => sum + outputSizeOf(layer) + patchesOf(layer), inputs);
}

function patchesOf(layer: Layer): number {
  return layer.kind === "conv" ? layer.channels * layer.kernel * outputLengthOf(layer) : inputSizeOf(layer);
}

function atLeastOne(count: number): number {
  return Math.max(1, Math.floor(count));
}
