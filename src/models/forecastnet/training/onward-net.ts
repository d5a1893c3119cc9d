// One net with a linear shortcut on its way through a growing history. Each part continues from the weights of the part before, with
// the shortcut moved to the linear map of the longer part, and needs few steps. Before the net sees more of the history, it
// forecasts the fold that follows: these forecasts are held out, though no copy of the net is trained for them.

import type { Fold } from "../../folds.ts";
import { type HeldOutForecasts, joinHeldOut } from "../../held-out.ts";
import type { AffineMap } from "../../regression/affine-map.ts";
import { scaleValues } from "../../scaler.ts";
import type { Engine, FitOptions, FitTask } from "../engine.ts";
import { initialWeights } from "../initial-weights.ts";
import type { ForecastNetModel } from "../model.ts";
import type { NetPlan } from "../plan.ts";
import { sharedPlan } from "../shared-plan.ts";
import type { ForecastNetSpec } from "../spec.ts";
import type { OnwardSchedule, TrainedCandidate, TrialData } from "./candidates-request.ts";
import { forecastFold } from "./fold-forecasts.ts";
import { linearStart, moveShortcut } from "./linear-start.ts";
import { chooseRules, fitMap, mapFrameOf, type ScaledHistory, type ShortcutRule } from "./shortcut-map.ts";
import { frameRows, thinRows } from "./training-rows.ts";

const fitOptions: Omit<FitOptions, "seed" | "maxEpochs" | "batchSize"> = {
  stepsPerEpoch: 25,
  learningRate: 8e-3,
  weightDecay: 0.1,
  shortcutRate: 0.1,
  schedule: "cosine",
  criterion: "forced",
};

/** On longer parts, as a share of the learning rate: the nets have learnt most by then. */
const furtherRate = 1 / 2;

/** Steps ahead in a batch, all rows together. */
const stepsPerBatch = 768;
const [leastBatch, mostBatch] = [16, 64];

/** Only to notice a fit that grows without bound. */
const validationRows = 32;

export class OnwardNet {
  /** Why the net is out of the race; null while it is in. */
  failure: string | null = null;
  readonly #spec: ForecastNetSpec;
  readonly #plan: NetPlan;
  readonly #seed: number;
  readonly #initial: Float32Array;
  readonly #data: TrialData;
  readonly #fitter: ShortcutFitter;
  /** Of the net, fold by fold, and of its linear map alone. */
  #held: HeldOutForecasts[] = [];
  readonly #heldLinear: HeldOutForecasts[] = [];
  /** The state after a part; null before the first. */
  #reached: { readonly map: AffineMap; readonly linear: Float32Array; weights: Float32Array } | null = null;
  #isLinear = false;

  constructor(spec: ForecastNetSpec, seed: number, data: TrialData, fitter: ShortcutFitter) {
    this.#spec = spec;
    this.#plan = sharedPlan(spec);
    this.#seed = seed;
    this.#initial = initialWeights(this.#plan, seed);
    this.#data = data;
    this.#fitter = fitter;
  }

  /** Of all folds so far. */
  get forecasts(): HeldOutForecasts {
    return joinHeldOut(this.#held);
  }

  /** The same by the linear map alone. */
  get linearForecasts(): HeldOutForecasts {
    return joinHeldOut(this.#heldLinear);
  }

  /** The training on the steps before `ends`. Null, with a failure noted, when they hold no row. */
  taskOn(ends: readonly number[], part: number, { epochs, further }: OnwardSchedule): FitTask | null {
    const { series, scalers } = this.#data;
    const { inputLength, horizon } = this.#spec;
    const rows = frameRows(series, { spec: this.#spec, scalers, ends, seed: this.#seed });
    if (rows.count === 0) {
      this.failure = `part ${part + 1} of the history holds no ${inputLength} + ${horizon} unbroken steps`;
      return null;
    }
    const map = this.#fitter.mapOf(this.#spec, ends);
    const linear = linearStart(this.#plan, rows, map, this.#initial);
    const start =
      this.#reached === null || this.#isLinear
        ? linear
        : moveShortcut(this.#plan, this.#reached.weights, this.#reached.map, map);
    this.#reached = { map, linear, weights: start };
    const options: FitOptions = {
      ...fitOptions,
      batchSize: Math.min(Math.max(Math.round(stepsPerBatch / horizon), leastBatch), mostBatch),
      learningRate: fitOptions.learningRate * (part === 0 ? 1 : furtherRate),
      maxEpochs: this.#isLinear ? 0 : part === 0 ? epochs : further,
      seed: this.#seed + part,
    };
    return {
      spec: this.#spec,
      start,
      training: rows,
      validation: thinRows(rows, this.#spec, validationRows),
      options,
    };
  }

  /** Takes the weights that the training led to. They and the linear map forecast the fold that follows, if one does. */
  async accept(engine: Engine, weights: Float32Array, fold: Fold | null): Promise<void> {
    if (this.#reached === null) throw new Error("the net has not been trained");
    this.#reached.weights = weights;
    if (fold === null) return;
    const ofLinear = await this.#forecast(engine, this.#reached.linear, fold);
    if (ofLinear === null) {
      this.failure = "its forecasts of the folds are not finite";
      return;
    }
    this.#heldLinear.push(ofLinear);
    const ofNet = this.#isLinear ? null : await this.#forecast(engine, weights, fold);
    if (ofNet === null) this.becomeLinear();
    else this.#held.push(ofNet);
  }

  /** Training does harm: from now on the net is its linear map. */
  becomeLinear(): void {
    this.#isLinear = true;
    this.#held = [...this.#heldLinear];
  }

  #forecast(engine: Engine, weights: Float32Array, fold: Fold): Promise<HeldOutForecasts | null> {
    const members = [{ spec: this.#spec, weights, share: 1, residuals: null }];
    const { served: scaler } = this.#data.scalers;
    const named = { family: "forecastnet", key: "candidate", version: "held-out" } as const;
    const model: ForecastNetModel = { ...named, scaler, members, spread: null };
    return forecastFold(engine, model, this.#data.series, fold);
  }

  trained(): TrainedCandidate {
    if (this.#reached === null) throw new Error("the net has not been trained");
    return { spec: this.#spec, weights: this.#reached.weights, residuals: null, forecasts: this.forecasts };
  }
}

/** Fits linear maps to parts of the histories, once for all nets that see equally much in frames of one kind. */
export class ShortcutFitter {
  readonly #scaled: readonly Float64Array[];
  readonly #rulesByKind = new Map<string, readonly ShortcutRule[]>();
  readonly #mapByPart = new Map<string, AffineMap>();

  constructor({ series, scalers }: TrialData) {
    this.#scaled = series.map(({ values }, s) => scaleValues(values, scalers.own[s]));
  }

  /** The rules are chosen on the part that is asked for first, which is the shortest. */
  mapOf(spec: ForecastNetSpec, ends: readonly number[]): AffineMap {
    const { inputLength: length, horizon, channels, framing } = spec;
    const frame = mapFrameOf(framing);
    const history: ScaledHistory = { shape: { length, horizon, channels }, values: this.#scaled, frame };
    const kind = `${length} ${frame}`;
    const part = `${kind} ${ends.join()}`;
    const rules = this.#rulesByKind.get(kind) ?? chooseRules(history, ends);
    const map = this.#mapByPart.get(part) ?? fitMap(history, ends, rules);
    this.#rulesByKind.set(kind, rules);
    this.#mapByPart.set(part, map);
    return map;
  }
}
