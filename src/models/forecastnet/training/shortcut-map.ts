// The linear map that a net's shortcut starts from, fitted in closed form. Maps of several kinds are fitted to the first part of a
// history and judged on the rest. Those that forecast best together are averaged, and fitted again as the history grows.
//
// Legend: C channels, p inputs of a window; z values in units of the scaler.
// A map of the fixed frame applies to z. One of a moving frame has rows that sum to 1 and no constant, so it applies to values
// relative to any level and in any unit: one fit serves all frames that move with the window.

import { type AffineMap, averageMap, type MapShape, repeatMap } from "../../regression/affine-map.ts";
import { dot } from "../../regression/cholesky.ts";
import { type Level, Regression, WindowSums } from "../../regression/window-sums.ts";
import type { Framing } from "../spec.ts";

/** "direct" regresses every step on the window, "recursive" the next step only, and applies that to its own forecasts. */
export interface ShortcutRule {
  readonly way: "direct" | "recursive";
  readonly level: Level;
  readonly penalty: number;
}

/** The histories that a map is fitted to, and its shape. */
export interface ScaledHistory {
  readonly shape: MapShape;
  /** z, one array per series. */
  readonly values: readonly Float64Array[];
  readonly frame: MapFrame;
}

type MapFrame = "fixed" | "moving";

export function mapFrameOf({ level }: Framing): MapFrame {
  return level === "none" ? "fixed" : "moving";
}

const levelsOf: Readonly<Record<MapFrame, readonly Level[]>> = {
  fixed: ["none", "last", "mean"],
  moving: ["last", "mean"],
};
const penalties = [1e-4, 1e-3, 1e-2, 1e-1, 1];
/** Of large windows fewer maps are tried, none of them recursive: the time of a fit grows with the cube of the inputs. */
const penaltiesOfLarge = [1e-3, 1e-1];
const largeInputs = 256;
/** The share of the steps that maps are fitted to before they are judged on the rest. */
const fittedShare = 0.75;
const originsJudged = 80;
/** Maps in the average, with repetition. */
const mostMaps = 5;
/** A map joins the average if the error falls by more than this share. */
const leastGain = 1e-4;

/** The rules of the maps in the best average, with repetition. Nothing after `ends`, one end per series, is used. */
export function chooseRules(history: ScaledHistory, ends: readonly number[]): readonly ShortcutRule[] {
  const cuts = ends.map((end) => Math.floor(fittedShare * end));
  const judgement = new Judgement(history, cuts, ends);
  const rules = rulesFor(history);
  const fits = new ShortcutFits(history, cuts);
  // The strongest penalty cannot go far wrong where there is nothing to judge by.
  if (judgement.items === 0 || fits.rows === 0) return [rules[rules.length - 1]];
  for (const rule of rules) judgement.add(rule, fits.mapOf(rule));
  return judgement.bestAverage();
}

/** The average of the maps of these rules, fitted to the steps before `ends`. */
export function fitMap(
  history: ScaledHistory,
  ends: readonly number[],
  rules: readonly ShortcutRule[],
): AffineMap {
  const fits = new ShortcutFits(history, ends);
  const distinct = [...new Set(rules)];
  return averageMap(
    distinct.map((rule) => {
      const map = fits.mapOf(rule);
      const share = rules.filter((one) => one === rule).length / rules.length;
      return { map, shares: new Float64Array(map.constant.length).fill(share) };
    }),
  );
}

function rulesFor({ shape, frame }: ScaledHistory): readonly ShortcutRule[] {
  const inputs = shape.length * shape.channels;
  const isLarge = inputs > largeInputs;
  // Recursion needs a single channel: with several, it would have to forecast all of them to go on.
  const ways = shape.channels === 1 && !isLarge ? (["recursive", "direct"] as const) : (["direct"] as const);
  return ways.flatMap((way) =>
    levelsOf[frame].flatMap((level) =>
      (isLarge ? penaltiesOfLarge : penalties).map((penalty) => ({ way, level, penalty })),
    ),
  );
}

/** Fits maps to one part of the histories. Maps share sums, and maps of one level also share their moments. */
class ShortcutFits {
  readonly #history: ScaledHistory;
  readonly #ends: readonly number[];
  readonly #sumsByWay = new Map<ShortcutRule["way"], WindowSums>();
  readonly #regressionByKind = new Map<string, Regression>();

  constructor(history: ScaledHistory, ends: readonly number[]) {
    this.#history = history;
    this.#ends = ends;
  }

  get rows(): number {
    return this.#sumsOf("direct").rows;
  }

