// The runtime dashboard: time and memory of batches, transactions, the engine and the process.

import type { DashboardFacts } from "./frame.ts";
import { graph, here, quantiles } from "./panel.ts";

export const runtime: DashboardFacts = {
  name: "runtime",
  title: "Kafka and runtime",
  description: "Batches, transactions, restores, the engine and the processes.",
  rows: {
    "Batches and transactions": [
      graph({
        title: "Records per batch",
        description:
          "Input records per batch and transaction. Normal: few under light load, the configured maximum while catching up.",
        unit: "short",
        queries: quantiles("forecastnet_batch_records", [0.5, 0.9]),
      }),
      graph({
        title: "Transactions by outcome",
        description:
          "Transactions per second by outcome. Normal: one aborted for each partition that moves. A steady share of aborted ones is not.",
        unit: "ops",
        queries: {
          "{{outcome}}": `sum by (outcome) (rate(forecastnet_transactions_total{${here}}[$__rate_interval]))`,
        },
      }),
      graph({
        title: "Time of a commit",
        description: "Time to commit one batch. Normal: about ten milliseconds on a quiet broker.",
        unit: "s",
        queries: quantiles("forecastnet_commit_duration_seconds", [0.5, 0.99]),
      }),
      graph({
        title: "Time of a batch by stage",
        description:
          "Average time of each stage per batch. Normal: forecast takes the most where models serve.",
        unit: "s",
        isStacked: true,
        queries: {
          "{{stage}}": `sum by (stage) (rate(forecastnet_stage_duration_seconds_sum{${here}}[$__rate_interval])) / sum by (stage) (rate(forecastnet_stage_duration_seconds_count{${here}}[$__rate_interval]))`,
        },
      }),
      graph({
        title: "Slowest batches by stage",
        description: "1 % of the batches take this long or longer in each stage.",
        unit: "s",
        queries: {
          "{{stage}} p99": `histogram_quantile(0.99, sum by (stage, le) (rate(forecastnet_stage_duration_seconds_bucket{${here}}[$__rate_interval])))`,
        },
      }),
      graph({
        title: "Batches waiting to be committed",
        description:
          "Batches computed ahead of the commit. If this stays above zero, the broker is the bottleneck.",
        unit: "short",
        queries: { "{{pod}} {{instance}}": `forecastnet_buffered_batches{${here}}` },
      }),
    ],
    "Partitions and restores": [
      graph({
        title: "Partitions being restored",
        description:
          "Owned partitions whose state is being restored. Normal: above zero only shortly after a rebalance.",
        unit: "short",
        queries: { "{{pod}} {{instance}}": `forecastnet_partitions_restoring{${here}}` },
      }),
      graph({
        title: "Time to restore a partition",
        description: "Time to restore the state of one partition. It grows with series and history.",
        unit: "s",
        queries: quantiles("forecastnet_restore_duration_seconds", [0.5, 0.99]),
      }),
      graph({
        title: "State changes",
        description:
          "State changes in five minutes. Normal: those of a start and a stop. A change to failed is not.",
        unit: "short",
        queries: {
          "{{from}} to {{to}}": `sum by (from, to) (increase(forecastnet_state_changes_total{${here}}[5m])) > 0`,
        },
      }),
    ],
    Engine: [
      graph({
        title: "Time in the engine",
        description:
          "Time from the request of a batch of forecasts to the answer, including the wait for a thread.",
        unit: "s",
        queries: quantiles("forecastnet_engine_batch_duration_seconds", [0.5, 0.99]),
      }),
      graph({
        title: "Forecasts waiting for a thread",
        description: "Normal: zero. If it stays above, add engine threads or workers.",
        unit: "short",
        queries: { "{{pod}} {{instance}}": `forecastnet_engine_waiting_forecasts{${here}}` },
      }),
      graph({
        title: "Memory of models",
        description: "Weights resident in the engine, in the process or on its device.",
        unit: "bytes",
        queries: { "{{pod}} {{instance}}": `forecastnet_engine_resident_bytes{${here}}` },
      }),
    ],
    Process: [
      graph({
        title: "Processor",
        description: "Cores in use by process, including engine and training threads.",
        unit: "short",
        queries: {
          "{{job}} {{pod}} {{instance}}": `rate(process_cpu_seconds_total{${here}}[$__rate_interval])`,
        },
      }),
      graph({
        title: "Resident memory",
        description:
          "It grows with series and models; growth without more of either is a leak. A container that reaches its limit is killed.",
        unit: "bytes",
        queries: {
          "{{job}} {{pod}} {{instance}}": `process_resident_memory_bytes{${here}}`,
          "{{job}} {{pod}} {{instance}} limit": `forecastnet_memory_limit_bytes{${here}} > 0`,
        },
      }),
      graph({
        title: "Heap and external memory",
        description:
          "A sawtooth of the heap is normal garbage collection. Series and models are external memory.",
        unit: "bytes",
        queries: {
          "{{pod}} {{instance}} heap": `nodejs_heap_size_used_bytes{${here}}`,
          "{{pod}} {{instance}} external": `nodejs_external_memory_bytes{${here}}`,
        },
      }),
      graph({
        title: "Event loop delay",
        description:
          "1 % of the turns of the event loop are late by this or more. Above a second, heartbeats are at risk.",
        unit: "s",
        warnAt: 1,
        queries: { "{{job}} {{pod}} {{instance}}": `nodejs_eventloop_lag_p99_seconds{${here}}` },
      }),
      graph({
        title: "Garbage collection",
        description: "Share of the time spent in garbage collection, by kind. Normal: a few per cent.",
        unit: "percentunit",
        queries: {
          "{{kind}}": `avg by (kind) (rate(nodejs_gc_duration_seconds_sum{${here}}[$__rate_interval]))`,
        },
      }),
      graph({
        title: "Uptime",
        description:
          "Time since the start of the process. A fall to zero is a restart; after several, check the log.",
        unit: "s",
        queries: { "{{job}} {{pod}} {{instance}}": `time() - process_start_time_seconds{${here}}` },
      }),
    ],
  },
};
