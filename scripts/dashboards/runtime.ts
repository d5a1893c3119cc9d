// Where the time and the memory go: batches and transactions on Kafka, the engine, the process.

import type { DashboardFacts } from "./frame.ts";
import { graph, here } from "./panel.ts";
import { quantiles } from "./quantiles.ts";

export const runtime: DashboardFacts = {
  name: "runtime",
  title: "Kafka and runtime",
  description: "Batches, transactions, restores, the engine and the processes.",
  rows: {
    "Batches and transactions": [
      graph({
        title: "Records per batch",
        description:
          "Input records in one batch and transaction; small under light load, the configured most when catching up.",
        unit: "short",
        queries: quantiles("forecastnet_batch_records", [0.5, 0.9]),
      }),
      graph({
        title: "Transactions by outcome",
        description:
          "Transactions per second; one aborted for each partition that changes hands is normal, a steady share is not.",
        unit: "ops",
        queries: {
          "{{outcome}}": `sum by (outcome) (rate(forecastnet_transactions_total{${here}}[$__rate_interval]))`,
        },
      }),
      graph({
        title: "Commit",
        description: "Time to commit one batch; about ten milliseconds on a quiet broker.",
        unit: "s",
        queries: quantiles("forecastnet_commit_duration_seconds", [0.5, 0.99]),
      }),
      graph({
        title: "Time of a batch by stage",
        description:
          "Average seconds that each stage spends on a batch; forecast is the largest where models serve.",
        unit: "s",
        isStacked: true,
        queries: {
          "{{stage}}": `sum by (stage) (rate(forecastnet_stage_duration_seconds_sum{${here}}[$__rate_interval])) / sum by (stage) (rate(forecastnet_stage_duration_seconds_count{${here}}[$__rate_interval]))`,
        },
      }),
      graph({
        title: "Slowest batches by stage",
        description: "One batch in a hundred takes this long or longer in each stage.",
        unit: "s",
        queries: {
          "{{stage}} p99": `histogram_quantile(0.99, sum by (stage, le) (rate(forecastnet_stage_duration_seconds_bucket{${here}}[$__rate_interval])))`,
        },
      }),
      graph({
        title: "Batches waiting to be committed",
        description:
          "Batches computed ahead of the commit; above zero for long says that the broker is what is slow.",
        unit: "short",
        queries: { "{{pod}} {{instance}}": `forecastnet_buffered_batches{${here}}` },
      }),
    ],
    "Partitions and restores": [
      graph({
        title: "Partitions being restored",
        description:
          "Owned partitions whose state is not back yet; above zero only for a while after a rebalance.",
        unit: "short",
        queries: { "{{pod}} {{instance}}": `forecastnet_partitions_restoring{${here}}` },
      }),
      graph({
        title: "Restore of a partition",
        description: "Time to read back the state of one partition; it grows with series and history.",
        unit: "s",
        queries: quantiles("forecastnet_restore_duration_seconds", [0.5, 0.99]),
      }),
      graph({
        title: "State changes",
        description:
          "Changes of state in five minutes; those of a start and a stop are normal, failed is not.",
        unit: "short",
        queries: {
          "{{from}} to {{to}}": `sum by (from, to) (increase(forecastnet_state_changes_total{${here}}[5m])) > 0`,
        },
      }),
    ],
    Engine: [
      graph({
        title: "Time in the engine",
        description: "From asking for a batch of forecasts to having them, waiting included.",
        unit: "s",
        queries: quantiles("forecastnet_engine_batch_duration_seconds", [0.5, 0.99]),
      }),
      graph({
        title: "Forecasts waiting for a thread",
        description: "Above zero for long: more engine threads, or more workers.",
        unit: "short",
        queries: { "{{pod}} {{instance}}": `forecastnet_engine_waiting_forecasts{${here}}` },
      }),
      graph({
        title: "Memory of models",
        description: "Weights that the engine holds ready, in the process or on its device.",
        unit: "bytes",
        queries: { "{{pod}} {{instance}}": `forecastnet_engine_resident_bytes{${here}}` },
      }),
    ],
    Process: [
      graph({
        title: "Processor",
        description: "Cores in use by process; engine and training threads included.",
        unit: "short",
        queries: {
          "{{job}} {{pod}} {{instance}}": `rate(process_cpu_seconds_total{${here}}[$__rate_interval])`,
        },
      }),
      graph({
        title: "Resident memory",
        description:
          "It follows series and models; a climb without more of either is a leak. At its limit a container is killed.",
        unit: "bytes",
        queries: {
          "{{job}} {{pod}} {{instance}}": `process_resident_memory_bytes{${here}}`,
          "{{job}} {{pod}} {{instance}} limit": `forecastnet_memory_limit_bytes{${here}} > 0`,
        },
      }),
      graph({
        title: "Heap and memory outside of it",
        description: "A sawtooth of the heap is the collector at work; series and models lie outside of it.",
        unit: "bytes",
        queries: {
          "{{pod}} {{instance}} heap": `nodejs_heap_size_used_bytes{${here}}`,
          "{{pod}} {{instance}} outside": `nodejs_external_memory_bytes{${here}}`,
        },
      }),
      graph({
        title: "Delay of the event loop",
        description: "One turn in a hundred comes this much late; above a second heartbeats suffer.",
        unit: "s",
        warnAt: 1,
        queries: { "{{job}} {{pod}} {{instance}}": `nodejs_eventloop_lag_p99_seconds{${here}}` },
      }),
      graph({
        title: "Garbage collection",
        description: "Share of the time spent collecting, by kind; a few per cent are normal.",
        unit: "percentunit",
        queries: {
          "{{kind}}": `avg by (kind) (rate(nodejs_gc_duration_seconds_sum{${here}}[$__rate_interval]))`,
        },
      }),
      graph({
        title: "Time since start",
        description: "A fall to zero is a restart; many of them need a look at the log.",
        unit: "s",
        queries: { "{{job}} {{pod}} {{instance}}": `time() - process_start_time_seconds{${here}}` },
      }),
    ],
  },
};
