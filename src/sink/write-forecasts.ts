// Sink stage: encodes a batch's forecasts and settles it: forecasts, state, dead letters and input offsets in
// one transaction. What cannot be settled ends the lane; the next owner starts from the last commit.

import type { Batch, Forecast, Outgoing } from "../domain.ts";
import type { Clock } from "../runtime/clock.ts";
import type { SinkMetrics } from "../runtime/metrics.ts";

export interface SinkParts {
  readonly topic: string;
  /** Partitions of the forecast topic; a series' forecasts all go to its input partition, modulo this. */
  readonly partitions: number;
  readonly encode: (forecast: Forecast) => Buffer;
  readonly clock: Clock;
  readonly metrics: SinkMetrics;
}

export async function writeForecasts(
  batches: AsyncIterable<Batch<Forecast>>,
  parts: SinkParts,
): Promise<void> {
  const { topic, partitions, encode, clock, metrics } = parts;
  for await (const batch of batches) {
    const partition = batch.partition % partitions;
    const forecasts = batch.items.map(
      (forecast): Outgoing => ({
        topic,
        partition,
        key: Buffer.from(forecast.seriesId),
        value: encode(forecast),
      }),
    );
    const startedMs = clock.nowMs();
    await batch.settle([...batch.records, ...forecasts]);
    const settledMs = clock.nowMs();
    metrics.committed((settledMs - startedMs) / 1000);
    metrics.latency(Math.max(0, settledMs - batch.arrivedMs) / 1000);
  }
}
