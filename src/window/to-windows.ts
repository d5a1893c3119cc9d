// Window stage: observations in, windows to forecast out. Placements and changed state travel with the batch. No I/O;
// all state is in the store, so a lane can restore or drop it without this file knowing.

import type { Batch, DeadLetterReason, Observation, Outgoing, Placement, Window } from "../domain.ts";
import { mapEach } from "../runtime/each.ts";
import type { WindowMetrics } from "../runtime/metric-groups.ts";
import type { Findings } from "./findings.ts";
import type { PushOutcome, Series } from "./series.ts";
import type { SeriesStore } from "./series-store.ts";
import type { StateBlock } from "./state-blocks.ts";

/** `T`: an observation with a reference to its input record. */
export interface WindowStageDeps<T extends Observation> {
  /** Levels of the quantiles that forecasts state. */
  readonly levels: readonly number[];
  /** Number of steps that the model of a series needs; 0 without one. */
  readonly modelStepsOf: (seriesId: string) => number;
  readonly metrics: WindowMetrics;
  readonly encodeBlock: (block: StateBlock, partition: number) => Outgoing;
  /** Creates the dead letter of an observation that does not fit its series. */
  readonly reject: (
    observation: T,
    refusal: { readonly reason: DeadLetterReason; readonly detail: string },
  ) => Outgoing;
  /** Called when an automatic interval is found. */
  readonly intervalFound: (series: Series) => void;
  /** Called when something else was found out about a series, or turned out otherwise. */
  readonly findingsChanged: (series: Series, before: Findings) => void;
}

/**
 * Yields each batch with a window for every step that became due, in order of arrival. When the batch is behind, only
 * with the newest window of each series: earlier ones would be out of date on arrival.
 */
export function toWindows<T extends Observation>(
  batches: AsyncIterable<Batch<T>>,
  store: SeriesStore,
  deps: WindowStageDeps<T>,
): AsyncIterableIterator<Batch<Window>> {
  return mapEach(batches, (batch) => {
    const done = deps.metrics.begin();
    const { items, placements, rejected } = advance(batch, store, deps);
    const changes = store.takeChanges().map((block) => deps.encodeBlock(block, batch.partition));
    done();
    // A batch without a window passes too: settling it moves the input position.
    return { ...batch, items, placements, records: [...batch.records, ...rejected, ...changes] };
  });
}

interface Advance {
  readonly items: readonly Window[];
  readonly placements: readonly Placement[];
  readonly rejected: readonly Outgoing[];
}

function advance<T extends Observation>(
  batch: Batch<T>,
  store: SeriesStore,
  deps: WindowStageDeps<T>,
): Advance {
  const items: Window[] = [];
  const placements: Placement[] = [];
  const rejected: Outgoing[] = [];
  const take = (series: Series, skippedOrigins: number) => {
    const modelSteps = deps.modelStepsOf(series.seriesId);
    items.push(series.takeWindow(deps.levels, skippedOrigins, modelSteps, placements.length));
  };
  const dueOriginsBySeries = new Map<Series, number>();
  let refusedSeries = 0;
  const countByOutcome = new Map<PushOutcome, number>();
  for (const observation of batch.items) {
    if (!store.hasRoomFor(observation.seriesId)) {
      refusedSeries++;
      rejected.push(rejectSeries(observation, store, deps));
      continue;
    }
    const series = store.of(observation.seriesId);
    const { findings } = series;
    const outcome = series.push(observation, placements);
    countByOutcome.set(outcome, (countByOutcome.get(outcome) ?? 0) + 1);
    if (outcome === "wrong-channels") rejected.push(rejectChannels(observation, series, deps));
    if (outcome === "interval-found") deps.intervalFound(series);
    if (series.findings !== findings) deps.findingsChanged(series, findings);
    if ((outcome !== "advanced" && outcome !== "interval-found") || !series.isDue()) continue;
    series.markForecast();
    if (batch.isBehind) dueOriginsBySeries.set(series, (dueOriginsBySeries.get(series) ?? 0) + 1);
    else take(series, 0);
  }
  for (const [series, dueOrigins] of dueOriginsBySeries) {
    series.markForecast();
    take(series, dueOrigins - 1);
    if (dueOrigins > 1) deps.metrics.skippedOrigins(dueOrigins - 1);
  }
  if (refusedSeries > 0) deps.metrics.observations("too-many-series", refusedSeries);
  for (const [outcome, count] of countByOutcome) deps.metrics.observations(outcome, count);
  return { items, placements, rejected };
}

function rejectChannels<T extends Observation>(
  observation: T,
  series: Series,
  deps: WindowStageDeps<T>,
): Outgoing {
  const expected = series.grid?.channels ?? series.pending[0]?.values.length ?? "at least 1";
  const detail = `the observation has ${observation.values.length} values, its series has ${expected}`;
  return deps.reject(observation, { reason: "wrong-channels", detail });
}

function rejectSeries<T extends Observation>(
  observation: T,
  { maxSeries }: SeriesStore,
  deps: WindowStageDeps<T>,
): Outgoing {
  const detail = `the partition has ${maxSeries} series already, as many as limits.series allows`;
  return deps.reject(observation, { reason: "too-many-series", detail });
}
