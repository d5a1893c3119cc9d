// The topics that are ours, and the check that all topics exist and fit before anything is read. Where allowed, the
// check creates our own topics and widens those that an input has outgrown.
//
// Topics that we read back by partition number must be as wide as the inputs; topics that we only write may have any
// width. A problem keeps a process from starting: all problems are reported together, each with its remedy, and the
// process waits for somebody to fix them. A risk is reported as a warning, and the process starts.

import { ForecastnetError } from "../runtime/errors.ts";
import type { Log, TopicFacts, TopicSpec } from "./log.ts";
import { tableUpkeep, upkeepWarningOf } from "./table-upkeep.ts";

export interface TopicNames extends OwnTopicNames {
  readonly inputs: readonly string[];
}

/** Partition counts and limits that a trainer needs. */
export interface TrainerTopics {
  readonly trainingPartitions: number;
  readonly eventPartitions: number;
  readonly deadLetterPartitions: number;
  /** Risks of the topics as they are, one sentence each. */
  readonly warnings: readonly string[];
  /** The largest record that the dead-letter topic accepts. */
  readonly deadLetterBytes: number;
}

/** Partition counts and limits that a worker needs, as found or created. */
export interface CheckedTopics extends TrainerTopics {
  /** The number of partitions to own: that of the widest input. */
  readonly partitions: number;
  readonly partitionsByInput: ReadonlyMap<string, number>;
  readonly forecastPartitions: number;
  /** The largest records that the models topic and the training topic accept. */
  readonly modelBytes: number;
  readonly trainingBytes: number;
}

type FactsByTopic = ReadonlyMap<string, TopicFacts>;

export async function checkTopics(
  log: Log,
  names: TopicNames,
  mayCreate: boolean,
  largest: LargestRecords,
): Promise<CheckedTopics> {
  const inputs = await factsOf(log, names.inputs);
  const missing = names.inputs.filter((topic) => !inputs.has(topic));
  throwIfAny(missing.map((topic) => `input topic ${topic} does not exist: create it first`));
  const partitionsByInput = new Map([...inputs].map(([topic, facts]) => [topic, facts.partitions]));
  const partitions = Math.max(...partitionsByInput.values());
  const ours = ownTopics(names, partitions, largest);
  const found = mayCreate ? await provide(log, ours) : await factsOf(log, topicsOf(ours));
  const absent = ours.filter(({ topic }) => !found.has(topic)).map(describeMissing);
  throwIfAny([...absent, ...problemsOf(ours, found, names.inputs.join(", "))]);
  const mostBytes = (topic: string) => found.get(topic)?.maxMessageBytes ?? 0;
  const warnings = [
    ...[...inputs.values()].filter(({ compacted }) => compacted).map(compactedInput),
    ...replicationWarnings([...inputs.values(), ...found.values()]),
    ...roomWarnings(ours, found),
    ...upkeepWarnings(ours, found),
  ];
  return {
    partitions,
    partitionsByInput,
    forecastPartitions: widthOf(found, names.forecasts),
    ...widths(found, names),
    warnings,
    modelBytes: mostBytes(names.models),
    trainingBytes: mostBytes(names.training),
  };
}

/**
 * The check of a trainer. A trainer knows no inputs, and thus not how wide a topic must be, so it creates none. If
 * workers may create topics (`mayCreate`), the trainer may simply have started before them.
 */
export async function checkTrainerTopics(
  log: Log,
  names: TrainerTopicNames,
  mayCreate: boolean,
  deadLetter: Room,
): Promise<TrainerTopics> {
  const found = await factsOf(log, topicsOf(trainerTopics(names, 0, deadLetter)));
  const ours = trainerTopics(names, widthOf(found, names.training), deadLetter);
  const absent = topicsOf(ours).filter((topic) => !found.has(topic));
  if (absent.length > 0) {
    const them = `topic ${absent.join(", ")} does not exist`;
    throwIfAny([
      mayCreate
        ? `${them} yet: a worker creates it when it starts`
        : `${them}: create it as a worker requests at its start, or set kafka.createTopics for the workers`,
    ]);
  }
  throwIfAny(problemsOf(ours, found, names.training));
  const warnings = [
    ...replicationWarnings([...found.values()]),
    ...roomWarnings(ours, found),
    ...upkeepWarnings(ours, found),
  ];
  return { ...widths(found, names), warnings };
}

