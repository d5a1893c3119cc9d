// How many nets run as one stack. More of them share the fixed cost of an op; too many and the intermediate results
// leave the caches of a processor, or fill the memory of a device.

import { inputSizeOf, type Layer, outputLengthOf, outputSizeOf } from "../../models/forecastnet/layers.ts";
import type { CellPlan, NetPlan } from "../../models/forecastnet/plan.ts";

const floatBytes = 4;

/** What one stack may take while it runs, in bytes. */
export interface StackLimits {
  readonly forecast: number;
  readonly training: number;
}

/** By what it runs on. A processor gains nothing from longer forecasts; a device is the busier the more it gets. */
export const stackLimits: Readonly<Record<"cpu" | "gpu", StackLimits>> = {
  cpu: { forecast: 128 * 2 ** 20, training: 512 * 2 ** 20 },
  gpu: { forecast: 512 * 2 ** 20, training: 2 * 2 ** 30 },
};

/** Most rows that validation takes at once: enough to keep a product busy. */
const mostRows = 256;

/** Nets of one forecast stack: the stacked and the cut weights, and the widest cell's results for every path. */
export function netsPerForecast(plan: NetPlan, paths: number, limit: number): number {
  const widest = Math.max(...plan.cells.map(floatsOfCell));
  return atLeastOne(limit / (floatBytes * (2 * plan.weightCount + widest * paths)));
}

/** Nets of one training stack: weights, moments, gradient; all results of all cells, kept for the way back. */
export function netsPerTraining(plan: NetPlan, rows: number, limit: number): number {
  const all = plan.cells.reduce((sum, cell) => sum + floatsOfCell(cell), 0);
  return atLeastOne(limit / (floatBytes * (6 * plan.weightCount + 2 * all * rows)));
}

/** Rows that a stack of `nets` validates at once. */
export function rowsPerValidation(plan: NetPlan, nets: number, limit: number): number {
  const widest = Math.max(...plan.cells.map(floatsOfCell));
  return Math.min(mostRows, atLeastOne(limit / (floatBytes * nets * widest)));
}

/** Numbers that one lane of one net leaves behind in a cell. */
function floatsOfCell({ inputs, layers }: CellPlan): number {
  return layers.reduce((sum, layer) => sum + outputSizeOf(layer) + patchesOf(layer), inputs);
}

function patchesOf(layer: Layer): number {
  return layer.kind === "conv" ? layer.channels * layer.kernel * outputLengthOf(layer) : inputSizeOf(layer);
}

function atLeastOne(count: number): number {
  return Math.max(1, Math.floor(count));
}
