// Window stage: observations in, the windows worth a forecast out; what found its slot and the changed state travel
// with the batch. No I/O; all state lives in the store, so a lane can restore or drop it without this file knowing.

import type { Batch, DeadLetterReason, Observation, Outgoing, Placement, Window } from "../domain.ts";
import type { StateBlockRecord } from "../log/codec/schemas.generated.ts";
import type { WindowMetrics } from "../runtime/metric-groups.ts";
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
    const done = deps.metrics.begin();
    const { items, placements, rejected } = advance(batch, store, deps);
    const changes = store.takeChanges().map((block) => deps.encodeBlock(block, batch.partition));
    done();
    // A batch without a window still flows on: settling it is what moves the input position.
    yield { ...batch, items, placements, records: [...batch.records, ...rejected, ...changes] };
  }
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
  const countByOutcome = new Map<PushOutcome, number>();
  for (const observation of batch.items) {
    const series = store.of(observation.seriesId);
    const outcome = series.push(observation, placements);
    countByOutcome.set(outcome, (countByOutcome.get(outcome) ?? 0) + 1);
    if (outcome === "wrong-channels") rejected.push(rejectChannels(observation, series, deps));
    if (outcome === "interval-found") deps.intervalFound(series);
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
