// Turns a refused input record into a dead letter: the original key, value and headers, followed by headers that
// state where the record came from and why it was refused. A dead letter always fits its topic: what is too large is
// cut, first the headers, then the value, then the key, and a header states what is missing.
//
// Our headers come last, and the last header of a name counts. An original with headers of the same names keeps them.

import type { DeadLetterReason, Header, Outgoing } from "../domain.ts";
import { type DeadLetterRecord, deadLetterHeaderNames } from "./codec/schemas.generated.ts";
import type { StoredRecord } from "./log.ts";
import { estimatedBytes, headerBytes, mostHeaders } from "./record-size.ts";

/** A record with the partition it came from. */
export interface RecordPlace {
  readonly topic: string;
  readonly partition: number;
  readonly record: StoredRecord;
}

export interface RecordRefusal {
  readonly reason: DeadLetterReason;
  readonly detail: string;
}

export interface DeadLetterTopic {
  readonly topic: string;
  readonly partitions: number;
  /** Its max.message.bytes. */
  readonly maxBytes: number;
}

const mostDetailCharacters = 1_000;
/** Room for the header that states what was cut. */
const truncatedBytes = 300;

export function toDeadLetter(place: RecordPlace, refusal: RecordRefusal, to: DeadLetterTopic): Outgoing {
  const { topic, partition, record } = place;
  const { key, value, headers } = record;
  const detail = refusal.detail.slice(0, mostDetailCharacters);
  const facts = { topic, partition, offset: record.offset, time: record.timestampMs };
  const ours = (truncated: string) => toDeadLetterHeaders({ ...facts, ...refusal, detail, truncated });
  const destination = { topic: to.topic, partition: partition % to.partitions };
  if (headerCountOf(record) <= mostHeaders) {
    const whole = { ...destination, key, value, headers: [...headers, ...ours("")] };
    if (estimatedBytes(whole) <= to.maxBytes) return whole;
  }
  const room = to.maxBytes - truncatedBytes - estimatedBytes({ key: null, value: null, headers: ours("") });
  const kept = cut(record, room);
  const keptHeaders = [...kept.headers, ...ours(whatWasCut(record, kept))];
  return { ...destination, key: kept.key, value: kept.value, headers: keptHeaders };
}

function headerCountOf({ headerCount, headers }: StoredRecord): number {
  return headerCount ?? headers.length;
}

type Contents = Pick<StoredRecord, "key" | "value" | "headers">;

/** The parts that fit into `room`: first the key, then the value, then the headers. */
function cut({ key, value, headers }: Contents, room: number): Contents {
  const keptKey = key?.subarray(0, Math.max(0, room)) ?? null;
  const roomForValue = room - (keptKey?.length ?? 0);
  const keptValue = value?.subarray(0, Math.max(0, roomForValue)) ?? null;
  const roomForHeaders = roomForValue - (keptValue?.length ?? 0);
  return { key: keptKey, value: keptValue, headers: firstWithin(headers, roomForHeaders) };
}

function firstWithin(headers: readonly Header[], room: number): readonly Header[] {
  let left = room;
  let count = 0;
  while (count < Math.min(headers.length, mostHeaders)) {
    left -= headerBytes(headers[count]);
    if (left < 0) break;
    count++;
  }
  return headers.slice(0, count);
}

function whatWasCut(original: StoredRecord, kept: Contents): string {
  const cuts: string[] = [];
  for (const part of ["key", "value"] as const) {
    const [before, after] = [original[part]?.length ?? 0, kept[part]?.length ?? 0];
    if (after < before) cuts.push(`${part} cut from ${before} to ${after} bytes`);
  }
  const dropped = headerCountOf(original) - kept.headers.length;
  if (dropped > 0) cuts.push(`${dropped} headers dropped`);
  return cuts.join("; ");
}

const fieldNames = Object.keys(deadLetterHeaderNames) as readonly (keyof DeadLetterRecord)[];

export function toDeadLetterHeaders(letter: DeadLetterRecord): Header[] {
  return fieldNames.map((field) => ({
    key: deadLetterHeaderNames[field],
    value: Buffer.from(String(letter[field])),
  }));
}

/** Undefined if a header is missing. Dead letters of older releases do not state what was cut. */
export function fromDeadLetterHeaders(headers: readonly Header[]): DeadLetterRecord | undefined {
  const valueByName = new Map(headers.map(({ key, value }) => [key, value]));
  const text = (field: keyof DeadLetterRecord) => valueByName.get(deadLetterHeaderNames[field])?.toString();
  const isMissing = (field: keyof DeadLetterRecord) => field !== "truncated" && text(field) === undefined;
  if (fieldNames.some(isMissing)) return undefined;
  return {
    topic: text("topic") as string,
    partition: Number(text("partition")),
    offset: Number(text("offset")),
    time: Number(text("time")),
    reason: text("reason") as string,
    detail: text("detail") as string,
    truncated: text("truncated") ?? "",
  };
}
