// Source stage: input records in, observations out. A record that cannot be read becomes a dead letter and travels with
// the batch; nothing is dropped. Holds no state between batches.

import type { Batch, DeadLetterReason, Observation, Outgoing } from "../domain.ts";
import { DecodeFailure, type ObservationCodec } from "../log/codec/observation-codec.ts";
import {
  type DeadLetterTopic,
  fromDeadLetterHeaders,
  type RecordPlace,
  type RecordRefusal,
  toDeadLetter,
} from "../log/dead-letter.ts";
import type { OwnedPartition, StoredBatch, StoredRecord } from "../log/log.ts";
import type { Clock } from "../runtime/clock.ts";
import { mapEach } from "../runtime/each.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import type { SourceMetrics } from "../runtime/metric-groups.ts";

/** An observation with the record it came from, in case a later stage refuses it. */
export interface Arrival extends Observation {
  readonly place: RecordPlace;
}

export interface SourceParts {
  readonly codecByTopic: ReadonlyMap<string, ObservationCodec>;
  readonly deadLetters: DeadLetterTopic;
  readonly futureToleranceMs: number;
  readonly maxBatchRecords: number;
  /** Input older than this counts as far behind; 0 turns this off. */
  readonly behindAfterMs: number;
  readonly clock: Clock;
  readonly metrics: SourceMetrics;
}

/** Why all observations of a series are set aside; null if they are not. */
type QuarantineCheck = (seriesId: string) => RecordRefusal | null;

export function toObservations(
  owned: OwnedPartition,
  parts: SourceParts,
  quarantineOf: QuarantineCheck = () => null,
): AsyncIterableIterator<Batch<Arrival>> {
  return mapEach(owned.batches(), async (batch) => {
    const codec = parts.codecByTopic.get(batch.topic);
    if (codec === undefined)
      throw new ForecastnetError("CONFIG_INVALID", `no input format is configured for topic ${batch.topic}`);
    const preparation = codec.prepare(batch.records);
    if (preparation !== undefined) await preparation;
    const { topic, partition, nextOffset } = batch;
    const done = parts.metrics.begin();
    const read = readBatch(batch, codec, parts, quarantineOf);
    done();
    return {
      partition,
      ...read,
      settle: async (records) => {
        await owned.commit({ records, topic, nextOffset });
        countDeadLetters(records, parts);
      },
    };
  });
}

/** Counts the dead letters of all stages after the commit, because a batch that is retried would count them twice. */
function countDeadLetters(records: readonly Outgoing[], { deadLetters, metrics }: SourceParts): void {
  for (const { topic, headers } of records) {
    if (topic !== deadLetters.topic) continue;
    const letter = fromDeadLetterHeaders(headers ?? []);
    if (letter !== undefined) metrics.deadLetter(letter.reason as DeadLetterReason);
  }
}

function readBatch(
  batch: StoredBatch,
  codec: ObservationCodec,
  parts: SourceParts,
  quarantineOf: QuarantineCheck,
): Omit<Batch<Arrival>, "partition" | "settle"> {
  const { deadLetters, metrics, clock, behindAfterMs } = parts;
  const { topic, partition } = batch;
  const nowMs = clock.nowMs();
  const latestMs = nowMs + parts.futureToleranceMs;
  const items: Arrival[] = [];
  let eventMs: number | null = null;
  const records: Outgoing[] = [];
  for (const record of batch.records) {
    const read = decode(codec, record);
    const refusal =
      read instanceof DecodeFailure
        ? read
        : (refuseFuture(read, latestMs, parts.futureToleranceMs) ?? quarantineOf(read.seriesId));
    const place: RecordPlace = { topic, partition, record };
    if (refusal === null) {
      const { seriesId, timeMs, values } = read as Observation;
      items.push({ seriesId, timeMs, values, place });
      if (eventMs === null || timeMs > eventMs) eventMs = timeMs;
      continue;
    }
    records.push(toDeadLetter(place, refusal, deadLetters));
  }
  metrics.batch(batch.records.length);
  return {
    items,
    records,
    placements: [],
    arrivedMs: batch.records.findLast(hasTime)?.timestampMs ?? null,
    eventMs,
    isBehind: isBehind(batch.records, nowMs, behindAfterMs),
    isFull: batch.records.length >= parts.maxBatchRecords,
  };
}

/** A codec returns a failure for bad data. If it throws instead, only this record is affected. */
function decode(codec: ObservationCodec, record: StoredRecord): Observation | DecodeFailure {
  if (record.unreadable !== undefined) return new DecodeFailure("unreadable-batch", record.unreadable);
  try {
    return codec.decode(record);
  } catch (error) {
    return new DecodeFailure("undecodable", `the record cannot be read: ${(error as Error).message}`);
  }
}

function refuseFuture({ timeMs }: Observation, latestMs: number, toleranceMs: number): RecordRefusal | null {
  if (timeMs <= latestMs) return null;
  const detail = `the time ${new Date(timeMs).toISOString()} is more than ${toleranceMs} ms ahead of the clock`;
  return { reason: "future-time", detail };
}

/** A producer may omit the time of a record, and the time of a damaged batch may be damaged, too. */
function hasTime({ timestampMs, unreadable }: StoredRecord): boolean {
  return timestampMs > 0 && unreadable === undefined;
}

function isBehind(records: readonly StoredRecord[], nowMs: number, behindAfterMs: number): boolean {
  const oldest = records.find(hasTime);
  return behindAfterMs > 0 && oldest !== undefined && nowMs - oldest.timestampMs > behindAfterMs;
}
