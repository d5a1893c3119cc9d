// Topics of workers and trainers in tests, on the embedded log.

import type { Log, TopicSpec } from "../../../src/log/log.ts";
import { createMemoryLog } from "../../../src/log/memory-log.ts";
import type { LargestRecords } from "../../../src/log/topic-check.ts";
import * as check from "../../../src/log/topic-check.ts";

export const names = {
  inputs: ["a", "b"],
  forecasts: "forecasts",
  state: "state",
  models: "models",
  deadLetters: "dead",
  events: "events",
  training: "training",
  attempts: "attempts",
};
export const largest: LargestRecords = {
  forecast: { leastBytes: 20_000, mostBytes: 900_000, what: "a forecast" },
  state: { leastBytes: 5_000, mostBytes: 800_000, what: "a series" },
  deadLetter: { leastBytes: 16_384, mostBytes: 1_000_000, what: "a dead letter" },
};
export const checkTopics = (log: Log, given: typeof names, mayCreate: boolean) =>
  check.checkTopics(log, given, mayCreate, largest);
export const checkTrainerTopics = (log: Log, given: typeof names, mayCreate: boolean) =>
  check.checkTrainerTopics(log, given, mayCreate, largest.deadLetter);

export const roomy = { "max.message.bytes": "6000000" };
export const plain = (topic: string, partitions: number): TopicSpec => ({
  topic,
  partitions,
  compacted: false,
});
export const table = (topic: string, partitions = 5): TopicSpec => ({ topic, partitions, compacted: true });
export const inputs = [plain("a", 2), plain("b", 5)];
export const models = { ...table("models"), settings: roomy };
export const training = { ...plain("training", 5), settings: roomy };

export async function logWith(...topics: readonly TopicSpec[]) {
  const log = createMemoryLog();
  await log.createTopics(topics);
  return log;
}
