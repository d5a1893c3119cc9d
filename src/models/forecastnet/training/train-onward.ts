// Trains nets with a linear shortcut onward through a growing history: on its first part, on the longer part of the second fold, and
// on the whole. It is a race: those nets go on that forecast the first fold best together, and only members of the model are
// trained on the whole.

import { yieldToEventLoop } from "../../../runtime/waiting.ts";
import { type Fold, stepsOf } from "../../folds.ts";
import type { Engine, FitResult, FitTask } from "../engine.ts";
import type { CandidateResults, CandidatesRequest, OnwardSchedule, TrialData } from "./candidates-request.ts";
import { chooseShares, type Distances, distancesOf, mixtureCrps } from "./ensemble.ts";
import { OnwardNet, ShortcutFitter } from "./onward-net.ts";

export async function trainOnward(
  engine: Engine,
  { specs, seed, schedule, members, signal }: CandidatesRequest,
  data: TrialData,
): Promise<CandidateResults> {
  const fitter = new ShortcutFitter(data);
  const entered = specs.map((spec, i) => new OnwardNet(spec, seed + i, data, fitter));
  let nets: readonly OnwardNet[] = entered;
  const whole = data.series.map((one) => stepsOf(one, specs[0].channels));
  const parts = [...data.folds.map(({ trainTo }) => trainTo), whole];
  for (const [part, ends] of parts.entries()) {
    const isDone = await trainPart(engine, nets, {
      part,
      ends,
      schedule,
      fold: data.folds[part] ?? null,
      signal,
    });
    if (!isDone) return "cancelled";
    nets = nets.filter(({ failure }) => failure === null);
    if (part === 0 && nets.length > schedule.kept) nets = bestTogether(nets, schedule.kept).nets;
    if (part === data.folds.length - 1 && nets.length > 0) nets = chooseMembers(nets, members);
  }
  const failures = entered.flatMap(({ failure }) => (failure === null ? [] : { failure }));
  return [...nets.map((net) => net.trained()), ...failures];
}

interface HistoryPart {
  readonly part: number;
  readonly ends: readonly number[];
  readonly schedule: OnwardSchedule;
  /** The steps that follow the part; null when it is the whole history. */
  readonly fold: Fold | null;
  readonly signal: AbortSignal | undefined;
}

/** False when the signal fired. All nets are handed to the engine at once, which may train them side by side. */
async function trainPart(
  engine: Engine,
  nets: readonly OnwardNet[],
  { part, ends, schedule, fold, signal }: HistoryPart,
): Promise<boolean> {
  const ready: { readonly net: OnwardNet; readonly task: FitTask }[] = [];
  for (const net of nets) {
    if (signal?.aborted) return false;
    const task = net.taskOn(ends, part, schedule);
    if (task !== null) ready.push({ net, task });
    await yieldToEventLoop();
  }
  const results = await fitAll(
    engine,
    ready.map(({ task }) => task),
    signal,
  );
  for (const [i, { net, task }] of ready.entries()) {
    const result = results[i];
    if (signal?.aborted || result.outcome === "cancelled") return false;
    await net.accept(engine, trainedBy(task, result), fold);
    await yieldToEventLoop();
  }
  return true;
}

/** A task of no epochs needs no engine. */
async function fitAll(
  engine: Engine,
  tasks: readonly FitTask[],
  signal?: AbortSignal,
): Promise<readonly FitResult[]> {
  const asked = tasks.filter(({ options }) => options.maxEpochs > 0);
  const results = asked.length === 0 ? [] : await engine.fit(asked, signal);
  return tasks.map((task): FitResult => {
    const at = asked.indexOf(task);
    if (at >= 0) return results[at];
    return { outcome: "fitted", weights: task.start, validationLoss: 0, epoch: 0, epochs: [] };
  });
}

/** The weights of the last epoch. A fit that grew without bound leaves its best weights, or the start. */
function trainedBy({ start, options }: FitTask, result: FitResult): Float32Array {
  if (result.outcome !== "fitted") return start;
  const { epochs, weights } = result;
  const last = epochs.length === 0 ? start : epochs[epochs.length - 1];
  return epochs.length === options.maxEpochs && last.every(Number.isFinite) ? last : weights;
}

/** At most `most` of the nets: those whose mixture forecasts best what they were not trained on. */
function bestTogether(nets: readonly OnwardNet[], most: number): Mixture {
  return mixtureOf(nets, distancesOf(nets.map(({ forecasts }) => forecasts)), most);
}

interface Mixture {
  readonly nets: readonly OnwardNet[];
  readonly crps: number;
}

function mixtureOf(nets: readonly OnwardNet[], distances: Distances, most: number): Mixture {
  const shares = chooseShares(distances, most);
  return { nets: nets.filter((_, i) => shares[i] > 0), crps: mixtureCrps(distances, shares) };
}

/**
 * Nets have failed together when their mixture forecasts the folds this much worse than that of their linear maps. By less it may be
 * bad luck, and a single net is not judged: on the sample traff every net, and their mixture, forecast the folds worse than the
 * maps by a few percent, and what followed better.
 */
const harmful = 1.1;

/** The members of the model, as `assembleModel` will choose them: nets, or the linear maps that they began as. */
function chooseMembers(nets: readonly OnwardNet[], most: number): readonly OnwardNet[] {
  const trained = bestTogether(nets, most);
  const maps = mixtureOf(nets, distancesOf(nets.map(({ linearForecasts }) => linearForecasts)), most);
  if (trained.crps <= harmful * maps.crps) return trained.nets;
  for (const net of maps.nets) net.becomeLinear();
  return maps.nets;
}
