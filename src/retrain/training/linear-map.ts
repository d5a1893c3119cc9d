// The best linear forecast of a net's targets from its window, in closed form: what the linear shortcut starts from.
// Two ways: a regression of every step on the window ("direct"), or one regression of the next step, applied to its
// own forecasts ("recursive"), which has fewer numbers to learn. Which of them, and how much penalty, is chosen on the
// last part of the rows, each block of it forecast from what lies before.

import type { TrainingSet } from "../../models/forecastnet/framing.ts";
import type { NetPlan } from "../../models/forecastnet/plan.ts";
import type { Framing } from "../../models/forecastnet/spec.ts";
import { RidgeSums } from "./ridge.ts";

export interface LinearRule {
  readonly way: "direct" | "recursive";
  readonly penalty: number;
}

const penalties = [1e-4, 1e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1, 3];
const blocks = 3;
/** The part of the rows on which the rule is chosen. */
const judgedShare = 0.3;

/** The forecast is constant + window · map. */
export interface LinearMap {
  /** [input][step·target] */
  readonly map: Float64Array;
  /** [step·target] */
  readonly constant: Float64Array;
}

export function fitMap(plan: NetPlan, rows: TrainingSet, rule: LinearRule): LinearMap {
  const sums = sumsOf(plan);
  addRows(plan, rows, sums, 0, rows.count);
  return solveMap(plan, sums, rule);
}

export function chooseRule(plan: NetPlan, rows: TrainingSet): LinearRule {
  const rules = waysOf(plan).flatMap((way) => penalties.map((penalty): LinearRule => ({ way, penalty })));
  const errors = new Float64Array(rules.length);
  const sums = sumsOf(plan);
  const judgedFrom = Math.floor(rows.count * (1 - judgedShare));
  const { horizon } = plan.spec;
  let added = 0;
  for (let block = 0; block < blocks; block++) {
    const from = judgedFrom + Math.floor(((rows.count - judgedFrom) * block) / blocks);
    const to = judgedFrom + Math.floor(((rows.count - judgedFrom) * (block + 1)) / blocks);
    // A row's targets reach τ − 1 steps on: rows closer to the block than that have seen it.
    const known = Math.max(added, from - horizon + 1);
    addRows(plan, rows, sums, added, known);
    added = known;
    if (sums.rows < 2 * horizon) continue;
    for (const [i, rule] of rules.entries())
      errors[i] += errorOf(plan, rows, solveMap(plan, sums, rule), from, to);
  }
  const best = errors.indexOf(Math.min(...errors));
  return errors[best] > 0 ? rules[best] : { way: waysOf(plan)[0], penalty: 1 };
}

/** One channel can be forecast from its own forecasts; several would need forecasts of those that are no target. */
function waysOf({ spec }: NetPlan): readonly LinearRule["way"][] {
  return spec.channels === 1 && spec.framing.season === null ? ["recursive", "direct"] : ["direct"];
}

function sumsOf({ windowSize, spec, targets }: NetPlan): RidgeSums {
  return new RidgeSums(windowSize, spec.horizon * targets);
}

function addRows(plan: NetPlan, rows: TrainingSet, sums: RidgeSums, from: number, to: number): void {
  const size = plan.spec.horizon * plan.targets;
  for (let row = from; row < to; row++) {
    const window = rows.windows.subarray(row * plan.windowSize, (row + 1) * plan.windowSize);
    sums.add(window, rows.targets.subarray(row * size, (row + 1) * size));
  }
}

function solveMap(plan: NetPlan, sums: RidgeSums, { way, penalty }: LinearRule): LinearMap {
  const direct = sums.solve(penalty);
  const map = way === "direct" ? direct : recurse(plan, direct);
  return { map, constant: sums.constantOf(map) };
}

/**
 * The map of the first step, applied over and over to windows that take its forecasts in. Each time the level is
 * taken anew; it is linear in the window, and so is all of this: one window per unit vector gives the whole map.
 */
function recurse({ windowSize: L, spec }: NetPlan, direct: Float64Array): Float64Array {
  const τ = spec.horizon;
  const map = new Float64Array(L * τ);
  const window = new Float64Array(L + τ);
  for (let input = 0; input < L; input++) {
    window.fill(0);
    window[input] = 1;
    for (let h = 0; h < τ; h++) {
      const level = levelOf(spec.framing, window, h, L);
      let sum = level;
      for (let i = 0; i < L; i++) sum += (window[h + i] - level) * direct[i * τ];
      window[L + h] = sum;
      map[input * τ + h] = sum;
    }
  }
  return map;
}

function levelOf({ level }: Framing, window: Float64Array, from: number, length: number): number {
  if (level === "last") return window[from + length - 1];
  if (level !== "mean") return 0;
  let sum = 0;
  for (let i = from; i < from + length; i++) sum += window[i];
  return sum / length;
}

/** Sum of absolute errors over rows from … to − 1. */
function errorOf(plan: NetPlan, rows: TrainingSet, map: LinearMap, from: number, to: number): number {
  const outputs = plan.spec.horizon * plan.targets;
  let error = 0;
  for (let row = from; row < to; row++) {
    const forecast = applyMap(map, rows.windows, row * plan.windowSize, plan.windowSize);
    for (let o = 0; o < outputs; o++) error += Math.abs(rows.targets[row * outputs + o] - forecast[o]);
  }
  return error;
}

/** The forecast from the `size` numbers of `windows` from `at` on. */
export function applyMap(
  { map, constant }: LinearMap,
  windows: Float32Array,
  at: number,
  size: number,
): Float64Array {
  const forecast = constant.slice();
  for (let i = 0; i < size; i++) {
    const x = windows[at + i];
    for (let o = 0, row = i * forecast.length; o < forecast.length; o++) forecast[o] += x * map[row + o];
  }
  return forecast;
}
