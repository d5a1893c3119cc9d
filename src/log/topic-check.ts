// Checks, before anything is read, that the topics are there and fit for their duty. Creates our own where
// allowed. All problems are told at once, each with what to do.

import { ForecastnetError } from "../runtime/errors.ts";
import type { Log, TopicFacts, TopicSpec } from "./log.ts";

/** Room for the largest records of ours: a model's weights. */
const OUR_MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

export interface TopicNames {
  readonly inputs: readonly string[];
  readonly forecasts: string;
  readonly state: string;
  readonly models: string;
  readonly deadLetters: string;
}

/** Partition counts, as found or as created. */
export interface CheckedTopics {
  /** The number of partitions to own: the largest count among the inputs. */
  readonly partitions: number;
  readonly forecastPartitions: number;
  readonly deadLetterPartitions: number;
}

export async function checkTopics(log: Log, names: TopicNames, mayCreate: boolean): Promise<CheckedTopics> {
  const inputs = await factsOf(log, names.inputs);
  const missing = names.inputs.filter((topic) => !inputs.has(topic));
  if (missing.length > 0) {
    throw new ForecastnetError(
      "TOPIC_MISSING",
      `input topic ${missing.join(", ")} does not exist: create it first`,
    );
  }
  const partitions = Math.max(...[...inputs.values()].map((facts) => facts.partitions));
  const ours: readonly TopicSpec[] = [
    { topic: names.forecasts, partitions, compacted: false },
    { topic: names.state, partitions, compacted: true, settings: tableSettings },
    { topic: names.models, partitions, compacted: true, settings: tableSettings },
    { topic: names.deadLetters, partitions, compacted: false, settings: largeRecords },
  ];
  const found = mayCreate
    ? await createMissing(log, ours)
    : await factsOf(
        log,
        ours.map(({ topic }) => topic),
      );
  const problems = [
    ...ours.filter(({ topic }) => !found.has(topic)).map(describeMissing),
    ...[names.state, names.models].flatMap((table) =>
      problemsOfTable(found.get(table), partitions, names.inputs),
    ),
  ];
  if (problems.length > 0) {
    const code = found.size < ours.length ? "TOPIC_MISSING" : "TOPIC_UNFIT";
    throw new ForecastnetError(code, problems.join("; "));
  }
  return {
    partitions,
    forecastPartitions: found.get(names.forecasts)?.partitions ?? partitions,
    deadLetterPartitions: found.get(names.deadLetters)?.partitions ?? partitions,
  };
}

const largeRecords = { "max.message.bytes": String(OUR_MAX_MESSAGE_BYTES) };
// Small segments: a restore reads what compaction has not yet removed.
const tableSettings = {
  ...largeRecords,
  "segment.bytes": String(64 * 1024 * 1024),
  "min.cleanable.dirty.ratio": "0.1",
};

async function factsOf(log: Log, topics: readonly string[]): Promise<Map<string, TopicFacts>> {
  return new Map((await log.describeTopics(topics)).map((facts) => [facts.topic, facts]));
}

async function createMissing(log: Log, specs: readonly TopicSpec[]): Promise<Map<string, TopicFacts>> {
  const topics = specs.map(({ topic }) => topic);
  const found = await factsOf(log, topics);
  const missing = specs.filter(({ topic }) => !found.has(topic));
  if (missing.length === 0) return found;
  await log.createTopics(missing);
  return factsOf(log, topics);
}

function describeMissing({ topic, partitions, compacted }: TopicSpec): string {
  const policy = compacted ? ", cleanup.policy=compact" : "";
  return `topic ${topic} does not exist: create it (${partitions} partitions${policy}) or set kafka.createTopics`;
}

function problemsOfTable(
  facts: TopicFacts | undefined,
  partitions: number,
  inputs: readonly string[],
): string[] {
  if (facts === undefined) return [];
  const problems: string[] = [];
  if (facts.partitions !== partitions) {
    problems.push(
      `topic ${facts.topic} has ${facts.partitions} partitions and must have ${partitions}, as many as ${inputs.join(", ")}`,
    );
  }
  if (!facts.compacted)
    problems.push(`topic ${facts.topic} is not compacted: set cleanup.policy=compact on it`);
  return problems;
}
