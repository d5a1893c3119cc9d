// Turns (model, window) pairs into distributions, with any executor: frames the window for each member, runs all nets
// of all tasks in one call, and combines the paths of a model's members into one mixture in raw units, or in roots of them. Refuses models
// and windows that do not fit, task by task; a refusal names the model, the field and the expected value.
//
// Legend: a row is one step of one target; a path of a forecast gives one mixture component per row.
//
// Few paths leave gaps between their components where a net feeds much of its noise back, so the components of a member are spread to
// fill them (kernel smoothing with shrinkage, West 1993): with v the variance of the paths' means and κ² = min(1, 1.21·P^−0.4), each
// mean moves towards that of all by the factor √(1 − κ²), and each component's variance grows by κ²·v. Mean and variance of the
// mixture stay the same. The more paths, the less is changed.

import type { ForecastOptions } from "../models/family.ts";
import type { EngineAnswer, EngineForecast, EngineTask } from "../models/forecastnet/engine.ts";
import { type FramedWindow, frameWindow } from "../models/forecastnet/framing.ts";
import { type MixtureSummary, type Summarise, summariseMixtures } from "../models/forecastnet/mixture.ts";
import type { ForecastNetModel, Member } from "../models/forecastnet/model.ts";
import type { NetPlan } from "../models/forecastnet/plan.ts";
import { pathNoise } from "../models/forecastnet/sample-paths.ts";
import { sharedPlan } from "../models/forecastnet/shared-plan.ts";
import { squareDistribution } from "../models/roots.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import type { NetExecutor, PathOutputs, SampleTask } from "./executor.ts";

/** One member of one task, between framing and mixture. */
interface MemberRun {
  readonly member: Member;
  readonly plan: NetPlan;
  readonly frame: FramedWindow;
  readonly paths: number;
  /** Index of its first path among those of the model. */
  readonly firstPath: number;
  /** Its share in the mixture; those of a model sum to 1. */
  readonly weight: number;
  readonly stream: number;
}

/** One answer per task, in order. A model or window that does not fit fails its own task and no other. */
export function forecastModels(
  executor: NetExecutor,
  tasks: readonly EngineTask[],
  options: ForecastOptions,
  summarise: Summarise = summariseMixtures,
): EngineAnswer[] {
  checkOptions(options);
  const runs = tasks.map((task) => resultOrError(() => memberRuns(task, options.paths)));
  const accepted: MemberRun[] = [];
  for (const ofTask of runs) if (!(ofTask instanceof ForecastnetError)) accepted.push(...ofTask);
  const outputs = executor.sample(accepted.map(toSample));
  let first = 0;
  return runs.map((ofTask, i) => {
    if (ofTask instanceof ForecastnetError) return ofTask;
    const ownOutputs = outputs.slice(first, first + ofTask.length);
    first += ofTask.length;
    return resultOrError(() => toDistribution(tasks[i].model, ofTask, ownOutputs, { options, summarise }));
  });
}

function resultOrError<T>(act: () => T): T | ForecastnetError {
  try {
    return act();
  } catch (error) {
    if (error instanceof ForecastnetError) return error;
    throw error;
  }
}

function memberRuns({ model, window }: EngineTask, paths: number): MemberRun[] {
  const where = nameOf(model);
  const counts = sharePaths(model, paths);
  const total = totalShare(model.members);
  let firstPath = 0;
  return model.members.map((member, m) => {
    const plan = sharedPlan(member.spec);
    checkMember(model, member, plan);
    const frame = frameWindow(member.spec, model.scaler, window, where);
    const weight = member.share / total;
    const run = { member, plan, frame, paths: counts[m], firstPath, weight, stream: m };
    firstPath += counts[m];
    return run;
  });
}

function toSample({ member, plan, frame, paths, stream }: MemberRun): SampleTask {
  const { horizon, targets, output } = member.spec;
  const noise = output === "linear" ? null : pathNoise(horizon, targets.length, paths, stream);
  return { net: { plan, weights: member.weights }, window: frame.window, noise };
}

/** Components of one forecast, in raw units, and their weights. Reused between forecasts, and grown as needed. */
let componentMean = new Float64Array(0);
let componentDeviation = new Float64Array(0);
let componentWeight = new Float64Array(0);

