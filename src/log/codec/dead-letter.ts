// The headers that a dead letter carries beside those of the original record.

import { type DeadLetterRecord, deadLetterHeaderNames } from "./schemas.generated.ts";

const fieldNames = Object.keys(deadLetterHeaderNames) as readonly (keyof DeadLetterRecord)[];

export function toDeadLetterHeaders(letter: DeadLetterRecord): Record<string, string> {
  return Object.fromEntries(fieldNames.map((field) => [deadLetterHeaderNames[field], String(letter[field])]));
}

/** Reads the headers of a dead letter; undefined if one of them is missing. */
export function fromDeadLetterHeaders(
  headers: Readonly<Record<string, Buffer>>,
): DeadLetterRecord | undefined {
  if (!fieldNames.every((field) => deadLetterHeaderNames[field] in headers)) return undefined;
  const text = (field: keyof DeadLetterRecord) => headers[deadLetterHeaderNames[field]].toString("utf8");
  return {
    topic: text("topic"),
    partition: Number(text("partition")),
    offset: Number(text("offset")),
    time: Number(text("time")),
    reason: text("reason"),
    detail: text("detail"),
  };
}
