// From (model, window) pairs to distributions, around whatever executes the nets: windows are framed for each member,
// one call runs all nets of all tasks, and the paths of a model's members become one mixture in raw units.
//
// Legend: τ steps, T targets, P paths of a forecast, shared among its members; a row is one step of one target.

import { emptyFrame, type FramedWindow, frameInto } from "../models/forecastnet/framing.ts";
import { type MixtureSummary, type Summarise, summariseMixtures } from "../models/forecastnet/mixture.ts";
import type { ForecastNetModel, Member } from "../models/forecastnet/model.ts";
import { normalCdf } from "../models/forecastnet/normal-table.ts";
import type { NetPlan } from "../models/forecastnet/plan.ts";
import { pathNoise } from "../models/forecastnet/sample-paths.ts";
import { sharedPlan } from "../models/forecastnet/shared-plan.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import type { Distribution, ForecastAnswer, ForecastOptions, ForecastTask } from "./engine.ts";
import type { NetExecutor, PathOutputs, SampleTask } from "./executor.ts";
import { spreadResiduals } from "./residual-components.ts";
import { sharePaths } from "./share-paths.ts";
import { checkMember, checkOptions, nameOf, requireNumbers } from "./task-checks.ts";

/** One member of one task, between framing and mixture. */
interface MemberRun {
  readonly member: Member;
  readonly plan: NetPlan;
  readonly frame: FramedWindow;
  readonly paths: number;
  /** Of its first path among those of the model. */
  readonly firstPath: number;
  readonly stream: number;
}

/** One answer per task, in their order: a model or window that does not fit costs its own forecast and no other. */
export function forecastModels(
  executor: NetExecutor,
  tasks: readonly ForecastTask[],
  options: ForecastOptions,
  summarise: Summarise = summariseMixtures,
): ForecastAnswer[] {
  checkOptions(options);
  const runs = tasks.map((task) => orRefusal(() => memberRuns(task, options.paths)));
  const sound = runs.flatMap((ofTask) => (ofTask instanceof ForecastnetError ? [] : ofTask));
  const outputs = executor.sample(sound.map(toSample));
  let first = 0;
  return runs.map((ofTask, i) => {
    if (ofTask instanceof ForecastnetError) return ofTask;
    const answers = outputs.slice(first, first + ofTask.length);
    first += ofTask.length;
    return orRefusal(() => toDistribution(tasks[i].model, ofTask, answers, { options, summarise }));
  });
}

function orRefusal<T>(act: () => T): T | ForecastnetError {
  try {
    return act();
  } catch (error) {
    if (error instanceof ForecastnetError) return error;
    throw error;
  }
}

function memberRuns({ model, window }: ForecastTask, paths: number): MemberRun[] {
  const where = nameOf(model);
  const counts = sharePaths(model, paths);
  let firstPath = 0;
  return model.members.map((member, m) => {
    const plan = sharedPlan(member.spec);
    checkMember(model, member, plan);
    const frame = emptyFrame(member.spec);
    frameInto(frame, member.spec, model.scaler, window, where);
    const run = { member, plan, frame, paths: counts[m], firstPath, stream: m };
    firstPath += counts[m];
    return run;
  });
}

function toSample({ member, plan, frame, paths, stream }: MemberRun): SampleTask {
  const { horizon, targets, output } = member.spec;
  const noise = output === "linear" ? null : pathNoise(horizon, targets.length, paths, stream);
  return { net: { plan, weights: member.weights }, window: frame.window, noise };
}

/** Components of one forecast, in raw units; grown as needed and used again. */
let componentMean = new Float64Array(0);
let componentDeviation = new Float64Array(0);

