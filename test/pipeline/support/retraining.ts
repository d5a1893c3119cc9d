// Shared by the tests of retraining: a fleet that really trains, series that follow laws, and the events written.

import type { TestContext } from "node:test";
import { openInProcessEngine } from "../../../src/engine/in-process-engine.ts";
import { avroCodec } from "../../../src/log/codec/avro.ts";
import type { ModelEventRecord } from "../../../src/log/codec/schemas.generated.ts";
import type { Families } from "../../../src/models/families.ts";
import type { TrainedModel } from "../../../src/models/family.ts";
import type { Engine } from "../../../src/models/forecastnet/engine.ts";
import { createRandom } from "../../../src/runtime/random.ts";
import { createInProcessTrainer } from "../../../src/training/in-process-trainer.ts";
import type { ModelTrainer, TrainingTask } from "../../../src/training/training-task.ts";
import { Fleet, type FleetOptions } from "./fleet.ts";
import { at } from "./readings.ts";

export const horizon = 6;

const settings = {
  ...{ "series.horizon": horizon, "series.season": 6, "series.history": 240, "series.gapMax": 3 },
  ...{ "output.levels": [0.025, 0.1, 0.5, 0.9, 0.975], "engine.paths": 32 },
  ...{ "retrain.where": "worker", "retrain.effort": "quick", "retrain.members": 1, "retrain.inFlight": 100 },
  ...{ "retrain.cooldownSteps": 24, "retrain.evidenceSteps": 24, "retrain.rollingSteps": 18 },
  "retrain.maxAgeHours": 0,
};

/** The product's arithmetic without its threads: what a test asks for is done when it looks. */
export const openEngine = (): Promise<Engine> => openInProcessEngine({ kind: "simd" });

/** Trains in process. A test can change the task before the training, and each challenger after it. */
export function trainerWith({
  blind = (task) => task,
  tamper = (trained) => trained,
}: {
  readonly blind?: (task: TrainingTask) => TrainingTask;
  readonly tamper?: (trained: TrainedModel) => TrainedModel;
} = {}): (families: Families) => Promise<ModelTrainer> {
  return async (families) => {
    const trainer = createInProcessTrainer(families);
    return {
      ...trainer,
      train: async (tasks, signal) => {
        const results = await trainer.train(tasks.map(blind), signal);
        return results.map((result) =>
          result.outcome === "trained" ? { ...result, challengers: result.challengers.map(tamper) } : result,
        );
      },
    };
  };
}

export function retrainingFleet(t: TestContext, options: FleetOptions = {}): Fleet {
  const given = { openEngine, openTrainer: trainerWith(), ...options };
  return Fleet.openFor(t, { ...given, settings: { ...settings, ...options.settings } });
}

const eventCodec = avroCodec("ModelEvent");

/** The decisions about one model, or about all. */
export async function eventsOf(fleet: Fleet, modelKey?: string): Promise<readonly ModelEventRecord[]> {
  const all = (await fleet.read("forecastnet.events")).map(({ value }) => eventCodec.decode(value as Buffer));
  return all.filter((event) => modelKey === undefined || event.modelKey === modelKey);
}

export const kindsOf = (events: readonly ModelEventRecord[]) => events.map(({ kind }) => kind);

/** The value of a series at an hour. */
export type Law = (hour: number) => number;

export function wave(amplitude: number, period: number): Law {
  return (hour) => 10 + amplitude * Math.sin((2 * Math.PI * hour) / period);
}

/** Adds noise; the same seed and hour give the same noise. */
export function noisy(law: Law, size: number, seed: number): Law {
  const random = createRandom(seed);
  const noise = Array.from({ length: 2_000 }, () => size * random.normal());
  return (hour) => law(hour) + noise[hour];
}

/** Feeds the series hour by hour; the schedule comes round once per horizon. */
export async function feed(
  fleet: Fleet,
  laws: Readonly<Record<string, Law>>,
  from: number,
  to: number,
): Promise<void> {
  const series = Object.entries(laws);
  for (let hour = from; hour < to; hour++) {
    await fleet.play(...series.map(([id, law]) => at(id, hour, law(hour))));
    if (hour % horizon === horizon - 1) await fleet.play("settle", "turn");
  }
  await fleet.play("settle");
}
