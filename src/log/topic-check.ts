// Checks, before anything is read, that the topics are there and fit for their duty. Creates our own where
// allowed. All problems are told at once, each with what to do; they are waited out, since somebody may be at it.

import { ForecastnetError } from "../runtime/errors.ts";
import type { Log, TopicFacts } from "./log.ts";
import {
  describeMissing,
  type OwnTopic,
  type OwnTopicNames,
  ownTopics,
  problemsOf,
  type TrainerTopicNames,
  trainerTopics,
} from "./own-topics.ts";

export interface TopicNames extends OwnTopicNames {
  readonly inputs: readonly string[];
}

/** Partition counts as a trainer finds them. */
export interface TrainerTopics {
  readonly trainingPartitions: number;
  readonly eventPartitions: number;
  readonly deadLetterPartitions: number;
}

/** Partition counts, as found or as created. */
export interface CheckedTopics extends TrainerTopics {
  /** The number of partitions to own: the largest count among the inputs. */
  readonly partitions: number;
  readonly forecastPartitions: number;
  /** The largest record that the models topic takes, and the training topic. */
  readonly modelBytes: number;
  readonly trainingBytes: number;
}

type FactsByTopic = ReadonlyMap<string, TopicFacts>;

export async function checkTopics(log: Log, names: TopicNames, mayCreate: boolean): Promise<CheckedTopics> {
  const inputs = await factsOf(log, names.inputs);
  const missing = names.inputs.filter((topic) => !inputs.has(topic));
  demandNone(missing.map((topic) => `input topic ${topic} does not exist: create it first`));
  const partitions = Math.max(...[...inputs.values()].map((facts) => facts.partitions));
  const ours = ownTopics(names, partitions);
  const found = mayCreate ? await createMissing(log, ours) : await factsOf(log, topicsOf(ours));
  const absent = ours.filter(({ topic }) => !found.has(topic)).map(describeMissing);
  const unfit = unfitOf(ours, found, names.inputs.join(", "));
  demandNone([...absent, ...unfit]);
  const mostBytes = (topic: string) => found.get(topic)?.maxMessageBytes ?? 0;
  return {
    ...{ partitions, forecastPartitions: widthOf(found, names.forecasts), ...widths(found, names) },
    ...{ modelBytes: mostBytes(names.models), trainingBytes: mostBytes(names.training) },
  };
}

/**
 * For a trainer. It knows no inputs, so it cannot say how wide a topic must be and creates none; where workers may
 * (`mayCreate`), the trainer may have started before them.
 */
export async function checkTrainerTopics(
  log: Log,
  names: TrainerTopicNames,
  mayCreate: boolean,
): Promise<TrainerTopics> {
  const found = await factsOf(log, topicsOf(trainerTopics(names, 0)));
  const ours = trainerTopics(names, widthOf(found, names.training));
  const absent = topicsOf(ours).filter((topic) => !found.has(topic));
  if (absent.length > 0) {
    const them = `topic ${absent.join(", ")} does not exist`;
    demandNone([
      mayCreate
        ? `${them} yet: a worker creates it when it starts`
        : `${them}: create it as a worker asks for it when it starts, or set kafka.createTopics for the workers`,
    ]);
  }
  demandNone(unfitOf(ours, found, names.training));
  return widths(found, names);
}

function demandNone(problems: readonly string[]): void {
  if (problems.length > 0) throw new ForecastnetError("TOPIC_AWAITED", problems.join("; "));
}

function unfitOf(ours: readonly OwnTopic[], found: FactsByTopic, model: string): string[] {
  return ours.flatMap((own) => {
    const facts = found.get(own.topic);
    return facts === undefined ? [] : problemsOf(own, facts, model);
  });
}

function widths(found: FactsByTopic, names: TrainerTopicNames): TrainerTopics {
  return {
    trainingPartitions: widthOf(found, names.training),
    eventPartitions: widthOf(found, names.events),
    deadLetterPartitions: widthOf(found, names.deadLetters),
  };
}

function widthOf(found: FactsByTopic, topic: string): number {
  return found.get(topic)?.partitions ?? 0;
}

function topicsOf(specs: readonly OwnTopic[]): string[] {
  return specs.map(({ topic }) => topic);
}

async function factsOf(log: Log, topics: readonly string[]): Promise<FactsByTopic> {
  return new Map((await log.describeTopics(topics)).map((facts) => [facts.topic, facts]));
}

async function createMissing(log: Log, specs: readonly OwnTopic[]): Promise<FactsByTopic> {
  const found = await factsOf(log, topicsOf(specs));
  const missing = specs.filter(({ topic }) => !found.has(topic));
  if (missing.length === 0) return found;
  await log.createTopics(missing);
  return factsOf(log, topicsOf(specs));
}
