// Turns a refused input record into a dead letter: the original key, value and headers, and in further
// headers where it came from and why it was refused.

import type { DeadLetterReason, Outgoing } from "../domain.ts";
import { toDeadLetterHeaders } from "./codec/dead-letter.ts";
import type { StoredRecord } from "./log.ts";

/** A record and the place it came from. */
export interface Origin {
  readonly topic: string;
  readonly partition: number;
  readonly record: StoredRecord;
}

export interface Refusal {
  readonly reason: DeadLetterReason;
  readonly detail: string;
}

export interface DeadLetterTopic {
  readonly topic: string;
  readonly partitions: number;
}

export function toDeadLetter(origin: Origin, refusal: Refusal, to: DeadLetterTopic): Outgoing {
  const { topic, partition, record } = origin;
  const { reason, detail } = refusal;
  const headers = toDeadLetterHeaders({
    topic,
    partition,
    offset: record.offset,
    time: record.timestampMs,
    reason,
    detail,
  });
  return {
    topic: to.topic,
    partition: partition % to.partitions,
    key: record.key,
    value: record.value,
    headers: { ...record.headers, ...headers },
  };
}
