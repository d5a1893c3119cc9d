// How good the forecasts are: scores of all series as they stand, taken anew at every scrape. They are no
// counters, so nothing here takes a rate of them.

import type { DashboardFacts } from "./frame.ts";
import { figure, graph, here, list } from "./panel.ts";
import { overSeries } from "./quantiles.ts";

const coverage = `sum by (stated) (forecastnet_series_coverage_sum{${here}}) / sum by (stated) (forecastnet_series_coverage_count{${here}})`;

export const quality: DashboardFacts = {
  name: "quality",
  title: "forecasting quality",
  description: "Rolling scores of all series: errors, intervals, and the series that do worst.",
  rows: {
    "At a glance": [
      figure({
        title: "Series with scores",
        description: "Series that have been scored for a horizon at least; the others are too young.",
        unit: "short",
        queries: { series: `sum(forecastnet_series_mase_count{${here}})` },
      }),
      figure({
        title: "Median MASE",
        description:
          "Half of the series do better than this; 1 is as good as repeating the last value one step ahead.",
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
          "Share of the series with a MASE of 1 or less; long horizons and noisy series have fewer of them.",
        unit: "percentunit",
        queries: {
          share: `sum(forecastnet_series_mase_bucket{${here},le="1"}) / sum(forecastnet_series_mase_count{${here}})`,
        },
        base: "blue",
      }),
      figure({
        title: "Coverage",
        description:
          "What the intervals of each stated probability have held, on average over the series; near what they state is normal.",
        unit: "percentunit",
        queries: { "{{stated}}": coverage },
        base: "blue",
      }),
      figure({
        title: "Drifting",
        description: "Share of the models that are stale; a few per cent are normal, they are learnt anew.",
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
        description:
          "Steps of forecasts per second that an observation has scored; a forecast has as many as its horizon.",
        unit: "ops",
        queries: { steps: `sum(rate(forecastnet_scored_steps_total{${here}}[$__rate_interval]))` },
      }),
    ],
    Errors: [
      graph({
        title: "MASE over the series",
        description:
          "Rolling MASE of the fleet's series; a rise of p50 is a change in the data of most, of p99 in that of a few.",
        unit: "short",
        queries: overSeries("forecastnet_series_mase", [0.1, 0.5, 0.9, 0.99]),
      }),
      graph({
        title: "Scaled CRPS over the series",
        description:
          "Rolling CRPS over the naive error: as MASE, but for the whole distribution; it rises alone when only the spread is wrong.",
        unit: "short",
        queries: overSeries("forecastnet_series_scaled_crps", [0.1, 0.5, 0.9, 0.99]),
      }),
      graph({
        title: "Series by MASE",
        description:
          "How many series lie up to each bound; bands that wander upwards are series getting worse.",
        unit: "short",
        queries: { "up to {{le}}": `sum by (le) (forecastnet_series_mase_bucket{${here}})` },
      }),
    ],
    Intervals: [
      graph({
        title: "Coverage by stated probability",
        description:
          "What intervals have held, on average over the series; each line should run near the number in its name.",
        unit: "percentunit",
        max: 1,
        queries: { "{{stated}}": coverage },
      }),
      graph({
        title: "Coverage of the series that hold least",
        description:
          "One series in ten holds this much or less; far below the average there are a few series in trouble, not all.",
        unit: "percentunit",
        max: 1,
        queries: {
          "{{stated}}, p10": `histogram_quantile(0.1, sum by (stated, le) (forecastnet_series_coverage_bucket{${here}}))`,
        },
      }),
      graph({
        title: "Forecasts by tier",
        description:
          "Share of the forecasts made by each tier; a growing cold share where models are expected needs a look at retraining.",
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
          "The series with the highest rolling MASE, a few of each worker; some series are always the worst, new names matter.",
        unit: "short",
        queries: { mase: `topk(20, max by (series_id) (forecastnet_worst_series_mase{${here}}))` },
      }),
      graph({
        title: "Series chosen by name",
        description: "Rolling MASE of the series that the configuration names; empty where it names none.",
        unit: "short",
        span: 16,
        queries: { "{{series_id}}": `max by (series_id) (forecastnet_named_series_mase{${here}})` },
      }),
    ],
  },
};
