// How many models a core trains in a minute, by effort and size of the series. Every model must pass the gate before
// its time counts: fast training of models that nobody would serve is worth nothing.

import type { History } from "../../src/domain.ts";
import { openThreadedEngine } from "../../src/engine/threads/threaded-engine.ts";
import { passGate } from "../../src/gate/gate.ts";
import { resolveRetrainRules } from "../../src/lifecycle/rules.ts";
import { createFamilies, type Families } from "../../src/models/families.ts";
import type { Effort, TrainedModel } from "../../src/models/family.ts";
import { seriesRules } from "../../src/runtime/config/series-rules.ts";
import type { ModelTrainer } from "../../src/training/training-task.ts";
import { openTrainingThreads } from "../../src/training/training-threads.ts";
import { decimals, type Section, spread, whole } from "../rig/report.ts";
import { settingsFor, taskOf } from "./sensors.ts";

/** A model, and the series that it is a model of. */
export interface ServedModel {
  readonly trained: TrainedModel;
  readonly history: History;
}

export interface TrainingReport {
  readonly section: Section;
  /** Models of the default series, of the default effort. */
  readonly models: readonly ServedModel[];
}

interface Kind {
  readonly horizon: number;
  /** Of the best model, or the first one. */
  readonly effort: Effort | "linear";
  /** How many are trained; the more work a model is, the fewer. */
  readonly models: number;
}

interface Training extends ServedModel {
  readonly wallMs: number;
  readonly cpuMs: number;
  /** Its MASE over seasonal-naive's on the tail that it never saw. */
  readonly toNaive: number;
}

const defaultHorizon = 24;
const kinds: readonly Kind[] = [
  { horizon: 6, effort: "linear", models: 100 },
  { horizon: 6, effort: "quick", models: 8 },
  { horizon: 6, effort: "normal", models: 8 },
  { horizon: 6, effort: "thorough", models: 2 },
  { horizon: defaultHorizon, effort: "linear", models: 500 },
  { horizon: defaultHorizon, effort: "quick", models: 10 },
  { horizon: defaultHorizon, effort: "normal", models: 20 },
  { horizon: defaultHorizon, effort: "thorough", models: 2 },
  { horizon: 48, effort: "linear", models: 40 },
  { horizon: 48, effort: "normal", models: 4 },
];

export async function measureTraining(isQuick: boolean): Promise<TrainingReport> {
  const wanted = kinds
    .filter(({ effort }) => !isQuick || effort === "quick" || effort === "linear")
    .map((kind) => (isQuick ? { ...kind, models: Math.min(kind.models, 40) } : kind));
  const engine = await openThreadedEngine({ setup: { kind: "simd" }, threads: 1 });
  const families = createFamilies(engine);
  const trainer = await openTrainingThreads({ setup: { kind: "simd" }, threads: 1 });
  // For the compilers: a worker trains many in its life, and the first is the slowest.
  for (const effort of ["linear", "quick"] as const) {
    for (const horizon of [6, 6, defaultHorizon])
      await trainOne(trainer, families, { horizon, effort, models: 1 }, 99);
  }
  const rows: string[][] = [];
  const secondsByEffort = new Map<Kind["effort"], number>();
  let models: readonly ServedModel[] = [];
  for (const kind of wanted) {
    const trainings: Training[] = [];
    for (let number = 0; number < kind.models; number++) {
      const training = await trainOne(trainer, families, kind, number);
      if (training !== null) trainings.push(training);
    }
    rows.push(rowOf(kind, trainings));
    const cpuMs = trainings.reduce((sum, training) => sum + training.cpuMs, 0);
    if (kind.horizon === defaultHorizon) secondsByEffort.set(kind.effort, cpuMs / 1000 / trainings.length);
    if (kind.horizon === defaultHorizon && kind.effort === (isQuick ? "quick" : "normal")) models = trainings;
    process.stderr.write(`trained: τ ${kind.horizon}, ${kind.effort}\n`);
  }
  await trainer.close();
  await engine.close();
  return { section: sectionOf(rows, fleetOutcome(secondsByEffort)), models };
}

