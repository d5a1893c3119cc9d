// Models for a simulated fleet: one is trained on the past that all its series have, and every series gets it under its own key.

import type { Outgoing } from "../../src/domain.ts";
import { modelRecordCodec, toModelRecord } from "../../src/log/codec/model-record.ts";
import { storedFamilies } from "../../src/models/families.ts";
import type { Effort, TrainedModel } from "../../src/models/family.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import type { ModelTrainer } from "../../src/training/training-task.ts";
import { settingsFor, taskOf } from "../retrain/sensors.ts";
import { type Fleet, interval, seriesIdOf, timeOf, valueAt } from "./fleet.ts";

export interface FleetModel {
  readonly family: string;
  readonly effort: Effort;
  /** Steps of the past that it is trained on. */
  readonly steps: number;
}

export async function trainFleetModel(
  trainer: ModelTrainer,
  { family, effort, steps }: FleetModel,
): Promise<TrainedModel> {
  const task = taskOf(settingsFor(24, family), effort, 0);
  const values = Float64Array.from({ length: steps }, (_, step) => valueAt(step, 0));
  const histories = [{ ...task.histories[0], interval, firstTimeMs: timeOf(0), values }];
  const [result] = await trainer.train([{ ...task, histories }], new AbortController().signal);
  if (result.outcome !== "trained") throw new Error(`training the fleet's model ended as ${result.outcome}`);
  return result.challengers[0];
}

/** The records of the models topic. */
export function* modelRecords(fleet: Fleet, topic: string, trained: TrainedModel): Generator<Outgoing> {
  const facts = { requestId: null, trainedAtMs: systemClock.nowMs() };
  for (let number = 0; number < fleet.series; number++) {
    const key = seriesIdOf(number);
    const record = toModelRecord({ ...trained, model: { ...trained.model, key } }, facts, storedFamilies);
    const value = modelRecordCodec.encode(record);
    yield { topic, partition: number % fleet.partitions, key: Buffer.from(key), value };
  }
}
