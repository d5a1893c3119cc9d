// Sink stage, in two halves with a buffer between them: `encodeForecasts` turns each forecast into a record as it comes,
// `settleBatches` commits forecasts, state, dead letters and input offsets of a batch in one transaction. A batch
// that cannot be settled ends the lane; the next owner starts from the last commit.

import type { Batch, Forecast, ForecastCollector, Outgoing } from "../domain.ts";
import type { Clock } from "../runtime/clock.ts";
import { forEach } from "../runtime/each.ts";
import type { SinkMetrics } from "../runtime/metric-groups.ts";

export interface SinkParts {
  readonly topic: string;
  /** Partitions of the forecast topic; all forecasts of a series go to its input partition, modulo this. */
  readonly partitions: number;
  readonly encode: (forecast: Forecast) => Buffer;
  readonly clock: Clock;
  readonly metrics: SinkMetrics;
}

/**
 * For the forecasts of one batch. They wait for their commit as bytes, outside the heap: the garbage collector would
 * copy waiting forecasts from generation to generation.
 */
export function encodeForecasts(
  inputPartition: number,
  { topic, partitions, encode, metrics }: SinkParts,
): ForecastCollector<Outgoing> {
  const timer = metrics.turns();
  const partition = inputPartition % partitions;
  const records: Outgoing[] = [];
  return {
    add: (forecast) => {
      timer.resume();
      const key = Buffer.from(forecast.raw.window.seriesId);
      records.push({ topic, partition, key, value: encode(forecast) });
      timer.pause();
    },
    end: () => {
      timer.end();
      return records;
    },
  };
}

export function settleBatches(
  batches: AsyncIterable<Batch<Outgoing>>,
  { clock, metrics }: SinkParts,
): Promise<void> {
  return forEach(batches, async (batch) => {
    const startedMs = clock.nowMs();
    await batch.settle([...batch.records, ...batch.items]);
    const settledMs = clock.nowMs();
    metrics.committed((settledMs - startedMs) / 1000);
    const secondsSince = (ms: number) => Math.max(0, settledMs - ms) / 1000;
    if (batch.arrivedMs !== null) metrics.arrivalLatency(secondsSince(batch.arrivedMs));
    if (batch.eventMs !== null) metrics.eventLatency(secondsSince(batch.eventMs));
  });
}
