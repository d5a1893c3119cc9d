// The best linear map from framed windows to targets, in closed form: the start of a net's linear shortcut. There are two ways: a regression of every step on the window ("direct"), or one regression of the next step that
// is applied to its own forecasts ("recursive"), which has fewer numbers to fit. The way and the penalty are chosen on the
// last part of the rows, each block of it forecast from the rows before.

import type { FrameSpec, TrainingSet } from "../framing.ts";
import { RidgeSums } from "./ridge.ts";

export interface ShortcutRule {
  readonly way: "direct" | "recursive";
  readonly penalty: number;
}

const penalties = [1e-4, 1e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1, 3];
const blocks = 3;
/** The share of the rows, at the end, on which the rule is chosen. */
const judgedShare = 0.3;

/** The shapes of a map. The plan of a net has them. */
export interface ShortcutShape {
  /** Numbers in a window. */
  readonly windowSize: number;
  /** How many channels are forecast. */
  readonly targets: number;
  readonly spec: Pick<FrameSpec, "horizon" | "channels" | "framing">;
}

/** The forecast is constant + window · map. */
export interface ShortcutMap {
  /** [input][step·target] */
  readonly map: Float64Array | Float32Array;
  /** [step·target] */
  readonly constant: Float64Array | Float32Array;
}

export function fitMap(plan: ShortcutShape, rows: TrainingSet, rule: ShortcutRule): ShortcutMap {
  const sums = sumsOf(plan);
  sums.add(rows.windows, rows.targets, 0, rows.count);
  return solveMap(plan, sums, rule);
}

export function chooseRule(plan: ShortcutShape, rows: TrainingSet): ShortcutRule {
  const rules = waysOf(plan).flatMap((way) => penalties.map((penalty): ShortcutRule => ({ way, penalty })));
  const errors = new Float64Array(rules.length);
  const sums = sumsOf(plan);
  const judgedFrom = Math.floor(rows.count * (1 - judgedShare));
  const { horizon } = plan.spec;
  let added = 0;
  for (let block = 0; block < blocks; block++) {
    const from = judgedFrom + Math.floor(((rows.count - judgedFrom) * block) / blocks);
    const to = judgedFrom + Math.floor(((rows.count - judgedFrom) * (block + 1)) / blocks);
    // The targets of a row reach τ − 1 steps ahead: rows closer to the block than that overlap it.
    const known = Math.max(added, from - horizon + 1);
    sums.add(rows.windows, rows.targets, added, known);
    added = known;
    if (sums.rows < 2 * horizon) continue;
    for (const [i, rule] of rules.entries())
      errors[i] += errorOf(plan, rows, solveMap(plan, sums, rule), from, to);
  }
  const best = errors.indexOf(Math.min(...errors));
  return errors[best] > 0 ? rules[best] : { way: waysOf(plan)[0], penalty: 1 };
}

/** Recursion needs a single channel: with several it would need forecasts of channels that are not targets. */
function waysOf({ spec }: ShortcutShape): readonly ShortcutRule["way"][] {
  return spec.channels === 1 ? ["recursive", "direct"] : ["direct"];
}

function sumsOf({ windowSize, spec, targets }: ShortcutShape): RidgeSums {
  return new RidgeSums(windowSize, spec.horizon * targets);
}

function solveMap(plan: ShortcutShape, sums: RidgeSums, { way, penalty }: ShortcutRule): ShortcutMap {
  const direct = sums.solve(penalty);
  const map = way === "direct" ? direct : recurse(plan, direct);
  return { map, constant: sums.constantOf(map) };
}

/**
 * Applies the map of the first step repeatedly, to windows that end with its own forecasts. The level of the window is
 * recomputed each time. All of this is linear in the window, so one window per unit vector gives the whole map.
 */
function recurse({ windowSize: L, spec }: ShortcutShape, direct: Float64Array): Float64Array {
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

function levelOf(
  { level }: FrameSpec["framing"],
  window: Float64Array,
  from: number,
  length: number,
): number {
  if (level === "last") return window[from + length - 1];
  if (level !== "mean") return 0;
  let sum = 0;
  for (let i = from; i < from + length; i++) sum += window[i];
  return sum / length;
}

/** Sum of absolute errors over the rows from … to − 1. */
function errorOf(plan: ShortcutShape, rows: TrainingSet, map: ShortcutMap, from: number, to: number): number {
  const outputs = plan.spec.horizon * plan.targets;
  let error = 0;
  for (let row = from; row < to; row++) {
    const forecast = applyMap(map, rows.windows, row * plan.windowSize, plan.windowSize);
    for (let o = 0; o < outputs; o++) error += Math.abs(rows.targets[row * outputs + o] - forecast[o]);
  }
  return error;
}

/** The forecast from `size` numbers of `windows`, starting at `at`. */
export function applyMap(
  { map, constant }: ShortcutMap,
  windows: Float32Array,
  at: number,
  size: number,
): Float64Array {
  const forecast = Float64Array.from(constant);
  for (let i = 0; i < size; i++) {
    const x = windows[at + i];
    for (let o = 0, row = i * forecast.length; o < forecast.length; o++) forecast[o] += x * map[row + o];
  }
  return forecast;
}
