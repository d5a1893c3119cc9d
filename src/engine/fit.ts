// The training loop, the same for every executor. Nets of one plan advance together through one session, each with its
// own data, learning rate and end. The loop is a generator that pauses after every step, so that its caller can do
// other work in between, or cancel.

import type { Criterion, FitResult, FitTask } from "../models/forecastnet/engine.ts";
import type { NetPlan } from "../models/forecastnet/plan.ts";
import { sharedPlan } from "../models/forecastnet/shared-plan.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import type { NetExecutor, TrainingSession } from "./executor.ts";
import { FitRun } from "./fit-run.ts";

/** An argument of `next`: nets still in training end as cancelled, the others keep their results. */
type FitCommand = "cancel";

/** Pauses between steps and after each epoch. */
export type Fitting = Generator<void, readonly FitResult[], FitCommand | undefined>;

export function* fitNets(executor: NetExecutor, tasks: readonly FitTask[]): Fitting {
  if (tasks.length === 0) return [];
  const plan = sharedPlan(tasks[0].spec);
  for (const [index, task] of tasks.entries()) checkTask(task, index, plan);
  // A training that is cancelled before it starts takes no memory.
  if ((yield) === "cancel") return tasks.map(() => ({ outcome: "cancelled" }));
  const session = executor.train(
    plan,
    tasks.map(({ start, training, validation }) => ({ weights: start, training, validation })),
  );
  try {
    const startLosses = validate(session, tasks);
    const runs = tasks.map((task, net) => new FitRun(task, net, session, startLosses[net]));
    yield* fitAll(session, runs);
    return runs.map(({ result }) => result ?? { outcome: "cancelled" });
  } finally {
    session.close();
  }
}

/** Indices of tasks with equal specs, which one session can train. */
export function groupByPlan(tasks: readonly FitTask[]): readonly (readonly number[])[] {
  const indicesByPlan = new Map<NetPlan, number[]>();
  for (const [index, { spec }] of tasks.entries()) {
    const plan = sharedPlan(spec);
    const indices = indicesByPlan.get(plan);
    if (indices === undefined) indicesByPlan.set(plan, [index]);
    else indices.push(index);
  }
  return [...indicesByPlan.values()];
}

/** Ends when every run has a result, or at once when cancelled. */
function* fitAll(
  session: TrainingSession,
  runs: readonly FitRun[],
): Generator<void, void, FitCommand | undefined> {
  for (;;) {
    const active = runs.filter(({ result }) => result === null);
    if (active.length === 0) return;
    const isCancelled = yield* runEpoch(session, runs, active);
    if (isCancelled) return;
    const losses = validate(
      session,
      runs.map(({ task }) => task),
    );
    for (const [net, run] of runs.entries()) {
      if (run.result === null) run.endEpoch(losses[net]);
    }
    if ((yield) === "cancel") return;
  }
}

/** One epoch of every active net; nets with fewer batches wait for the net with most. Returns whether cancelled. */
function* runEpoch(
  session: TrainingSession,
  runs: readonly FitRun[],
  active: readonly FitRun[],
): Generator<void, boolean, FitCommand | undefined> {
  for (const run of active) run.beginEpoch();
  const batches = Math.max(...active.map((run) => run.batches));
  for (let batch = 0; batch < batches; batch++) {
    const rows = runs.map((run) => run.rowsOf(batch));
    if (rows.every((indices) => indices === null)) break;
    const losses = session.step(
      rows,
      runs.map((run) => run.adamOf(batch)),
    );
    for (const [net, indices] of rows.entries()) {
      if (indices !== null) runs[net].noteStep(losses[net], indices.length);
    }
    if ((yield) === "cancel") return true;
  }
  return false;
}

/** Each net's validation loss by its own criterion. */
function validate(session: TrainingSession, tasks: readonly FitTask[]): readonly number[] {
  const lossesByCriterion = new Map<Criterion, Float64Array>();
  for (const { criterion } of tasks.map(({ options }) => options)) {
    if (!lossesByCriterion.has(criterion)) lossesByCriterion.set(criterion, session.validate(criterion));
  }
  return tasks.map(({ options }, net) => lossesByCriterion.get(options.criterion)?.[net] ?? Number.NaN);
}

function checkTask(
  { spec, start, training, validation, options }: FitTask,
  index: number,
  plan: NetPlan,
): void {
  const refuse = (code: "WINDOW_UNFIT" | "MODEL_UNFIT" | "CONFIG_INVALID", problem: string): never => {
    throw new ForecastnetError(code, `training task ${index}: ${problem}`, { context: { task: index } });
  };
  if (sharedPlan(spec) !== plan)
    refuse("MODEL_UNFIT", "its spec differs from that of task 0; expected equal specs");
  if (start.length !== plan.weightCount) {
    refuse("MODEL_UNFIT", `start has ${start.length} weights; expected ${plan.weightCount}`);
  }
  for (const [name, set] of Object.entries({ training, validation })) {
    const { inputLength, horizon } = spec;
    if (set.count < 1) {
      const needed = `${inputLength} + ${horizon} steps without a gap`;
      refuse("WINDOW_UNFIT", `the ${name} set has no rows; expected one or more, each of ${needed}`);
    }
    const [windows, targets] = [set.count * plan.windowSize, set.count * horizon * plan.targets];
    if (set.windows.length !== windows || set.targets.length !== targets) {
      const found = `${set.windows.length} and ${set.targets.length}`;
      refuse("WINDOW_UNFIT", `the ${name} set has ${found} numbers; expected ${windows} and ${targets}`);
    }
  }
  const { batchSize, maxEpochs, learningRate } = options;
  for (const [name, value] of Object.entries({ batchSize, maxEpochs })) {
    if (!(value >= 1)) refuse("CONFIG_INVALID", `${name} is ${value}; expected 1 or more`);
  }
  if (!(learningRate > 0)) {
    refuse("CONFIG_INVALID", `learningRate is ${learningRate}; expected a number above 0`);
  }
}
