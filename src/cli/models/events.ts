// What was decided about one model, from the events topic.

import { avroCodec } from "../../log/codec/avro.ts";
import type { ModelEventRecord } from "../../log/codec/schemas.generated.ts";
import type { Log, StoredBatch } from "../../log/log.ts";
import { ForecastnetError } from "../../runtime/errors.ts";

const codec = avroCodec("ModelEvent");

/** All that the topic still holds, oldest first. */
export async function readEvents(
  log: Log,
  topic: string,
  modelKey: string,
  signal: AbortSignal,
): Promise<readonly ModelEventRecord[]> {
  const events: ModelEventRecord[] = [];
  for await (const batch of log.read(topic, signal)) events.push(...eventsIn(batch, modelKey));
  return events.sort((a, b) => a.time - b.time);
}

/** By partition, where the topic ends at this moment; those without a record are left out. */
export async function readEnds(log: Log, topic: string, signal: AbortSignal): Promise<Ends> {
  const ends = new Map<number, number>();
  for await (const { partition, nextOffset } of log.read(topic, signal)) ends.set(partition, nextOffset);
  return ends;
}

export type Ends = ReadonlyMap<number, number>;

/** Those about the model that lie after the given ends. Keyed by model, so those of others are passed over unread. */
export function eventsIn(
  { partition, records }: StoredBatch,
  modelKey: string,
  after: Ends = new Map(),
): readonly ModelEventRecord[] {
  const from = after.get(partition) ?? 0;
  return records.flatMap(({ key, value, offset }) => {
    if (offset < from || value === null || (key !== null && key.toString() !== modelKey)) return [];
    const event = decode(value);
    return event?.modelKey === modelKey ? [event] : [];
  });
}

/** Null for what others may have written there: nothing hangs on a single event. */
function decode(value: Buffer): ModelEventRecord | null {
  try {
    return codec.decode(value);
  } catch (error) {
    if (!(error instanceof ForecastnetError)) throw error;
    return null;
  }
}
