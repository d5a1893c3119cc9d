// The quality dashboard: rolling scores of all series at the time of the scrape. They are not counters, so no query takes
// their rate.

import type { DashboardFacts } from "./frame.ts";
import { figure, graph, here, list, overSeries } from "./panel.ts";

const coverage = `sum by (stated) (forecastnet_series_coverage_sum{${here}}) / sum by (stated) (forecastnet_series_coverage_count{${here}})`;

export const quality: DashboardFacts = {
  name: "quality",
  title: "forecasting quality",
  description: "Rolling scores of all series: errors, coverage, and the worst series.",
  rows: {
    "At a glance": [
      figure({
        title: "Series with scores",
        description: "Series with at least a horizon of scores; the others are too young.",
        unit: "short",
        queries: { series: `sum(forecastnet_series_mase_count{${here}})` },
      }),
      figure({
        title: "Median MASE",
        description:
          "Half of the series have a lower rolling MASE. 1 is the error of repeating the last value one step ahead.",
        unit: "short",
        queries: overSeries("forecastnet_series_mase", [0.5]),
        colours: [
          [1, "orange"],
          [2, "red"],
        ],
      }),
      figure({
        title: "Better than 1",
        description:
          "Share of the series with a rolling MASE of at most 1. It is lower for long horizons and noisy series.",
        unit: "percentunit",
        queries: {
          share: `sum(forecastnet_series_mase_bucket{${here},le="1"}) / sum(forecastnet_series_mase_count{${here}})`,
        },
        base: "blue",
      }),
      figure({
        title: "Coverage",
        description:
          "Rolling coverage of the intervals of each stated probability, averaged over the series. Normal: near the stated probability.",
        unit: "percentunit",
        queries: { "{{stated}}": coverage },
        base: "blue",
      }),
      figure({
        title: "Drifting",
        description: "Share of the models that are stale. Normal: a few per cent; they are retrained.",
        unit: "percentunit",
        queries: {
          share: `sum(forecastnet_series_by_phase{${here},phase="drifting"}) / sum(forecastnet_series_by_phase{${here},phase=~"drifting|champion"})`,
        },
        colours: [
          [0.1, "orange"],
          [0.25, "red"],
        ],
      }),
      figure({
        title: "Steps scored",
        description: "Forecast steps scored per second. A forecast has as many steps as its horizon.",
        unit: "ops",
        queries: { steps: `sum(rate(forecastnet_scored_steps_total{${here}}[$__rate_interval]))` },
      }),
    ],
    Errors: [
      graph({
        title: "MASE over the series",
        description:
          "Rolling MASE over all series. A rise of p50 is a change in the data of most series, a rise of p99 in that of a few.",
        unit: "short",
        queries: overSeries("forecastnet_series_mase", [0.1, 0.5, 0.9, 0.99]),
      }),
      graph({
        title: "Scaled CRPS over the series",
        description:
          "Rolling CRPS divided by the naive error: like MASE, but for the whole distribution. It rises alone when only the spread is wrong.",
        unit: "short",
        queries: overSeries("forecastnet_series_scaled_crps", [0.1, 0.5, 0.9, 0.99]),
      }),
      graph({
        title: "Series by MASE",
        description: "Number of series up to each MASE. Falling lower bounds are series that get worse.",
        unit: "short",
        queries: { "up to {{le}}": `sum by (le) (forecastnet_series_mase_bucket{${here}})` },
      }),
    ],
    Intervals: [
      graph({
        title: "Coverage by stated probability",
        description:
          "Rolling coverage, averaged over the series. Normal: each line is near the probability in its name.",
        unit: "percentunit",
        max: 1,
        queries: { "{{stated}}": coverage },
      }),
      graph({
        title: "Coverage of the lowest series",
        description:
          "10 % of the series have this coverage or less. A value far below the average means trouble with a few series, not with all.",
        unit: "percentunit",
        max: 1,
        queries: {
          "{{stated}}, p10": `histogram_quantile(0.1, sum by (stated, le) (forecastnet_series_coverage_bucket{${here}}))`,
        },
      }),
      graph({
        title: "Forecasts by tier",
        description:
          "Share of the forecasts of each tier. If the cold share grows although models are expected, check the retraining.",
        unit: "percentunit",
        isStacked: true,
        max: 1,
        queries: {
          "{{tier}}": `sum by (tier) (rate(forecastnet_forecasts_total{${here}}[$__rate_interval])) / ignoring (tier) group_left () sum(rate(forecastnet_forecasts_total{${here}}[$__rate_interval]))`,
        },
      }),
    ],
    Series: [
      list({
        title: "Worst series",
        description:
          "Series with the highest rolling MASE, a few per worker. Some series are always the worst; new names matter.",
        unit: "short",
        queries: { mase: `topk(20, max by (series_id) (forecastnet_worst_series_mase{${here}}))` },
      }),
      graph({
        title: "Configured series",
        description: "Rolling MASE of the series that metrics.series names; empty if it names none.",
        unit: "short",
        span: 16,
        queries: { "{{series_id}}": `max by (series_id) (forecastnet_named_series_mase{${here}})` },
      }),
    ],
  },
};
