// The fleet dashboard: whether the workers run, whether they keep up, and how fresh their forecasts are.

import type { DashboardFacts } from "./frame.ts";
import { figure, graph, here, list, quantiles } from "./panel.ts";

export const fleet: DashboardFacts = {
  name: "fleet",
  title: "fleet",
  description:
    "Whether the workers run, whether they keep up with their input, and how fresh their forecasts are.",
  rows: {
    "At a glance": [
      figure({
        title: "Processes ready",
        description: "Share of the workers and trainers that are ready. Normal: all of them.",
        unit: "percentunit",
        queries: { ready: `avg(forecastnet_ready{${here}})` },
        base: "red",
        colours: [
          [0.5, "orange"],
          [1, "green"],
        ],
      }),
      figure({
        title: "Series",
        description: "Series of all workers. The number changes only when sensors come and go.",
        unit: "short",
        queries: { series: `sum(forecastnet_series{${here}})` },
      }),
      figure({
        title: "Forecasts",
        description: "Forecasts per second over all series. Normal: about one per series and interval.",
        unit: "ops",
        queries: { forecasts: `sum(rate(forecastnet_forecasts_total{${here}}[$__rate_interval]))` },
      }),
      figure({
        title: "Records waiting",
        description:
          "Input records that no worker has taken yet. Normal: near zero, with a peak after a restart.",
        unit: "short",
        queries: {
          lag: `sum(forecastnet_lag_records{${here}} and on (job, instance) forecastnet_engine_info)`,
        },
        colours: [[10_000, "orange"]],
      }),
      figure({
        title: "Arrival to commit",
        description:
          "90 % of the batches are committed within this time of their arrival in Kafka. Normal: below a second.",
        unit: "s",
        queries: quantiles("forecastnet_arrival_to_commit_seconds", [0.9]),
        colours: [
          [5, "orange"],
          [30, "red"],
        ],
      }),
      figure({
        title: "Dead letters",
        description: "Records of the last hour that could not be used. Normal: none.",
        unit: "short",
        queries: { "dead letters": `sum(increase(forecastnet_dead_letters_total{${here}}[1h]))` },
        colours: [[1, "orange"]],
      }),
    ],
    Flow: [
      graph({
        title: "Observations by outcome",
        description:
          "Observations per second by outcome. Normal: mostly advanced. too-late means that data arrives later than the history is long.",
        unit: "ops",
        isStacked: true,
        queries: {
          "{{outcome}}": `sum by (outcome) (rate(forecastnet_observations_total{${here}}[$__rate_interval]))`,
        },
      }),
      graph({
        title: "Forecasts by tier and method",
        description:
          "Forecasts per second by tier and method. The cold tier serves series that have no model yet or do better without one.",
        unit: "ops",
        isStacked: true,
        queries: {
          "{{tier}} {{method}}": `sum by (tier, method) (rate(forecastnet_forecasts_total{${here}}[$__rate_interval]))`,
        },
      }),
      graph({
        title: "Dead letters by reason",
        description:
          "Records per second that could not be used. A jump of one reason points to a broken producer.",
        unit: "ops",
        isStacked: true,
        queries: {
          "{{reason}}": `sum by (reason) (rate(forecastnet_dead_letters_total{${here}}[$__rate_interval]) > 0)`,
        },
      }),
      graph({
        title: "Records waiting by worker",
        description: "Input records not taken yet, by worker. A jump is normal, steady growth is not.",
        unit: "short",
        queries: {
          "{{pod}} {{instance}}": `forecastnet_lag_records{${here}} and on (job, instance) forecastnet_engine_info`,
        },
      }),
      graph({
        title: "Skipped origins",
        description:
          "Steps per second without a forecast of their own, because the worker was far behind. Normal: none.",
        unit: "ops",
        queries: {
          "{{pod}} {{instance}}": `sum by (pod, instance) (rate(forecastnet_skipped_origins_total{${here}}[$__rate_interval]))`,
        },
      }),
      graph({
        title: "Series by worker",
        description:
          "Series of each worker. Normal: even shares. A step is a partition that moved to another worker.",
        unit: "short",
        isStacked: true,
        queries: { "{{pod}} {{instance}}": `sum by (pod, instance) (forecastnet_series{${here}}) > 0` },
      }),
    ],
    Freshness: [
      graph({
        title: "Arrival to commit",
        description:
          "Time from the arrival of a batch in Kafka to the commit of its forecasts. The panel shows at most 60 seconds.",
        unit: "s",
        warnAt: 30,
        queries: quantiles("forecastnet_arrival_to_commit_seconds", [0.5, 0.9, 0.99]),
      }),
      graph({
        title: "Event to commit",
        description:
          "Time from the event time of an observation to the commit of its forecast. It includes the delay of the sensors; a replay shows as days.",
        unit: "s",
        queries: quantiles("forecastnet_event_to_commit_seconds", [0.5, 0.9]),
      }),
      graph({
        title: "Ready",
        description: "1 while a process is ready. Normal: a short gap at a restart.",
        unit: "short",
        max: 1,
        queries: { "{{job}} {{pod}} {{instance}}": `forecastnet_ready{${here}}` },
      }),
    ],
    Processes: [
      graph({
        title: "Partitions owned",
        description: "Partitions by process. Normal: even shares. A process without partitions is idle.",
        unit: "short",
        queries: { "{{job}} {{pod}} {{instance}}": `forecastnet_partitions_owned{${here}}` },
      }),
      list({
        title: "Versions",
        description: "Releases that run. Normal: one, except during an upgrade.",
        unit: "short",
        queries: { version: `count by (job, version, node) (forecastnet_build_info{${here}})` },
      }),
      list({
        title: "Engines",
        description:
          "Engine and device of each worker. A worker that should have a GPU and shows cpu has lost it.",
        unit: "short",
        queries: { engine: `count by (job, pod, instance, name, device) (forecastnet_engine_info{${here}})` },
      }),
    ],
  },
};
