// Window stage: observations in, the windows worth a forecast out, and the changed state as records of the
// same batch. No I/O; all state lives in the store, so a lane can restore or drop it without this file knowing.

import type { Batch, DeadLetterReason, Observation, Outgoing, Window } from "../domain.ts";
import type { StateBlockRecord } from "../log/codec/schemas.generated.ts";
import type { WindowMetrics } from "../runtime/metrics.ts";
import type { PushOutcome, Series } from "./series.ts";
import type { SeriesStore } from "./series-store.ts";

/** `T` is what the source makes of a record: an observation that still knows the record it came from. */
export interface WindowStageDeps<T extends Observation> {
  /** Levels of the quantiles that forecasts state. */
  readonly levels: readonly number[];
  /** How many steps a series' model looks back on; 0 without one. */
  readonly modelStepsOf: (seriesId: string) => number;
  readonly metrics: WindowMetrics;
  readonly encodeBlock: (block: StateBlockRecord, partition: number) => Outgoing;
  /** Makes the dead letter of an observation that decoded well but does not fit its series. */
  readonly reject: (
    observation: T,
    refusal: { readonly reason: DeadLetterReason; readonly detail: string },
  ) => Outgoing;
  /** An automatic interval was found, and is fixed from now on. */
  readonly intervalFound: (series: Series) => void;
}

/**
 * Yields, for each batch, a window at every step that became due, in order of arrival; when the batch is
 * behind, only the newest window of each series, since its earlier ones would be out of date on arrival.
 */
export async function* toWindows<T extends Observation>(
  batches: AsyncIterable<Batch<T>>,
  store: SeriesStore,
  deps: WindowStageDeps<T>,
): AsyncGenerator<Batch<Window>> {
  for await (const batch of batches) {
    const rejected: Outgoing[] = [];
    const items = advance(batch, store, deps, rejected);
    const changes = store.takeChanges().map((block) => deps.encodeBlock(block, batch.partition));
    // A batch without a window still flows on: settling it is what moves the input position.
    yield { ...batch, items, records: [...batch.records, ...rejected, ...changes] };
  }
}

function advance<T extends Observation>(
  batch: Batch<T>,
  store: SeriesStore,
  deps: WindowStageDeps<T>,
  rejected: Outgoing[],
): Window[] {
  const windows: Window[] = [];
  const dueOriginsBySeries = new Map<Series, number>();
  const countByOutcome = new Map<PushOutcome, number>();
  for (const observation of batch.items) {
    const series = store.of(observation.seriesId);
    const outcome = series.push(observation);
    countByOutcome.set(outcome, (countByOutcome.get(outcome) ?? 0) + 1);
    if (outcome === "wrong-channels") rejected.push(rejectChannels(observation, series, deps));
    if (outcome === "interval-found") deps.intervalFound(series);
    if ((outcome !== "advanced" && outcome !== "interval-found") || !series.isDue()) continue;
    series.markForecast();
    if (batch.isBehind) dueOriginsBySeries.set(series, (dueOriginsBySeries.get(series) ?? 0) + 1);
    else windows.push(series.takeWindow(deps.levels, 0, deps.modelStepsOf(series.seriesId)));
  }
  for (const [series, dueOrigins] of dueOriginsBySeries) {
    series.markForecast();
    windows.push(series.takeWindow(deps.levels, dueOrigins - 1, deps.modelStepsOf(series.seriesId)));
    if (dueOrigins > 1) deps.metrics.skippedOrigins(dueOrigins - 1);
  }
  for (const [outcome, count] of countByOutcome) deps.metrics.observations(outcome, count);
  return windows;
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
