// Scoring stage, after the forecasts were made: replays the batch in its order, so that every forecast is calibrated
// and told its scores by all that came before its window and by nothing that came after. What changed of the live state
// travels with the batch. No I/O; all state lives in the book.

import type { Batch, Forecast, Made, Outgoing, Placement } from "../../domain.ts";
import type { LiveMetrics } from "../../runtime/metric-groups.ts";
import type { ServingFacts } from "../decision.ts";
import type { LiveBook } from "./live-book.ts";

export interface ScoreStageParts {
  readonly stateTopic: string;
  /** Null for a series without a model. */
  readonly servingOf: (seriesId: string) => ServingFacts | null;
  readonly metrics: LiveMetrics;
}

/** Yields, for each batch, its forecasts as they are to be published. A batch without any still flows on. */
export async function* toScored(
  batches: AsyncIterable<Batch<Made>>,
  book: LiveBook,
  parts: ScoreStageParts,
): AsyncGenerator<Batch<Forecast>> {
  for await (const batch of batches) {
    const done = parts.metrics.begin();
    const items = replay(batch, book, parts);
    const { partition } = batch;
    const changes = book
      .takeChanges()
      .map(
        ({ key, value }): Outgoing => ({ topic: parts.stateTopic, partition, key: Buffer.from(key), value }),
      );
    done();
    yield { ...batch, items, records: [...batch.records, ...changes] };
  }
}

function replay(
  { items, placements }: Batch<Made>,
  book: LiveBook,
  { servingOf, metrics }: ScoreStageParts,
): Forecast[] {
  const published: Forecast[] = [];
  let placed = 0;
  let steps = 0;
  for (const { window, forecast } of items) {
    for (; placed < window.placedBefore; placed++) steps += score(placements[placed], book);
    const { seriesId } = window;
    published.push(book.of(seriesId).publish(window, forecast, servingOf(seriesId)));
  }
  for (; placed < placements.length; placed++) steps += score(placements[placed], book);
  if (steps > 0) metrics.scored(steps);
  return published;
}

/** A series that was never forecast has nothing to be scored. */
function score(placement: Placement, book: LiveBook): number {
  return book.get(placement.seriesId)?.place(placement) ?? 0;
}
