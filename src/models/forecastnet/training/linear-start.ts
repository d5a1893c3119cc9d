// Initial weights of a net with a linear shortcut. The shortcut makes the best linear forecast, the neurons contribute
// nothing yet, and σ is the error of the linear forecast. So training starts where a linear model ends. When the history has
// grown, the shortcut of a trained net moves by as much as the best linear forecast has moved, and keeps what it has learnt.
//
// Legend: D the linear map, c its constant, r = y − (D·x + c) its errors. A step's error is mostly the error of the
// step before, which the cell sees in y_(h−1): with ρ_h the regression of r_h on r_(h−1),
//   μ_h = (D_h − ρ_h·D_(h−1))·x + ρ_h·y_(h−1) + (c_h − ρ_h·c_(h−1)),  σ_h = the deviation of r_h − ρ_h·r_(h−1)

import type { AffineMap } from "../../regression/affine-map.ts";
import { dot } from "../../regression/cholesky.ts";
import type { TrainingSet } from "../framing.ts";
import { weightCountOf } from "../layers.ts";
import type { CellPlan, NetPlan } from "../plan.ts";

/** Least σ, in net units: training divides by it, and a perfectly linear series has none. */
const leastDeviation = 1e-3;

/** ρ and σ are estimated from every second row: neighbours tell nearly the same. */
const rowStride = 2;

/** The neurons keep their initial weights. The map is from framed windows to all channels of every step. */
export function linearStart(
  plan: NetPlan,
  rows: TrainingSet,
  map: AffineMap,
  initial: Float32Array,
): Float32Array {
  const own = targetsOf(plan, map);
  const { carry, deviation } = errorsOf(plan, rows, own);
  const weights = initial.slice();
  const { targets: T } = plan;
  for (const [h, cell] of plan.cells.entries()) {
    weights.fill(0, cell.mean.weightsAt, cell.mean.weightsAt + weightCountOf(cell.mean));
    weights.fill(0, cell.mean.biasesAt, cell.mean.biasesAt + T);
    for (let t = 0; t < T && h > 0; t++) weights[carryAt(plan, cell, t)] = carry[h * T + t];
    if (cell.deviation === null) continue;
    const { weightsAt, biasesAt } = cell.deviation;
    weights.fill(0, weightsAt, weightsAt + weightCountOf(cell.deviation));
    for (let t = 0; t < T; t++) weights[biasesAt + t] = inverseSoftplus(deviation[h * T + t]);
  }
  addMap(plan, weights, own);
  return weights;
}

/** The weights of a net whose closed-form map was `before` and is `after` now. */
export function moveShortcut(
  plan: NetPlan,
  weights: Float32Array,
  before: AffineMap,
  after: AffineMap,
): Float32Array {
  const moved = weights.slice();
  const change = {
    weights: after.weights.map((weight, i) => weight - before.weights[i]),
    constant: after.constant.map((constant, o) => constant - before.constant[o]),
  };
  addMap(plan, moved, targetsOf(plan, change));
  return moved;
}

/** Outputs of the channels that the net forecasts: [step·target]. */
function targetsOf({ spec, windowSize: p }: NetPlan, { weights, constant }: AffineMap): AffineMap {
  const { channels, targets, horizon } = spec;
  if (targets.length === channels) return { weights, constant };
  const outputs = Array.from({ length: horizon }, (_, h) => targets.map((c) => h * channels + c)).flat();
  const own = new Float64Array(outputs.length * p);
  for (const [i, o] of outputs.entries()) own.set(weights.subarray(o * p, (o + 1) * p), i * p);
  return { weights: own, constant: Float64Array.from(outputs, (o) => constant[o]) };
}

/** ρ and σ, [step·target]. */
function errorsOf(plan: NetPlan, rows: TrainingSet, { weights, constant }: AffineMap) {
  const { targets: T, windowSize } = plan;
  const outputs = plan.cells.length * T;
  const squares = new Float64Array(outputs);
  const products = new Float64Array(outputs);
  const errors = new Float64Array(outputs);
  let count = 0;
  for (let row = 0; row < rows.count; row += rowStride, count++) {
    const window = Float64Array.from(rows.windows.subarray(row * windowSize, (row + 1) * windowSize));
    for (let o = 0; o < outputs; o++) {
      const forecast = constant[o] + dot(weights, o * windowSize, window, 0, windowSize);
      errors[o] = rows.targets[row * outputs + o] - forecast;
      squares[o] += errors[o] * errors[o];
      if (o >= T) products[o] += errors[o] * errors[o - T];
    }
  }
  const carry = products.map((product, o) => (o >= T && squares[o - T] > 0 ? product / squares[o - T] : 0));
  const deviation = squares.map((square, o) => {
    const explained = o >= T ? carry[o] * products[o] : 0;
    return Math.max(Math.sqrt(Math.max(0, square - explained) / count), leastDeviation);
  });
  return { carry, deviation };
}

/** Adds a map to the shortcut, step for step less what the cell knows of it through the step before. */
function addMap(plan: NetPlan, weights: Float32Array, { weights: map, constant }: AffineMap): void {
  const { targets: T, windowSize: p } = plan;
  for (const [h, cell] of plan.cells.entries()) {
    for (let t = 0; t < T; t++) {
      const o = h * T + t;
      const window = cell.mean.weightsAt + t * cell.mean.inputs + cell.outputs;
      const ρ = h === 0 ? 0 : weights[carryAt(plan, cell, t)];
      for (let i = 0; i < p; i++) {
        weights[window + i] += map[o * p + i] - (h === 0 ? 0 : ρ * map[(o - T) * p + i]);
      }
      weights[cell.mean.biasesAt + t] += constant[o] - (h === 0 ? 0 : ρ * constant[o - T]);
    }
  }
}

/** Where the mean layer holds the weight of the previous output: these are the last of a cell's inputs. */
function carryAt({ targets }: NetPlan, { mean }: CellPlan, target: number): number {
  return mean.weightsAt + (target + 1) * mean.inputs - targets + target;
}

function inverseSoftplus(σ: number): number {
  return σ + Math.log(-Math.expm1(-σ));
}
