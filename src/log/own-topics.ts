// The topics that are ours: how each is created, and what it must be like to serve. Those that we read back by
// partition number must be as wide as the inputs; what we only write may have any width.

import type { TopicFacts, TopicSpec } from "./log.ts";

const MEBIBYTE = 1024 * 1024;
/** Room for the largest records of ours: a model's weights. */
const OUR_MAX_MESSAGE_BYTES = 16 * MEBIBYTE;
/** A model of four nets that see eight days of hours, together with its predecessor, has 4.7 MB. */
const MODEL_BYTES = 5 * MEBIBYTE;

export interface OwnTopicNames {
  readonly forecasts: string;
  readonly state: string;
  readonly models: string;
  readonly deadLetters: string;
  readonly events: string;
  readonly training: string;
  readonly attempts: string;
}

/** Those of them that a trainer reads or writes. */
export type TrainerTopicNames = Pick<
  OwnTopicNames,
  "models" | "deadLetters" | "events" | "training" | "attempts"
>;

export interface OwnTopic extends TopicSpec {
  /** Whether partition p belongs to input partition p. */
  readonly isCoPartitioned: boolean;
  /** The least max.message.bytes it may have. */
  readonly leastMessageBytes: number;
}

const largeRecords = { "max.message.bytes": String(OUR_MAX_MESSAGE_BYTES) };
// Small segments: a restore reads what compaction has not yet removed.
const tableSettings = {
  ...largeRecords,
  "segment.bytes": String(64 * MEBIBYTE),
  "min.cleanable.dirty.ratio": "0.1",
};

const stream = { compacted: false, isCoPartitioned: false, leastMessageBytes: 0 };
const table = { compacted: true, isCoPartitioned: true, leastMessageBytes: 0, settings: tableSettings };

export function ownTopics(names: OwnTopicNames, partitions: number): readonly OwnTopic[] {
  return [
    { topic: names.forecasts, partitions, ...stream },
    { topic: names.state, partitions, ...table },
    ...trainerTopics(names, partitions),
  ];
}

export function trainerTopics(names: TrainerTopicNames, partitions: number): readonly OwnTopic[] {
  const queue = { ...stream, isCoPartitioned: true, settings: largeRecords };
  return [
    { topic: names.models, partitions, ...table, leastMessageBytes: MODEL_BYTES },
    { topic: names.deadLetters, partitions, ...stream, settings: largeRecords },
    { topic: names.events, partitions, ...stream },
    { topic: names.training, partitions, ...queue, leastMessageBytes: MODEL_BYTES },
    { topic: names.attempts, partitions, ...table },
  ];
}

export function describeMissing({ topic, partitions, compacted, leastMessageBytes }: OwnTopic): string {
  const policy = compacted ? ", cleanup.policy=compact" : "";
  const room = leastMessageBytes > 0 ? `, max.message.bytes=${OUR_MAX_MESSAGE_BYTES}` : "";
  return `topic ${topic} does not exist: create it (${partitions} partitions${policy}${room}) or set kafka.createTopics`;
}

/** `model` names what the topic must be as wide as. */
export function problemsOf(own: OwnTopic, facts: TopicFacts, model: string): string[] {
  const { topic, partitions, compacted, isCoPartitioned, leastMessageBytes } = own;
  const problems: string[] = [];
  if (isCoPartitioned && facts.partitions !== partitions) {
    problems.push(
      `topic ${topic} has ${facts.partitions} partitions and must have ${partitions}, as many as ${model}`,
    );
  }
  if (isCoPartitioned && facts.compacted !== compacted) {
    const [is, policy] = compacted ? ["is not", "compact"] : ["is", "delete"];
    problems.push(`topic ${topic} ${is} compacted: set cleanup.policy=${policy} on it`);
  }
  if (facts.maxMessageBytes < leastMessageBytes) {
    const alter = `kafka-configs --alter --entity-type topics --entity-name ${topic}`;
    problems.push(
      `topic ${topic} has max.message.bytes=${facts.maxMessageBytes} and must have at least ${leastMessageBytes}, ` +
        `room for a model and its predecessor: ${alter} --add-config max.message.bytes=${OUR_MAX_MESSAGE_BYTES}`,
    );
  }
  return problems;
}