function throwIfAny(problems: readonly string[]): void {
  if (problems.length > 0) throw new ForecastnetError("TOPIC_AWAITED", problems.join("; "));
}

function problemsOf(ours: readonly OwnTopic[], found: FactsByTopic, inputs: string): string[] {
  return ours.flatMap((own) => {
    const facts = found.get(own.topic);
    if (facts === undefined) return [];
    const width = widthProblemOf(own, facts, inputs);
    return [...(width === null ? [] : [width]), ...unfitnessOf(own, facts)];
  });
}

function roomWarnings(ours: readonly OwnTopic[], found: FactsByTopic): string[] {
  return warningsOf(ours, found, roomWarningOf);
}

/** Of the topics that are restored. */
function upkeepWarnings(ours: readonly OwnTopic[], found: FactsByTopic): string[] {
  const tables = ours.filter(({ compacted }) => compacted);
  return warningsOf(tables, found, (_, facts) => upkeepWarningOf(facts));
}

function warningsOf(
  ours: readonly OwnTopic[],
  found: FactsByTopic,
  warningOf: (own: OwnTopic, facts: TopicFacts) => string | null,
): string[] {
  return ours.flatMap((own) => {
    const facts = found.get(own.topic);
    const warning = facts === undefined ? null : warningOf(own, facts);
    return warning === null ? [] : [warning];
  });
}

function compactedInput({ topic, cleanupPolicy }: TopicFacts): string {
  return (
    `input topic ${topic} has cleanup.policy=${cleanupPolicy}: compaction may remove all but the newest observation of ` +
    "a key before they are read; use delete"
  );
}

