// Forecast stage: windows in, forecasts out, each with the window it was made from. Holds nothing between batches.

import type { Batch, Forecast, Made, Window } from "../domain.ts";
import type { ForecastMetrics } from "../runtime/metric-groups.ts";
import type { Forecaster } from "./forecaster.ts";

/** Yields, for each batch, the forecasts of its windows. A batch without windows still flows on to be settled. */
export async function* toForecasts(
  batches: AsyncIterable<Batch<Window>>,
  forecaster: Forecaster,
  metrics: ForecastMetrics,
): AsyncGenerator<Batch<Made>> {
  for await (const batch of batches) {
    const done = metrics.begin();
    const forecasts = await forecaster.forecast(batch.items);
    const items: Made[] = [];
    batch.items.forEach((window, i) => {
      const forecast = forecasts[i];
      if (forecast !== null) items.push({ window, forecast });
    });
    count(items, metrics);
    done();
    yield { ...batch, items };
  }
}

function count(made: readonly Made[], metrics: ForecastMetrics): void {
  const counts = new Map<string, { readonly forecast: Forecast; n: number }>();
  for (const { forecast } of made) {
    const key = `${forecast.tier}/${forecast.method}`;
    const entry = counts.get(key);
    if (entry === undefined) counts.set(key, { forecast, n: 1 });
    else entry.n++;
  }
  for (const { forecast, n } of counts.values()) metrics.forecasts(forecast.tier, forecast.method, n);
}
