// Queries for quantiles of histograms, by legend.

import { here, type Queries } from "./panel.ts";

/** Of what was counted lately. */
export function quantiles(metric: string, levels: readonly number[]): Queries {
  return atLevels(levels, `sum by (le) (rate(${metric}_bucket{${here}}[$__rate_interval]))`);
}

/** Of a histogram that holds all series as they stand, and so has no rate. */
export function overSeries(metric: string, levels: readonly number[]): Queries {
  return atLevels(levels, `sum by (le) (${metric}_bucket{${here}})`);
}

function atLevels(levels: readonly number[], counts: string): Queries {
  return Object.fromEntries(
    levels.map((level) => [`p${100 * level}`, `histogram_quantile(${level}, ${counts})`]),
  );
}