function widths(found: FactsByTopic, names: TrainerTopicNames): Omit<TrainerTopics, "warnings"> {
  return {
    trainingPartitions: widthOf(found, names.training),
    eventPartitions: widthOf(found, names.events),
    deadLetterPartitions: widthOf(found, names.deadLetters),
    deadLetterBytes: found.get(names.deadLetters)?.maxMessageBytes ?? 0,
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

/** Creates missing topics and widens those that are too narrow. Leaves topics that are unfit for other reasons. */
async function provide(log: Log, specs: readonly OwnTopic[]): Promise<FactsByTopic> {
  const found = await factsOf(log, topicsOf(specs));
  const missing = specs.filter(({ topic }) => !found.has(topic));
  const narrow = specs.filter((own) => {
    const facts = found.get(own.topic);
    if (facts === undefined || !own.isCoPartitioned || facts.partitions >= own.partitions) return false;
    return unfitnessOf(own, facts).length === 0;
  });
  if (missing.length + narrow.length === 0) return found;
  if (missing.length > 0) await log.createTopics(missing);
  // In the order of `specs`, which matters to trainers.
  for (const { topic, partitions } of narrow) await log.addPartitions(topic, partitions);
  return factsOf(log, topicsOf(specs));
}

const MEBIBYTE = 1024 * 1024;
/** A broker's default for max.message.bytes. */
const BROKER_MAX_MESSAGE_BYTES = MEBIBYTE;
/** Room for our largest records: the weights of a model. */
const OUR_MAX_MESSAGE_BYTES = 16 * MEBIBYTE;
/** A model of four nets that see eight days of hourly values has 4.7 MB together with its predecessor. */
const MODEL_BYTES = 5 * MEBIBYTE;
/** A decision with its reason and numbers, or a training attempt. */
const NOTE_BYTES = 64 * 1024;

export interface OwnTopicNames {
  readonly forecasts: string;
  readonly state: string;
  readonly models: string;
  readonly deadLetters: string;
  readonly events: string;
  readonly training: string;
  readonly attempts: string;
}

/** The topics that a trainer reads or writes. */
export type TrainerTopicNames = Pick<
  OwnTopicNames,
  "models" | "deadLetters" | "events" | "training" | "attempts"
>;

/** The record size that a topic has to accept. */
export interface Room {
  /** With less, no series can be served. */
  readonly leastBytes: number;
  /** The largest record within the limits of the configuration. */
  readonly mostBytes: number;
  /** What kind of record is that large, and which settings decide its size. */
  readonly what: string;
}

/** The room that the configuration needs, by kind of record. */
export interface LargestRecords {
  readonly forecast: Room;
  readonly state: Room;
  readonly deadLetter: Room;
}

export interface OwnTopic extends TopicSpec, Room {
  /** Partition p belongs to input partition p. */
  readonly isCoPartitioned: boolean;
  /** The topic must keep the cleanup policy that it is created with. */
  readonly isPolicyFixed: boolean;
}

const stream = { compacted: false, isCoPartitioned: false, isPolicyFixed: false };
const table = { compacted: true, isCoPartitioned: true, isPolicyFixed: true };
const queue = { compacted: false, isCoPartitioned: true, isPolicyFixed: true };
// Not compacted: input records may have no key, and a compacted topic refuses records without a key.
const letters = { compacted: false, isCoPartitioned: false, isPolicyFixed: true };

const model: Room = { leastBytes: MODEL_BYTES, mostBytes: MODEL_BYTES, what: "a model and its predecessor" };
const note: Room = { leastBytes: NOTE_BYTES, mostBytes: NOTE_BYTES, what: "a decision with its reasons" };

function tableSettings(mostBytes: number): Readonly<Record<string, string>> {
  const room = largeRecords(mostBytes);
  return { ...room, ...tableUpkeep(Number(room["max.message.bytes"])) };
}

function largeRecords(mostBytes: number): { readonly "max.message.bytes": string } {
  return { "max.message.bytes": String(roomFor(mostBytes, OUR_MAX_MESSAGE_BYTES)) };
}

/** Rounded up to whole mebibytes. */
function roomFor(mostBytes: number, usual: number): number {
  return Math.max(usual, Math.ceil(mostBytes / MEBIBYTE) * MEBIBYTE);
}

export function ownTopics(
  names: OwnTopicNames,
  partitions: number,
  largest: LargestRecords,
): readonly OwnTopic[] {
  const { forecast, state, deadLetter } = largest;
  const hasLarge = forecast.mostBytes > BROKER_MAX_MESSAGE_BYTES;
  const forecastRoom = { "max.message.bytes": String(roomFor(forecast.mostBytes, BROKER_MAX_MESSAGE_BYTES)) };
  return [
    {
      topic: names.forecasts,
      partitions,
      ...stream,
      ...forecast,
      ...(hasLarge && { settings: forecastRoom }),
    },
    { topic: names.state, partitions, ...table, ...state, settings: tableSettings(state.mostBytes) },
    ...trainerTopics(names, partitions, deadLetter),
  ];
}

/** The training topic comes last, so that a trainer that sees a new partition of it finds the others widened. */
export function trainerTopics(
  names: TrainerTopicNames,
  partitions: number,
  deadLetter: Room,
): readonly OwnTopic[] {
  const letterSettings = largeRecords(deadLetter.mostBytes);
  return [
    { topic: names.models, partitions, ...table, ...model, settings: tableSettings(MODEL_BYTES) },
    { topic: names.deadLetters, partitions, ...letters, ...deadLetter, settings: letterSettings },
    { topic: names.events, partitions, ...stream, ...note },
    { topic: names.attempts, partitions, ...table, ...note, settings: tableSettings(NOTE_BYTES) },
    { topic: names.training, partitions, ...queue, ...model, settings: largeRecords(MODEL_BYTES) },
  ];
}

function describeMissing({ topic, partitions, compacted, mostBytes }: OwnTopic): string {
  const policy = compacted ? ", cleanup.policy=compact" : "";
  const isLarge = mostBytes > BROKER_MAX_MESSAGE_BYTES;
  const room = isLarge ? `, max.message.bytes=${roomFor(mostBytes, OUR_MAX_MESSAGE_BYTES)}` : "";
  return `topic ${topic} does not exist: create it (${partitions} partitions${policy}${room}) or set kafka.createTopics`;
}

/** What makes the topic unfit, apart from its width. */
function unfitnessOf(own: OwnTopic, facts: TopicFacts): string[] {
  const { topic, compacted, isPolicyFixed, leastBytes } = own;
  const problems: string[] = [];
  const isPolicyFit = compacted ? facts.cleanupPolicy === "compact" : !facts.compacted;
  if (isPolicyFixed && !isPolicyFit) {
    const policy = compacted ? "compact" : "delete";
    const why = compacted ? "so that only outdated values are removed" : "so that every record is kept";
    problems.push(
      `topic ${topic} has cleanup.policy=${facts.cleanupPolicy} and must have exactly ${policy}, ${why}: ` +
        alterTopic(topic, `cleanup.policy=${policy}`),
    );
  }
  if (facts.maxMessageBytes < leastBytes) problems.push(tooSmall(own, facts, leastBytes));
  return problems;
}

/** `inputs` names the topics that determine the width. */
function widthProblemOf(own: OwnTopic, facts: TopicFacts, inputs: string): string | null {
  const { topic, partitions, isCoPartitioned } = own;
  if (!isCoPartitioned || facts.partitions === partitions) return null;
  const problem = `topic ${topic} has ${facts.partitions} partitions and must have ${partitions}, as many as ${inputs}`;
  if (facts.partitions > partitions) return problem;
  return (
    `${problem}: kafka-topics --alter --topic ${topic} --partitions ${partitions}, ` +
    "or `forecastnet topics create`, or set kafka.createTopics"
  );
}

/** A warning if a record within the limits of the configuration may be larger than the topic accepts. */
function roomWarningOf(own: OwnTopic, facts: TopicFacts): string | null {
  if (facts.maxMessageBytes < own.leastBytes || facts.maxMessageBytes >= own.mostBytes) return null;
  return tooSmall(own, facts, own.mostBytes);
}

function tooSmall({ topic, mostBytes, what }: OwnTopic, facts: TopicFacts, bytes: number): string {
  const raised = roomFor(mostBytes, OUR_MAX_MESSAGE_BYTES);
  return (
    `topic ${topic} has max.message.bytes=${facts.maxMessageBytes} and needs ${bytes}, room for ${what}: ` +
    alterTopic(topic, `max.message.bytes=${raised}`)
  );
}

function alterTopic(topic: string, setting: string): string {
  return `kafka-configs --alter --entity-type topics --entity-name ${topic} --add-config ${setting}`;
}

/** Risks that records are lost or writes stop when brokers fail. One line per kind of risk. */
export function replicationWarnings(topics: readonly TopicFacts[]): string[] {
  const warn = (isAtRisk: (facts: TopicFacts) => boolean, risk: string) => {
    const names = topics.filter(isAtRisk).map(({ topic }) => topic);
    return names.length === 0 ? [] : [`${names.length > 1 ? "topics" : "topic"} ${names.join(", ")} ${risk}`];
  };
  return [
    ...warn(
      ({ replicationFactor }) => replicationFactor < 3,
      "with a replication factor below 3: the loss of a broker may stop writes or lose records; use 3, with " +
        "min.insync.replicas=2",
    ),
    ...warn(
      ({ replicationFactor, minInsyncReplicas }) => replicationFactor >= 3 && minInsyncReplicas < 2,
      "with min.insync.replicas below 2: a record counts as written when only one broker has it, and is lost with that " +
        "broker; use 2",
    ),
    ...warn(
      ({ replicationFactor, minInsyncReplicas }) =>
        replicationFactor >= 2 && minInsyncReplicas >= replicationFactor,
      "with min.insync.replicas equal to the replication factor: no write succeeds while one broker is down; use one less",
    ),
  ];
}
