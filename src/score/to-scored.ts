// Score stage: raw forecasts in, forecasts as published out. Replays the batch in its order: the scores and
// calibration of a forecast come from all observations before its window and from none after. Changed live state
// travels with the batch. No I/O; all state is in the score store.

import type { Batch, ForecastCollector, Outgoing, Placement, RawForecast, ServingFacts } from "../domain.ts";
import { mapEach } from "../runtime/each.ts";
import type { LiveMetrics, TurnTimer } from "../runtime/metric-groups.ts";
import type { ScoreStore } from "./score-store.ts";

export interface ScoreStageParts {
  readonly stateTopic: string;
  /** Null for a series without a model. */
  readonly servingOf: (seriesId: string) => ServingFacts | null;
  readonly metrics: LiveMetrics;
}

type RawBatch = Batch<RawForecast, Iterable<RawForecast>>;

/**
 * Yields each batch with what the collector made of its forecasts, one after the other as they are published: the
 * forecasts of a whole batch take megabytes, which the garbage collector would copy. A batch without forecasts passes
 * too, to be settled.
 */
export function toScored<T>(
  batches: AsyncIterable<RawBatch>,
  scoreStore: ScoreStore,
  parts: ScoreStageParts,
  collect: (partition: number) => ForecastCollector<T>,
): AsyncIterableIterator<Batch<T>> {
  return mapEach(batches, (batch) => {
    const { partition } = batch;
    const timer = parts.metrics.turns();
    const collector = collect(partition);
    replay(batch, scoreStore, parts, { timer, collector });
    const items = collector.end();
    timer.resume();
    const changes = scoreStore
      .takeChanges()
      .map(
        ({ key, value }): Outgoing => ({ topic: parts.stateTopic, partition, key: Buffer.from(key), value }),
      );
    timer.pause();
    timer.end();
    return { ...batch, items, records: [...batch.records, ...changes] };
  });
}

interface Output {
  readonly timer: TurnTimer;
  readonly collector: Pick<ForecastCollector<unknown>, "add">;
}

/** The timer is paused while forecasts are made and collected. */
function replay(
  { items, placements }: RawBatch,
  scoreStore: ScoreStore,
  { servingOf, metrics }: ScoreStageParts,
  { timer, collector }: Output,
): void {
  let placed = 0;
  let steps = 0;
  for (const raw of items) {
    timer.resume();
    const { seriesId, placedBefore } = raw.window;
    for (; placed < placedBefore; placed++) steps += score(placements[placed], scoreStore);
    const forecast = scoreStore.of(seriesId).publish(raw, servingOf(seriesId));
    timer.pause();
    collector.add(forecast);
  }
  timer.resume();
  for (; placed < placements.length; placed++) steps += score(placements[placed], scoreStore);
  if (steps > 0) metrics.scored(steps);
  timer.pause();
}

/** A series without a forecast so far has nothing to score. */
function score(placement: Placement, scoreStore: ScoreStore): number {
  return scoreStore.get(placement.seriesId)?.score(placement) ?? 0;
}
