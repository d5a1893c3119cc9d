// What the embedded log holds: topics, their records, and whether the log answers at all. Writes are all or
// nothing: everything is checked before the first record is stored, and storing cannot fail.
import type { Outgoing } from "../../domain.ts";
import type { Clock } from "../../runtime/clock.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import type { TopicFacts, TopicSpec } from "../log.ts";
import { MemoryPartition } from "./partition.ts";
import { Pulse } from "./pulse.ts";

/** A broker's own default for max.message.bytes. */
const defaultMaxMessageBytes = 1_048_588;
const noHeaders: Readonly<Record<string, Buffer>> = Object.freeze({});

/** A failure to inject into one commit. */
export interface CommitFault {
  /** Whether the commit fails before it takes effect or after. */
  readonly when: "before" | "after";
  /** The log tries again by itself, or the owner finds itself fenced. */
  readonly effect: "retry" | "fence";
}

interface MemoryTopic {
  readonly facts: TopicFacts;
  readonly partitions: readonly MemoryPartition[];
}

export class MemoryStore {
  /** Beats whenever a waiting reader, writer or lane may have something to do. */
  readonly pulse = new Pulse();
  /** Null while the log answers; otherwise why it does not. */
  outage: string | null = null;
  /** Met by the next commits, one each, whoever makes them. */
  readonly commitFaults: CommitFault[] = [];
  readonly #topicByName = new Map<string, MemoryTopic>();
  readonly #clock: Clock;
  readonly #retainRecords: number;

  constructor(clock: Clock, retainRecords: number) {
    this.#clock = clock;
    this.#retainRecords = retainRecords;
  }

  /** A topic that exists stays as it is, whatever the spec says. */
  createTopic({ topic, partitions, compacted, settings }: TopicSpec): void {
    if (this.#topicByName.has(topic)) return;
    const maxMessageBytes = Number(settings?.["max.message.bytes"] ?? defaultMaxMessageBytes);
    const options = { compacted, retainRecords: this.#retainRecords };
    this.#topicByName.set(topic, {
      facts: { topic, partitions, compacted, maxMessageBytes },
      partitions: Array.from({ length: partitions }, () => new MemoryPartition(options)),
    });
  }

  has(topic: string): boolean {
    return this.#topicByName.has(topic);
  }

  facts(topic: string): TopicFacts {
    return this.#topic(topic).facts;
  }

  partition(topic: string, partition: number): MemoryPartition {
    const found = this.#topic(topic);
    const wanted = found.partitions[partition];
    if (wanted !== undefined) return wanted;
    throw new ForecastnetError(
      "TOPIC_UNFIT",
      `topic ${topic} has partitions 0 to ${found.facts.partitions - 1}, but partition ${partition} was asked for`,
      { context: { topic, partition, partitions: found.facts.partitions } },
    );
  }

  write(records: readonly Outgoing[]): void {
    for (const record of records) this.#check(record);
    const nowMs = this.#clock.nowMs();
    for (const { topic, partition, key, value, headers } of records) {
      this.partition(topic, partition).append({ key, value, headers: asBuffers(headers) }, nowMs);
    }
    this.pulse.beat();
  }

  #topic(topic: string): MemoryTopic {
    const found = this.#topicByName.get(topic);
    if (found !== undefined) return found;
    throw new ForecastnetError("TOPIC_MISSING", `topic ${topic} does not exist`, { context: { topic } });
  }

  #check(record: Outgoing): void {
    const { topic, partition } = record;
    this.partition(topic, partition);
    const { compacted, maxMessageBytes } = this.facts(topic);
    const bytes = sizeOf(record);
    if (bytes > maxMessageBytes) {
      throw new ForecastnetError(
        "RECORD_TOO_LARGE",
        `a record for topic ${topic} has ${bytes} bytes, more than its max.message.bytes of ${maxMessageBytes}`,
        { context: { topic, partition, bytes, maxMessageBytes } },
      );
    }
    if (compacted && record.key === null) {
      throw new ForecastnetError(
        "LOG_FAILED",
        `a record without a key was written to partition ${partition} of ${topic}, which is compacted: give it a key`,
        { context: { topic, partition } },
      );
    }
  }
}

function sizeOf({ key, value, headers = noHeaders }: Outgoing): number {
  let bytes = (key?.length ?? 0) + (value?.length ?? 0);
  for (const [name, text] of Object.entries(headers)) {
    bytes += Buffer.byteLength(name) + Buffer.byteLength(text);
  }
  return bytes;
}

function asBuffers(headers: Outgoing["headers"]): Readonly<Record<string, Buffer>> {
  if (headers === undefined) return noHeaders;
  const buffers: Record<string, Buffer> = {};
  for (const [name, text] of Object.entries(headers)) {
    buffers[name] = typeof text === "string" ? Buffer.from(text) : text;
  }
  return buffers;
}
