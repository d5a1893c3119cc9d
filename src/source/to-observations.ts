// Source stage: input records in, observations out. What cannot be read becomes a dead letter and travels
// with the batch; nothing is dropped. Holds nothing between batches.

import type { Batch, Observation, Outgoing } from "../domain.ts";
import { DecodeFailure, type ObservationCodec } from "../log/codec/observation-codec.ts";
import { type DeadLetterTopic, type Origin, type Refusal, toDeadLetter } from "../log/dead-letter.ts";
import type { OwnedPartition, StoredBatch, StoredRecord } from "../log/log.ts";
import type { Clock } from "../runtime/clock.ts";
import type { SourceMetrics } from "../runtime/metric-groups.ts";

/** An observation that still knows the record it came from, in case a later stage refuses it. */
export interface Arrival extends Observation {
  readonly origin: Origin;
}

export interface SourceParts {
  readonly codecByTopic: ReadonlyMap<string, ObservationCodec>;
  readonly deadLetters: DeadLetterTopic;
  readonly futureToleranceMs: number;
  readonly maxBatchRecords: number;
  /** Input older than this counts as far behind; 0 means never. */
  readonly behindAfterMs: number;
  readonly clock: Clock;
  readonly metrics: SourceMetrics;
}

export async function* toObservations(
  owned: OwnedPartition,
  parts: SourceParts,
): AsyncGenerator<Batch<Arrival>> {
  for await (const batch of owned.batches()) {
    const codec = parts.codecByTopic.get(batch.topic);
    if (codec === undefined) throw new Error(`no input format is configured for topic ${batch.topic}`);
    const preparation = codec.prepare(batch.records);
    if (preparation !== undefined) await preparation;
    const { topic, partition, nextOffset } = batch;
    const done = parts.metrics.begin();
    const read = readBatch(batch, codec, parts);
    done();
    yield {
      partition,
      ...read,
      settle: (records) => owned.commit({ records, topic, nextOffset }),
    };
  }
}

function readBatch(
  batch: StoredBatch,
  codec: ObservationCodec,
  parts: SourceParts,
): Omit<Batch<Arrival>, "partition" | "settle"> {
  const { deadLetters, metrics, clock, behindAfterMs } = parts;
  const { topic, partition } = batch;
  const nowMs = clock.nowMs();
  const latestMs = nowMs + parts.futureToleranceMs;
  const items: Arrival[] = [];
  let eventMs: number | null = null;
  const records: Outgoing[] = [];
  for (const record of batch.records) {
    const read = codec.decode(record);
    const refusal =
      read instanceof DecodeFailure ? read : refuseFuture(read, latestMs, parts.futureToleranceMs);
    const origin: Origin = { topic, partition, record };
    if (refusal === null) {
      const { seriesId, timeMs, values } = read as Observation;
      items.push({ seriesId, timeMs, values, origin });
      if (eventMs === null || timeMs > eventMs) eventMs = timeMs;
      continue;
    }
    records.push(toDeadLetter(origin, refusal, deadLetters));
    metrics.deadLetter(refusal.reason);
  }
  metrics.batch(batch.records.length);
  const arrivedMs = batch.records.at(-1)?.timestampMs ?? nowMs;
  return {
    items,
    records,
    placements: [],
    arrivedMs,
    eventMs,
    isBehind: isBehind(batch.records, nowMs, behindAfterMs),
    isFull: batch.records.length >= parts.maxBatchRecords,
  };
}

function refuseFuture({ timeMs }: Observation, latestMs: number, toleranceMs: number): Refusal | null {
  if (timeMs <= latestMs) return null;
  const detail = `the time ${new Date(timeMs).toISOString()} lies more than ${toleranceMs} ms ahead of the clock`;
  return { reason: "future-time", detail };
}

function isBehind(records: readonly StoredRecord[], nowMs: number, behindAfterMs: number): boolean {
  const oldest = records[0];
  return behindAfterMs > 0 && oldest !== undefined && nowMs - oldest.timestampMs > behindAfterMs;
}