  mapOf({ way, level, penalty }: ShortcutRule): AffineMap {
    const { horizon } = this.#history.shape;
    if (this.rows === 0) return this.#levelMap();
    const map = this.#regressionOf(way, level).solve(penalty);
    return way === "direct" ? map : repeatMap(map, horizon);
  }

  #regressionOf(way: ShortcutRule["way"], level: Level): Regression {
    const kind = `${way} ${level}`;
    const known = this.#regressionByKind.get(kind);
    if (known !== undefined) return known;
    const regression = new Regression(this.#sumsOf(way), level, this.#history.frame === "fixed");
    this.#regressionByKind.set(kind, regression);
    return regression;
  }

  #sumsOf(way: ShortcutRule["way"]): WindowSums {
    const known = this.#sumsByWay.get(way);
    if (known !== undefined) return known;
    const { shape, values } = this.#history;
    const sums = new WindowSums(way === "direct" ? shape : { ...shape, horizon: 1 });
    for (const [s, own] of values.entries()) sums.add(own, 0, this.#ends[s]);
    this.#sumsByWay.set(way, sums);
    return sums;
  }

  /** Without a row to fit: the last value of every channel. */
  #levelMap(): AffineMap {
    const { channels, length, horizon } = this.#history.shape;
    const [inputs, outputs] = [length * channels, horizon * channels];
    const weights = new Float64Array(outputs * inputs);
    for (let o = 0; o < outputs; o++) weights[o * inputs + inputs - channels + (o % channels)] = 1;
    return { weights, constant: new Float64Array(outputs) };
  }
}

interface JudgedRule {
  readonly rule: ShortcutRule;
  /** One per item: an output of an origin. */
  readonly forecasts: Float64Array;
}

/** What maps forecast at origins that follow the part they were fitted to. */
class Judgement {
  readonly #history: ScaledHistory;
  readonly #origins: readonly { readonly series: number; readonly step: number }[];
  readonly #actual: Float64Array;
  readonly #judged: JudgedRule[] = [];

  constructor(history: ScaledHistory, from: readonly number[], to: readonly number[]) {
    const { shape, values } = history;
    const { length, horizon, channels } = shape;
    this.#history = history;
    const all = values.flatMap((own, series) => {
      const steps: number[] = [];
      for (let step = Math.max(from[series], length); step + horizon <= to[series]; step++) {
        const seen = own.subarray((step - length) * channels, (step + horizon) * channels);
        if (seen.every(Number.isFinite)) steps.push(step);
      }
      return steps.map((step) => ({ series, step }));
    });
    const stride = Math.max(1, Math.floor(all.length / originsJudged));
    this.#origins = all.filter((_, i) => i % stride === 0);
    const outputs = horizon * channels;
    this.#actual = new Float64Array(this.#origins.length * outputs);
    for (const [i, { series, step }] of this.#origins.entries()) {
      this.#actual.set(values[series].subarray(step * channels, (step + horizon) * channels), i * outputs);
    }
  }

  get items(): number {
    return this.#actual.length;
  }

  add(rule: ShortcutRule, { weights, constant }: AffineMap): void {
    const { values, shape } = this.#history;
    const outputs = constant.length;
    const inputs = weights.length / outputs;
    const forecasts = new Float64Array(this.items);
    let item = 0;
    for (const { series, step } of this.#origins) {
      const from = step * shape.channels - inputs;
      for (let o = 0; o < outputs; o++)
        forecasts[item++] = constant[o] + dot(weights, o * inputs, values[series], from, inputs);
    }
    this.#judged.push({ rule, forecasts });
  }

  /** Adds to the average, again and again, the map that improves it most. */
  bestAverage(): readonly ShortcutRule[] {
    const rules: ShortcutRule[] = [];
    let average = new Float64Array(this.items);
    let least = Number.POSITIVE_INFINITY;
    while (rules.length < mostMaps) {
      const errors = this.#judged.map(({ forecasts }) => this.#errorOf(forecasts, average, rules.length));
      const error = Math.min(...errors.filter(Number.isFinite));
      if (!(error < least * (1 - leastGain))) break;
      least = error;
      const { rule, forecasts } = this.#judged[errors.indexOf(error)];
      const count = rules.push(rule);
      average = average.map((mean, i) => mean + (forecasts[i] - mean) / count);
    }
    return rules.length > 0 ? rules : [this.#judged[this.#judged.length - 1].rule];
  }

  /** Sum of absolute errors of the forecasts, averaged with `count` others. */
  #errorOf(forecasts: Float64Array, average: Float64Array, count: number): number {
    const actual = this.#actual;
    let sum = 0;
    for (let i = 0; i < actual.length; i++)
      sum += Math.abs(actual[i] - average[i] - (forecasts[i] - average[i]) / (count + 1));
    return sum;
  }
}
