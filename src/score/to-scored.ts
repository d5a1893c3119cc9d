// Score stage: raw forecasts in, forecasts as published out. Replays the batch in its order: the scores and
// calibration of a forecast come from all observations before its window and from none after. Changed live state
// travels with the batch. No I/O; all state is in the score store.

import type { Batch, Forecast, Outgoing, Placement, RawForecast, ServingFacts } from "../domain.ts";
import { mapEach } from "../runtime/each.ts";
import type { LiveMetrics } from "../runtime/metric-groups.ts";
import type { ScoreStore } from "./score-store.ts";

export interface ScoreStageParts {
  readonly stateTopic: string;
  /** Null for a series without a model. */
  readonly servingOf: (seriesId: string) => ServingFacts | null;
  readonly metrics: LiveMetrics;
}

/** Yields each batch with its forecasts as they are published. A batch without forecasts passes too, to be settled. */
export function toScored(
  batches: AsyncIterable<Batch<RawForecast>>,
  scoreStore: ScoreStore,
  parts: ScoreStageParts,
): AsyncIterableIterator<Batch<Forecast>> {
  return mapEach(batches, (batch) => {
    const done = parts.metrics.begin();
    const items = replay(batch, scoreStore, parts);
    const { partition } = batch;
    const changes = scoreStore
      .takeChanges()
      .map(
        ({ key, value }): Outgoing => ({ topic: parts.stateTopic, partition, key: Buffer.from(key), value }),
      );
    done();
    return { ...batch, items, records: [...batch.records, ...changes] };
  });
}

function replay(
  { items, placements }: Batch<RawForecast>,
  scoreStore: ScoreStore,
  { servingOf, metrics }: ScoreStageParts,
): Forecast[] {
  const published: Forecast[] = [];
  let placed = 0;
  let steps = 0;
  for (const raw of items) {
    const { seriesId, placedBefore } = raw.window;
    for (; placed < placedBefore; placed++) steps += score(placements[placed], scoreStore);
    published.push(scoreStore.of(seriesId).publish(raw, servingOf(seriesId)));
  }
  for (; placed < placements.length; placed++) steps += score(placements[placed], scoreStore);
  if (steps > 0) metrics.scored(steps);
  return published;
}

/** A series without a forecast so far has nothing to score. */
function score(placement: Placement, scoreStore: ScoreStore): number {
  return scoreStore.get(placement.seriesId)?.score(placement) ?? 0;
}
