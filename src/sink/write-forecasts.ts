// Sink stage, in two halves with a buffer between them: `encodeForecasts` turns forecasts into records,
// `settleBatches` commits forecasts, state, dead letters and input offsets of a batch in one transaction. A batch
// that cannot be settled ends the lane; the next owner starts from the last commit.

import type { Batch, Forecast, Outgoing } from "../domain.ts";
import type { Clock } from "../runtime/clock.ts";
import { forEach, mapEach } from "../runtime/each.ts";
import type { SinkMetrics } from "../runtime/metric-groups.ts";

export interface SinkParts {
  readonly topic: string;
  /** Partitions of the forecast topic; all forecasts of a series go to its input partition, modulo this. */
  readonly partitions: number;
  readonly encode: (forecast: Forecast) => Buffer;
  readonly clock: Clock;
  readonly metrics: SinkMetrics;
}

/** A batch that holds nothing but records. */
type EncodedBatch = Batch<never>;

/**
 * Batches wait for their commit as bytes, outside the heap. The garbage collector would copy waiting forecasts from
 * generation to generation.
 */
export function encodeForecasts(
  batches: AsyncIterable<Batch<Forecast>>,
  { topic, partitions, encode, metrics }: SinkParts,
): AsyncIterableIterator<EncodedBatch> {
  return mapEach(batches, (batch) => {
    const done = metrics.begin();
    const partition = batch.partition % partitions;
    const forecasts = batch.items.map(
      (forecast): Outgoing => ({
        topic,
        partition,
        key: Buffer.from(forecast.raw.window.seriesId),
        value: encode(forecast),
      }),
    );
    const records = [...batch.records, ...forecasts];
    done();
    return { ...batch, items: [], records };
  });
}

export function settleBatches(
  batches: AsyncIterable<EncodedBatch>,
  { clock, metrics }: SinkParts,
): Promise<void> {
  return forEach(batches, async (batch) => {
    const startedMs = clock.nowMs();
    await batch.settle(batch.records);
    const settledMs = clock.nowMs();
    metrics.committed((settledMs - startedMs) / 1000);
    const secondsSince = (ms: number) => Math.max(0, settledMs - ms) / 1000;
    if (batch.arrivedMs !== null) metrics.arrivalLatency(secondsSince(batch.arrivedMs));
    if (batch.eventMs !== null) metrics.eventLatency(secondsSince(batch.eventMs));
  });
}
