// What forecasts lose while models are trained beside them: the engine of a worker alone, beside a training thread as
// the worker has it, and beside one that does not stand back, in turns.

import { monitorEventLoopDelay } from "node:perf_hooks";
import type { ModelTrainer } from "../../src/training/training-task.ts";
import { openTrainingThreads } from "../../src/training/training-threads.ts";
import { quantile, type Section } from "../rig/report.ts";
import { besideSection, type Condition, type Facts } from "./beside-page.ts";
import { trainWithoutPause } from "./constant-training.ts";
import { openNormalPriorityThread } from "./normal-priority.ts";
import { askSteadily, askWithoutPause } from "./pace.ts";
import { settingsFor, taskOf } from "./sensors.ts";
import { batchSize, Serving } from "./serving.ts";
import type { ServedModel } from "./training-rate.ts";
import { inTurns } from "./turns.ts";

export interface BesideOptions {
  readonly models: readonly ServedModel[];
  readonly rounds: number;
  readonly isQuick: boolean;
}

/** Of what the engine can do alone: a worker that is busy, with room for bursts. */
const load = 0.6;
/** Two more than a thread has in hand, so that it never waits for the event loop. */
const batchesAtOnce = 4;
const loopResolutionMs = 1;

export async function measureBeside({ models, rounds, isQuick }: BesideOptions): Promise<Section> {
  const serving = await Serving.open(models, isQuick ? 4 : 12);
  const trainers: Readonly<Record<Condition, ModelTrainer | null>> = {
    alone: null,
    lowered: await openTrainingThreads({ setup: { kind: "simd" }, threads: 1 }),
    normal: openNormalPriorityThread(),
  };
  const names: readonly Condition[] = ["alone", "lowered", "normal"];
  await verify(serving, Object.values(trainers));
  const rushMs = isQuick ? 500 : 1_500;
  const capacity = await rush(serving, 2 * rushMs);
  const everyMs = (1000 * batchSize) / (load * capacity);
  const times = Math.ceil((isQuick ? 1_500 : 4_000) / everyMs);
  const facts = await inTurns(names, rounds, (name) =>
    besideTraining(trainers[name], () => measure(serving, { rushMs, everyMs, times })),
  );
  for (const trainer of Object.values(trainers)) await trainer?.close();
  await serving.close();
  const { threads, models: served } = serving;
  return besideSection(facts, { threads, served, rounds, load, perSecond: load * capacity });
}

async function besideTraining<T>(trainer: ModelTrainer | null, act: () => Promise<T>): Promise<T> {
  if (trainer === null) return act();
  const training = trainWithoutPause(trainer, (number) => taskOf(settingsFor(24), "quick", number));
  try {
    return await act();
  } finally {
    await training.stop();
  }
}

/** Whatever goes on beside them, forecasts are the same to the last bit. Warms up all threads, too. */
async function verify(serving: Serving, trainers: readonly (ModelTrainer | null)[]): Promise<void> {
  const expected = await serving.forecastAll();
  for (const trainer of trainers) {
    await trainer?.train([taskOf(settingsFor(24), "quick", 99)], new AbortController().signal);
    const found = await besideTraining(trainer, () => serving.forecastAll());
    if (!found.every((value, i) => Number.isFinite(value) && value === expected[i])) {
      throw new Error("forecasts made beside a training differ from those made alone");
    }
  }
}

async function rush(serving: Serving, forMs: number): Promise<number> {
  return batchSize * (await askWithoutPause(askOf(serving), { atOnce: batchesAtOnce, forMs }));
}

function askOf(serving: Serving): (time: number) => Promise<void> {
  return async (time) => {
    await serving.forecast(time);
  };
}

interface Timing {
  readonly rushMs: number;
  readonly everyMs: number;
  readonly times: number;
}

async function measure(serving: Serving, { rushMs, everyMs, times }: Timing): Promise<Facts> {
  const perSecond = await rush(serving, rushMs);
  const loop = monitorEventLoopDelay({ resolution: loopResolutionMs });
  loop.enable();
  const beginMs = performance.now();
  const beginCpu = process.cpuUsage();
  const waitsMs = await askSteadily(askOf(serving), { everyMs, times });
  const { user, system } = process.cpuUsage(beginCpu);
  const wallMs = performance.now() - beginMs;
  loop.disable();
  return {
    ...{ perSecond, p50Ms: quantile(waitsMs, 0.5), p99Ms: quantile(waitsMs, 0.99) },
    // It tells how long the timer took; what was asked of it is no delay.
    loopP99Ms: Math.max(0, loop.percentile(99) / 1e6 - loopResolutionMs),
    cores: (user + system) / 1000 / wallMs,
  };
}
