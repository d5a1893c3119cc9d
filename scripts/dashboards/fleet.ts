// The fleet at one look: is it there, does it keep up, how fresh are its forecasts.

import type { DashboardFacts } from "./frame.ts";
import { figure, graph, here, list } from "./panel.ts";
import { quantiles } from "./quantiles.ts";

export const fleet: DashboardFacts = {
  name: "fleet",
  title: "fleet",
  description: "Whether the workers are there, keep up with their input, and how fresh their forecasts are.",
  rows: {
    "At a glance": [
      figure({
        title: "Processes ready",
        description: "Workers and trainers that answer ready; normal is all of them.",
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
        description: "Series that the workers keep; it changes only as sensors come and go.",
        unit: "short",
        queries: { series: `sum(forecastnet_series{${here}})` },
      }),
      figure({
        title: "Forecasts",
        description:
          "Forecasts per second over all series; about one per series and interval, none where nothing comes in.",
        unit: "ops",
        queries: { forecasts: `sum(rate(forecastnet_forecasts_total{${here}}[$__rate_interval]))` },
      }),
      figure({
        title: "Records waiting",
        description: "Input that no worker has taken yet; near zero is normal, a peak after a restart too.",
        unit: "short",
        queries: {
          lag: `sum(forecastnet_lag_records{${here}} and on (job, instance) forecastnet_engine_info)`,
        },
        colours: [[10_000, "orange"]],
      }),
      figure({
        title: "Arrival to commit",
        description:
          "Nine batches in ten are forecast and committed within this time of their arrival in Kafka; below a second is normal.",
        unit: "s",
        queries: quantiles("forecastnet_arrival_to_commit_seconds", [0.9]),
        colours: [
          [5, "orange"],
          [30, "red"],
        ],
      }),
      figure({
        title: "Dead letters",
        description: "Records set aside in the last hour because they could not be used; none is normal.",
        unit: "short",
        queries: { "dead letters": `sum(increase(forecastnet_dead_letters_total{${here}}[1h]))` },
        colours: [[1, "orange"]],
      }),
    ],
    Flow: [
      graph({
        title: "Observations by outcome",
        description:
          "What became of observations per second; advanced is the usual one, too-late says that history is shorter than data is late.",
        unit: "ops",
        isStacked: true,
        queries: {
          "{{outcome}}": `sum by (outcome) (rate(forecastnet_observations_total{${here}}[$__rate_interval]))`,
        },
      }),
      graph({
        title: "Forecasts by tier and method",
        description:
          "Forecasts per second by what made them; the cold tier serves series that have no model yet or that are best without.",
        unit: "ops",
        isStacked: true,
        queries: {
          "{{tier}} {{method}}": `sum by (tier, method) (rate(forecastnet_forecasts_total{${here}}[$__rate_interval]))`,
        },
      }),
      graph({
        title: "Dead letters by reason",
        description: "Records per second that could not be used; a jump of one reason is a broken producer.",
        unit: "ops",
        isStacked: true,
        queries: {
          "{{reason}}": `sum by (reason) (rate(forecastnet_dead_letters_total{${here}}[$__rate_interval]) > 0)`,
        },
      }),
      graph({
        title: "Records waiting by worker",
        description: "Input not yet taken, by worker; it may jump, it should not grow.",
        unit: "short",
        queries: {
          "{{pod}} {{instance}}": `forecastnet_lag_records{${here}} and on (job, instance) forecastnet_engine_info`,
        },
      }),
      graph({
        title: "Skipped origins",
        description:
          "Steps per second that got no forecast of their own because the worker was far behind; none is normal.",
        unit: "ops",
        queries: {
          "{{pod}} {{instance}}": `sum by (pod, instance) (rate(forecastnet_skipped_origins_total{${here}}[$__rate_interval]))`,
        },
      }),
      graph({
        title: "Series by worker",
        description:
          "Series that each worker keeps; even shares are normal, a step is a partition that changed hands.",
        unit: "short",
        isStacked: true,
        queries: { "{{pod}} {{instance}}": `sum by (pod, instance) (forecastnet_series{${here}}) > 0` },
      }),
    ],
    Freshness: [
      graph({
        title: "Arrival to commit",
        description:
          "From the arrival of a batch in Kafka to the commit of its forecasts; 60 seconds is the most it can show.",
        unit: "s",
        warnAt: 30,
        queries: quantiles("forecastnet_arrival_to_commit_seconds", [0.5, 0.9, 0.99]),
      }),
      graph({
        title: "Event to commit",
        description:
          "From the time that an observation bears to the commit of its forecast; how late sensors report is part of it, and a replay shows as days.",
        unit: "s",
        queries: quantiles("forecastnet_event_to_commit_seconds", [0.5, 0.9]),
      }),
      graph({
        title: "Ready",
        description: "1 while a process answers ready; a short gap at a restart is normal.",
        unit: "short",
        max: 1,
        queries: { "{{job}} {{pod}} {{instance}}": `forecastnet_ready{${here}}` },
      }),
    ],
    Processes: [
      graph({
        title: "Partitions owned",
        description: "Partitions by process; even shares are normal, a process with none has nothing to do.",
        unit: "short",
        queries: { "{{job}} {{pod}} {{instance}}": `forecastnet_partitions_owned{${here}}` },
      }),
      list({
        title: "Versions",
        description: "Which release runs where; one version is normal, except during an upgrade.",
        unit: "short",
        queries: { version: `count by (job, version, node) (forecastnet_build_info{${here}})` },
      }),
      list({
        title: "Engines",
        description:
          "What runs the models and on which device; a worker that should have a GPU and says cpu has lost it.",
        unit: "short",
        queries: { engine: `count by (job, pod, instance, name, device) (forecastnet_engine_info{${here}})` },
      }),
    ],
  },
};
