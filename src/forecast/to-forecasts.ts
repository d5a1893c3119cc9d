// Forecast stage: windows in, forecasts out. Holds nothing between batches.

import type { Batch, Forecast, Window } from "../domain.ts";
import type { ForecastMetrics } from "../runtime/metrics.ts";
import type { Forecaster } from "./forecaster.ts";

/** Yields, for each batch, the forecasts of its windows. A batch without windows still flows on to be settled. */
export async function* toForecasts(
  batches: AsyncIterable<Batch<Window>>,
  forecaster: Forecaster,
  metrics: ForecastMetrics,
): AsyncGenerator<Batch<Forecast>> {
  for await (const batch of batches) {
    const forecasts = await forecaster.forecast(batch.items);
    count(forecasts, metrics);
    yield { ...batch, items: forecasts };
  }
}

function count(forecasts: readonly Forecast[], metrics: ForecastMetrics): void {
  const counts = new Map<string, { readonly forecast: Forecast; n: number }>();
  for (const forecast of forecasts) {
    const key = `${forecast.tier}/${forecast.method}`;
    const entry = counts.get(key);
    if (entry === undefined) counts.set(key, { forecast, n: 1 });
    else entry.n++;
  }
  for (const { forecast, n } of counts.values()) metrics.forecasts(forecast.tier, forecast.method, n);
}