function toDistribution(
  model: ForecastNetModel,
  runs: readonly MemberRun[],
  outputs: readonly PathOutputs[],
  { options, summarise }: { readonly options: ForecastOptions; readonly summarise: Summarise },
): EngineForecast {
  const { horizon, targets } = model.members[0].spec;
  const rows = horizon * targets.length;
  const last = runs[runs.length - 1];
  const components = last.firstPath + last.paths;
  makeRoom(rows, components);
  for (const [m, run] of runs.entries()) {
    writeComponents(run, outputs[m], components);
    componentWeight.fill(run.weight / run.paths, run.firstPath, run.firstPath + run.paths);
  }
  const summary: MixtureSummary = {
    mean: new Float64Array(rows),
    standardDeviation: new Float64Array(rows),
    quantiles: options.levels.map(() => new Float64Array(rows)),
  };
  const mixtures = {
    rows,
    components,
    mean: componentMean,
    deviation: componentDeviation,
    weight: componentWeight,
  };
  summarise(mixtures, options.levels, summary);
  requireFinite(model, summary);
  if (model.spread !== null) widen(summary, model.spread);
  if (model.scaler.ofRoots) squareDistribution(summary);
  return summary;
}

function makeRoom(rows: number, components: number): void {
  if (componentMean.length < rows * components) {
    componentMean = new Float64Array(rows * components);
    componentDeviation = new Float64Array(rows * components);
  }
  if (componentWeight.length < components) componentWeight = new Float64Array(components);
}

/** Writes the components of one member, [target][step][path]. */
function writeComponents(run: MemberRun, { mean, deviation }: PathOutputs, allPaths: number): void {
  const { member, frame, paths, firstPath } = run;
  const { horizon } = member.spec;
  const targets = member.spec.targets.length;
  const errors = member.residuals;
  for (let k = 0; k < targets; k++) {
    const scale = frame.scale[k];
    for (let h = 0; h < horizon; h++) {
      const row = k * horizon + h;
      const offset = frame.offset[k];
      const at = row * allPaths + firstPath;
      if (deviation === null && errors !== null) {
        const count = errors.length / (horizon * targets);
        const ofRow = errors.subarray(row * count, (row + 1) * count);
        const centre = offset + scale * mean[h * targets + k];
        writeResiduals(ofRow, { first: at, count: paths }, { centre, scale });
      } else if (deviation !== null) {
        const from = (h * targets + k) * paths;
        writePaths({ mean, deviation, from, count: paths }, { first: at, offset, scale });
      }
    }
  }
}

/** Writes the components of the paths of one row, spread as the head of this file says. */
function writePaths(
  {
    mean,
    deviation,
    from,
    count,
  }: {
    readonly mean: Float32Array;
    readonly deviation: Float32Array;
    readonly from: number;
    readonly count: number;
  },
  { first, offset, scale }: { readonly first: number; readonly offset: number; readonly scale: number },
): void {
  // Relative to the first path: where all are equal, as at the first step, they stay exactly so.
  const base = mean[from];
  let sum = 0;
  let squares = 0;
  for (let p = 0; p < count; p++) {
    const distance = mean[from + p] - base;
    sum += distance;
    squares += distance * distance;
  }
  const shift = sum / count;
  const kernel = Math.min(1, 1.21 * count ** -0.4);
  const added = kernel * Math.max(0, squares / count - shift * shift);
  const shrink = Math.sqrt(1 - kernel);
  const centre = base + (1 - shrink) * shift;
  for (let p = 0; p < count; p++) {
    const width = deviation[from + p];
    componentMean[first + p] = offset + scale * (centre + shrink * (mean[from + p] - base));
    componentDeviation[first + p] = scale * Math.sqrt(width * width + added);
  }
}

/** Scales deviations, and the distance of quantiles from the mean, by the factor of their row. */
function widen({ mean, standardDeviation, quantiles }: MixtureSummary, spread: Float32Array): void {
  for (let row = 0; row < mean.length; row++) {
    const factor = spread[row];
    standardDeviation[row] *= factor;
    for (const quantile of quantiles) quantile[row] = mean[row] + factor * (quantile[row] - mean[row]);
  }
}

/** Paths that an engine computes at the price of one. */
const lanes = 8;

/**
 * How many paths each member gets: its share of the forecast's, to the nearest whole block of lanes, and at least one block. The weights of
 * the components make up for what the rounding changes. Members of all models thus have a few numbers of paths, each with its own table
 * of noise and its own program of the kernel.
 */
