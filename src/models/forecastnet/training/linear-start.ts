// Initial weights of a net with a linear shortcut. The shortcut makes the best linear forecast, the neurons contribute
// nothing yet, and σ is the error of the linear forecast. So training starts where a linear model ends.
//
// Legend: D the linear map, c its constant, r = y − (x·D + c) its errors. A step's error is mostly the error of the
// step before, which the cell sees in y_(h−1): with ρ_h the regression of r_h on r_(h−1),
//   μ_h = x·(D_h − ρ_h·D_(h−1)) + ρ_h·y_(h−1) + (c_h − ρ_h·c_(h−1)),  σ_h = the deviation of r_h − ρ_h·r_(h−1)

import type { TrainingSet } from "../framing.ts";
import { initialWeights } from "../initial-weights.ts";
import { weightCountOf } from "../layers.ts";
import type { NetPlan } from "../plan.ts";
import { applyMap, fitMap, type ShortcutMap, type ShortcutRule } from "./shortcut-map.ts";

/** Least σ, in net units: training divides by it, and a perfectly linear series has none. */
const leastDeviation = 1e-3;

export function linearStart(
  plan: NetPlan,
  rows: TrainingSet,
  rule: ShortcutRule,
  seed: number,
): Float32Array {
  const fitted = fitMap(plan, rows, rule);
  const { carry, deviation } = errorsOf(plan, rows, fitted);
  const weights = initialWeights(plan, seed);
  for (const h of plan.cells.keys()) placeCell(plan, weights, h, fitted, carry, deviation);
  return weights;
}

/** ρ and σ, [step·target]. */
function errorsOf(plan: NetPlan, rows: TrainingSet, fitted: ShortcutMap) {
  const { targets: T, windowSize } = plan;
  const outputs = plan.cells.length * T;
  const squares = new Float64Array(outputs);
  const products = new Float64Array(outputs);
  for (let row = 0; row < rows.count; row++) {
    const forecast = applyMap(fitted, rows.windows, row * windowSize, windowSize);
    let before = 0;
    for (let o = 0; o < outputs; o++) {
      const error = rows.targets[row * outputs + o] - forecast[o];
      squares[o] += error * error;
      if (o >= T) {
        before = rows.targets[row * outputs + o - T] - forecast[o - T];
        products[o] += error * before;
      }
    }
  }
  const carry = products.map((product, o) => (o >= T && squares[o - T] > 0 ? product / squares[o - T] : 0));
  const deviation = squares.map((square, o) => {
    const explained = o >= T ? carry[o] * products[o] : 0;
    return Math.max(Math.sqrt(Math.max(0, square - explained) / rows.count), leastDeviation);
  });
  return { carry, deviation };
}

function placeCell(
  plan: NetPlan,
  weights: Float32Array,
  h: number,
  { map, constant }: ShortcutMap,
  carry: Float64Array,
  deviation: Float64Array,
): void {
  const { targets: T, windowSize } = plan;
  const outputs = plan.cells.length * T;
  const cell = plan.cells[h];
  weights.fill(0, cell.mean.weightsAt, cell.mean.weightsAt + weightCountOf(cell.mean));
  for (let t = 0; t < T; t++) {
    const o = h * T + t;
    const row = cell.mean.weightsAt + t * cell.mean.inputs;
    const window = row + cell.outputs;
    const ρ = carry[o];
    for (let i = 0; i < windowSize; i++) {
      const before = h === 0 ? 0 : map[i * outputs + o - T];
      weights[window + i] = map[i * outputs + o] - ρ * before;
    }
    weights[cell.mean.biasesAt + t] = constant[o] - (h === 0 ? 0 : ρ * constant[o - T]);
    // The previous outputs are the last of the cell's inputs.
    if (h > 0) weights[row + cell.mean.inputs - T + t] = ρ;
    if (cell.deviation !== null) weights[cell.deviation.biasesAt + t] = inverseSoftplus(deviation[o]);
  }
  if (cell.deviation !== null) {
    const { weightsAt } = cell.deviation;
    weights.fill(0, weightsAt, weightsAt + weightCountOf(cell.deviation));
  }
}

function inverseSoftplus(σ: number): number {
  return σ + Math.log(-Math.expm1(-σ));
}