function toDistribution(
  model: ForecastNetModel,
  runs: readonly MemberRun[],
  outputs: readonly PathOutputs[],
  { options, summarise }: { readonly options: ForecastOptions; readonly summarise: Summarise },
): Distribution {
  const { horizon, targets } = model.members[0].spec;
  const rows = horizon * targets.length;
  const needed = rows * options.paths;
  if (componentMean.length < needed) {
    componentMean = new Float64Array(needed);
    componentDeviation = new Float64Array(needed);
  }
  for (const [m, run] of runs.entries()) layComponents(run, outputs[m], options.paths);
  const summary: MixtureSummary = {
    mean: new Float64Array(rows),
    standardDeviation: new Float64Array(rows),
    quantiles: options.levels.map(() => new Float64Array(rows)),
  };
  const mixtures = { rows, components: options.paths, mean: componentMean, deviation: componentDeviation };
  summarise(mixtures, options.levels, summary);
  requireNumbers(model, summary);
  const paths = options.keepPaths ? drawPaths(runs, options.paths, rows) : null;
  if (model.spread !== null) widen(summary, paths, model.spread, options.paths);
  return { ...summary, paths };
}

/** Puts the components of one member in their places, [target][step][path]. */
function layComponents(run: MemberRun, { mean, deviation }: PathOutputs, allPaths: number): void {
  const { member, frame, paths, firstPath } = run;
  const { horizon } = member.spec;
  const targets = member.spec.targets.length;
  const errors = member.residuals;
  for (let k = 0; k < targets; k++) {
    const scale = frame.scale[k];
    for (let h = 0; h < horizon; h++) {
      const row = k * horizon + h;
      const offset = frame.offset[row];
      const at = row * allPaths + firstPath;
      if (deviation === null && errors !== null) {
        const count = errors.length / (horizon * targets);
        const slots = { mean: componentMean, deviation: componentDeviation, at, components: paths };
        const centre = offset + scale * mean[h * targets + k];
        spreadResiduals(errors, row * count, count, slots, { centre, scale });
      } else if (deviation !== null) {
        const from = (h * targets + k) * paths;
        for (let p = 0; p < paths; p++) {
          componentMean[at + p] = offset + scale * mean[from + p];
          componentDeviation[at + p] = scale * deviation[from + p];
        }
      }
    }
  }
}

/**
 * The paths themselves, [target][step][path]: a Gaussian member's as they were fed from cell to cell; a linear
 * member's are its point forecast plus errors drawn step by step, since a table does not say how errors hang together.
 */
function drawPaths(runs: readonly MemberRun[], allPaths: number, rows: number): Float64Array {
  const drawn = new Float64Array(rows * allPaths);
  for (const { member, paths, firstPath, stream } of runs) {
    const { horizon, output } = member.spec;
    const targets = member.spec.targets.length;
    const noise = pathNoise(horizon, targets, paths, stream).values;
    for (let row = 0; row < rows; row++) {
      const [k, h] = [Math.floor(row / horizon), row % horizon];
      const from = (h * targets + k) * paths;
      const at = row * allPaths + firstPath;
      for (let p = 0; p < paths; p++) {
        const z = noise[from + p];
        // A linear member's components ascend, one per slice of probability: Φ(z) says which slice a path is in.
        drawn[at + p] =
          output === "linear"
            ? componentMean[at + Math.floor(normalCdf(z) * paths)]
            : componentMean[at + p] + componentDeviation[at + p] * z;
      }
    }
  }
  return drawn;
}

/** Everything but the mean moves away from it by the factor of its row. */
function widen(
  { mean, standardDeviation, quantiles }: MixtureSummary,
  paths: Float64Array | null,
  spread: Float32Array,
  allPaths: number,
): void {
  for (let row = 0; row < mean.length; row++) {
    const factor = spread[row];
    const around = (value: number) => mean[row] + factor * (value - mean[row]);
    standardDeviation[row] *= factor;
    for (const quantile of quantiles) quantile[row] = around(quantile[row]);
    for (let p = row * allPaths; paths !== null && p < (row + 1) * allPaths; p++) paths[p] = around(paths[p]);
  }
}
