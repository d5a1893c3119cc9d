// Whether a core trains as much when all the others train, too: a trainer's threads, one a core, against one alone.

import { availableParallelism } from "node:os";
import type { ModelTrainer, TrainingTask } from "../../src/training/training-task.ts";
import { openTrainingThreads } from "../../src/training/training-threads.ts";
import { decimals, type Section, spread } from "../rig/report.ts";
import { settingsFor, taskOf } from "./sensors.ts";
import { inTurns, ratiosWithin, times } from "./turns.ts";

const modelsPerThread = 2;

export async function measureAllCores(rounds: number): Promise<Section> {
  const cores = availableParallelism();
  const trainers = {
    one: { threads: 1, trainer: await openTrainingThreads({ setup: { kind: "simd" }, threads: 1 }) },
    all: { threads: cores, trainer: await openTrainingThreads({ setup: { kind: "simd" }, threads: cores }) },
  };
  // For the compilers, and to start the threads that wait for work.
  for (const { threads, trainer } of Object.values(trainers)) await train(trainer, threads);
  const facts = await inTurns(["one", "all"] as const, rounds, (name) => measure(trainers[name]));
  for (const { trainer } of Object.values(trainers)) await trainer.close();
  const row = (name: "one" | "all") => [
    String(trainers[name].threads),
    spread(facts[name].map(perMinute), decimals(1)),
    spread(facts[name].map(coresHad), decimals(2)),
    spread(facts[name].map(perCoreMinute), decimals(1)),
  ];
  const ratio = (read: (facts: Facts) => number) => spread(ratiosWithin(facts.all, facts.one, read), times);
  return {
    title: "Training on all cores",
    method:
      `The same ${modelsPerThread} models (τ 24, quick) for every thread, on all threads concurrently, as in a trainer. ${rounds} rounds in turns. ` +
      "Training threads yield to everything else on the machine, so the table shows how many cores they got. A core-minute is a minute of processor time.",
    columns: ["threads", "models per minute", "cores had", "per minute and core"],
    rows: [
      row("one"),
      row("all"),
      [`${cores} threads to one`, ratio(perMinute), ratio(coresHad), ratio(perCoreMinute)],
    ],
  };
}

interface Facts {
  readonly models: number;
  readonly wallMs: number;
  readonly cpuMs: number;
}

const perMinute = ({ models, wallMs }: Facts) => (60_000 * models) / wallMs;
const coresHad = ({ cpuMs, wallMs }: Facts) => cpuMs / wallMs;
const perCoreMinute = ({ models, cpuMs }: Facts) => (60_000 * models) / cpuMs;

async function measure({ trainer, threads }: { trainer: ModelTrainer; threads: number }): Promise<Facts> {
  const beginMs = performance.now();
  const beginCpu = process.cpuUsage();
  const models = await train(trainer, threads);
  const { user, system } = process.cpuUsage(beginCpu);
  return { models, wallMs: performance.now() - beginMs, cpuMs: (user + system) / 1000 };
}

/** How many were trained: the same work for every thread. */
async function train(trainer: ModelTrainer, threads: number): Promise<number> {
  const tasks = Array.from({ length: modelsPerThread * threads }, (_, i): TrainingTask => {
    return taskOf(settingsFor(24), "quick", i % modelsPerThread);
  });
  const results = await trainer.train(tasks, new AbortController().signal);
  for (const { outcome } of results) if (outcome !== "trained") throw new Error(`a training ${outcome}`);
  return results.length;
}