/** Null when the gate refused the model. */
async function trainOne(
  trainer: ModelTrainer,
  families: Families,
  { horizon, effort }: Kind,
  number: number,
): Promise<Training | null> {
  const config = effort === "linear" ? settingsFor(horizon, "linear") : settingsFor(horizon);
  const task = taskOf(config, effort === "linear" ? "normal" : effort, number);
  const beginMs = performance.now();
  const beginCpu = process.cpuUsage();
  const [result] = await trainer.train([task], new AbortController().signal);
  if (result.outcome !== "trained") throw new Error(`${task.id}: training ended as ${result.outcome}`);
  const [history] = task.histories;
  const { challengers } = result;
  const rules = resolveRetrainRules(config.retrain, seriesRules(config.series)(task.modelKey));
  const baseline = families.baselineFor(task.modelKey, { ...rules, channels: 1 });
  const verdict = await passGate(families, {
    challengers,
    champion: null,
    baseline,
    histories: [history],
    countsFolds: true,
    rules,
  });
  const { user, system } = process.cpuUsage(beginCpu);
  const wallMs = performance.now() - beginMs;
  if (verdict.outcome !== "promoted") {
    process.stderr.write(`${task.id}: refused, ${verdict.reason}\n`);
    return null;
  }
  const { challengerMase, naiveMase } = verdict.numbers;
  return {
    ...{ trained: verdict.challenger, history, wallMs, cpuMs: (user + system) / 1000 },
    toNaive: challengerMase / naiveMase,
  };
}

function rowOf({ horizon, effort, models }: Kind, trainings: readonly Training[]): string[] {
  const name = `τ ${horizon}, ${effort}`;
  if (trainings.length === 0) throw new Error(`${name}: the gate refused every model`);
  const column = (read: (training: Training) => number, digits: number) =>
    spread(trainings.map(read), decimals(digits));
  return [
    name,
    `${trainings.length} of ${models}`,
    column(({ cpuMs }) => 60_000 / cpuMs, 1),
    column(({ cpuMs }) => cpuMs / 1000, 2),
    column(({ wallMs }) => wallMs / 1000, 2),
    column(({ toNaive }) => toNaive, 2),
  ];
}

const fleetSeries = 20_000;

/** From the mean over all models of an effort, those that the gate refused left out. */
function fleetOutcome(secondsByEffort: ReadonlyMap<string, number>): string {
  const hoursOf = (effort: string) => {
    const seconds = secondsByEffort.get(effort);
    return seconds === undefined ? null : ((fleetSeries * seconds) / 3600).toFixed(1);
  };
  const [first, best] = [hoursOf("linear"), hoursOf("normal")];
  const rest = best === null ? "" : `, and ${best} until each has its best one (normal)`;
  return `A fleet of ${whole(fleetSeries)} series with τ ${defaultHorizon} takes ${first} core-hours until each has its first model (linear)${rest}.`;
}

function sectionOf(rows: readonly (readonly string[])[], outcome: string): Section {
  return {
    title: "Models trained per minute",
    method:
      "One training thread, as in a worker, trains one model after the other, with a history of 60τ steps, a season of τ and default settings. A core-minute " +
      "is a minute of processor time of the whole process; the wall clock also counts the time of other users of the core. The gate then judged every model " +
      "on the tail of 3τ steps that the model had not seen. Its time includes that of the gate, and counts only if the model beat seasonal-naive there. " +
      "`linear` is the first model of a series; the efforts are those of the linear and ForecastNet models that are trained and averaged then.",
    columns: [
      "series, model",
      "passed the gate",
      "per minute and core",
      "CPU s a model",
      "s a model by the clock",
      "MASE to seasonal-naive's",
    ],
    rows,
    outcome,
  };
}