function sharePaths({ members }: ForecastNetModel, paths: number): readonly number[] {
  if (members.length === 1) return [paths];
  const total = totalShare(members);
  const block = Math.min(lanes, paths);
  return members.map(({ share }) => block * Math.max(1, Math.round((paths * share) / total / block)));
}

function totalShare(members: readonly Member[]): number {
  return members.reduce((sum, { share }) => sum + share, 0);
}

/** The quantile of ascending errors at a level, by linear interpolation; error i of m has the level (i + ½) / m. */
function residualQuantile(errors: Float32Array, level: number): number {
  const last = errors.length - 1;
  const position = Math.min(Math.max(level * errors.length - 0.5, 0), last);
  const below = Math.floor(position);
  if (below === last) return errors[last];
  return errors[below] + (errors[below + 1] - errors[below]) * (position - below);
}

/**
 * Writes components around a point forecast, in raw units, from a step's table of held-out errors in net units.
 * Component i of n stands for the probabilities from i/n to (i + 1)/n: its mean is the middle quantile of that range,
 * its deviation half the range, which smooths the table without widening it.
 */
function writeResiduals(
  errors: Float32Array,
  components: { readonly first: number; readonly count: number },
  { centre, scale }: { readonly centre: number; readonly scale: number },
): void {
  const { first, count } = components;
  let lower = residualQuantile(errors, 0);
  for (let i = 0; i < count; i++) {
    const middle = residualQuantile(errors, (i + 0.5) / count);
    const upper = residualQuantile(errors, (i + 1) / count);
    componentMean[first + i] = centre + scale * middle;
    componentDeviation[first + i] = (scale * (upper - lower)) / 2;
    lower = upper;
  }
}

function nameOf({ key, version }: ForecastNetModel): string {
  return `model ${key}@${version}`;
}

function unfit(model: ForecastNetModel, field: string, problem: string): ForecastnetError {
  return new ForecastnetError("MODEL_UNFIT", `${nameOf(model)}: ${field} ${problem}`, {
    context: { modelKey: model.key, modelVersion: model.version, field },
  });
}

function checkOptions({ paths, levels }: ForecastOptions): void {
  if (!Number.isInteger(paths) || paths < 1) {
    throw new ForecastnetError(
      "CONFIG_INVALID",
      `paths is ${paths}; expected a whole number of sample paths, 1 or more`,
    );
  }
  const isSound = levels.every((level, l) => level > 0 && level < 1 && (l === 0 || level > levels[l - 1]));
  if (!isSound) {
    throw new ForecastnetError(
      "CONFIG_INVALID",
      `levels is ${JSON.stringify(levels)}; expected ascending numbers between 0 and 1`,
    );
  }
}

/** Decoding a model checks all of this; models built in memory are not checked before. */
function checkMember(model: ForecastNetModel, member: Member, plan: NetPlan): void {
  const { spec, weights, residuals } = member;
  const first = model.members[0].spec;
  if (weights.length !== plan.weightCount) {
    throw unfit(model, "weights", `are ${weights.length} numbers; expected ${plan.weightCount}`);
  }
  if (spec.horizon !== first.horizon || spec.channels !== first.channels) {
    throw unfit(model, "members", "differ in horizon or channels; expected equal values");
  }
  if (spec.targets.length !== first.targets.length || spec.targets.some((c, k) => c !== first.targets[k])) {
    throw unfit(model, "members", "differ in targets; expected equal values");
  }
  const rows = spec.horizon * spec.targets.length;
  if (model.spread !== null && model.spread.length !== rows) {
    throw unfit(
      model,
      "spread",
      `has ${model.spread.length} numbers; expected ${rows}, one per target and step`,
    );
  }
  if (spec.output === "gaussian") return;
  if (residuals === null || residuals.length === 0 || residuals.length % rows !== 0) {
    const found = residuals === null ? "are missing" : `are ${residuals.length} numbers`;
    throw unfit(model, "residuals", `${found}; expected a multiple of ${rows} for linear outputs`);
  }
}

/** A net that overflows must not publish NaN. */
function requireFinite(model: ForecastNetModel, { mean, standardDeviation }: MixtureSummary): void {
  for (let row = 0; row < mean.length; row++) {
    if (Number.isFinite(mean[row]) && Number.isFinite(standardDeviation[row])) continue;
    const { horizon } = model.members[0].spec;
    const place = `step ${(row % horizon) + 1} of target ${Math.floor(row / horizon)}`;
    throw unfit(model, "forecast", `has no finite value at ${place}; expected numbers that fit into float32`);
  }
}
