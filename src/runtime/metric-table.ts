// Every metric as data: kind, name, help, labels with their values, buckets. `metrics.ts` builds the metrics from this
// table; docs/metrics.md is generated from it. Names end in their unit.
//
// A label whose values are listed here starts at 0 for each of them, so that the first event is an increase. A label with
// `open` values is bounded by the release, the forecasting method or the configuration.

import { deadLetterReasons } from "../domain.ts";

export interface MetricSpec {
  readonly kind: "counter" | "gauge" | "histogram";
  /** Without the prefix `forecastnet_`. */
  readonly name: string;
  readonly help: string;
  readonly labels: Readonly<Record<string, readonly string[]>>;
  readonly buckets: readonly number[];
  readonly isDistribution?: boolean;
}

const open: readonly string[] = [];

function counter<const L extends MetricSpec["labels"]>(name: string, help: string, labels: L) {
  return { kind: "counter", name, help, labels, buckets: [] } as const;
}

function gauge<const L extends MetricSpec["labels"]>(name: string, help: string, labels: L) {
  return { kind: "gauge", name, help, labels, buckets: [] } as const;
}

function histogram<const L extends MetricSpec["labels"]>(
  name: string,
  help: string,
  labels: L,
  buckets: readonly number[],
) {
  return { kind: "histogram", name, help, labels, buckets } as const;
}

/** A histogram of the series as they are now, counted elsewhere. */
function distribution<const L extends MetricSpec["labels"]>(
  name: string,
  help: string,
  labels: L,
  buckets: readonly number[],
) {
  return { ...histogram(name, help, labels, buckets), isDistribution: true } as const;
}

/** From a millisecond to a minute: a commit takes about ten milliseconds, longer while a worker catches up. */
const seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
/** A stage takes tens of microseconds to a few seconds. */
const stageSeconds = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];
/** Up to a week, for late sensors and replays. */
const eventSeconds = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3_600, 21_600, 86_400, 604_800];
const longSeconds = [0.1, 0.3, 1, 3, 10, 30, 60, 120, 300, 600, 1_800, 3_600];
const sizes = [1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000];
const scaledErrors = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 2, 3, 5, 10];
const shares = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.975, 0.99, 1];

/** Reasons why a model record cannot serve. */
const refusals = ["unreadable", "horizon", "targets", "history"] as const;
export const stages = ["decode", "window", "forecast", "score", "encode"] as const;

export const metricTable = {
  buildInfo: gauge("build_info", "Always 1. The labels hold the versions of the product and of Node.", {
    version: open,
    node: open,
  }),

  // The path of an observation.
  observations: counter("observations_total", "Observations, by outcome.", {
    // biome-ignore format: one line reads better
    outcome: ["advanced", "late-amended", "duplicate", "too-late", "wrong-channels", "too-many-series", "interval-pending", "interval-found"],
  }),
  deadLetters: counter("dead_letters_total", "Input records written to the dead-letter topic, by reason.", {
    reason: deadLetterReasons,
  }),
  failedBatches: counter(
    "failed_batches_total",
    "Batches that failed because of a record in them. Each was retried from the last commit in smaller batches.",
    {},
  ),
  batchRecords: histogram("batch_records", "Input records per batch of a partition.", {}, sizes),
  stageDuration: histogram(
    "stage_duration_seconds",
    "Time of a stage for one batch.",
    { stage: stages },
    stageSeconds,
  ),
  skippedOrigins: counter(
    "skipped_origins_total",
    "Completed steps without a forecast of their own, because the worker was far behind.",
    {},
  ),
  seriesResets: counter("series_resets_total", "Series restarted because their settings changed.", {
    reason: ["interval"],
  }),
  seriesForgotten: counter(
    "series_forgotten_total",
    "Series whose state, scores and model were deleted, because they were silent or by order.",
    { reason: ["silent", "ordered"] },
  ),
  forecasts: counter("forecasts_total", "Forecasts computed, by tier and method.", {
    tier: open,
    method: open,
  }),
  commitDuration: histogram(
    "commit_duration_seconds",
    "Time to commit one batch, including retries.",
    {},
    seconds,
  ),
  transactions: counter("transactions_total", "Transactions, by outcome.", {
    outcome: ["committed", "aborted"],
  }),
  inputGaps: counter(
    "input_gaps_total",
    "Gaps in the input: records deleted by retention before they were read, a recreated topic, or an end lost in an unclean leader election.",
    { kind: ["retention", "recreated", "truncated"] },
  ),
  inputLost: counter("input_lost_records_total", "Offsets that retention deleted before they were read.", {}),
  arrivalLatency: histogram(
    "arrival_to_commit_seconds",
    "Time from the arrival of a batch's newest observation in Kafka to the commit of its forecasts.",
    {},
    seconds,
  ),
  eventLatency: histogram(
    "event_to_commit_seconds",
    "Time from the event time of a batch's newest observation to the commit of its forecasts.",
    {},
    eventSeconds,
  ),

  // Models that forecast.
  engineBatchForecasts: histogram(
    "engine_batch_forecasts",
    "Forecasts per request to the engine.",
    {},
    sizes,
  ),
  engineBatchDuration: histogram(
    "engine_batch_duration_seconds",
    "Time from the request of a batch of forecasts to the engine's answer, including the wait for a thread.",
    {},
    seconds,
  ),
  modelFallbacks: counter(
    "model_fallbacks_total",
    "Windows forecast by the cold tier because their model failed, by reason.",
    { reason: ["channels", "window-unfit", "model-unfit"] },
  ),
  modelsRefused: counter(
    "models_refused_total",
    "Model records that cannot serve, by reason. Their series stay in the cold tier.",
    { reason: refusals },
  ),
  engineInfo: gauge("engine_info", "Always 1. The labels hold the engine and its device.", {
    name: open,
    device: open,
  }),
  engineModels: gauge("engine_resident_models", "Models resident in the engine.", {}),
  engineBytes: gauge("engine_resident_bytes", "Memory of the weights resident in the engine.", {}),
  engineWaitingForecasts: gauge("engine_waiting_forecasts", "Forecasts waiting for an engine thread.", {}),

  // Forecast quality. `fleet-quality.ts` counts the series of the histograms, and a series moves between buckets: counts may fall.
  scoredSteps: counter(
    "scored_steps_total",
    "Forecast steps scored by an observation. A forecast has as many steps as its horizon.",
    {},
  ),
  scoresDropped: counter(
    "live_scores_dropped_total",
    "Series whose live scores were dropped when a partition was taken over, because they do not fit the configured levels or horizon.",
    {},
  ),
  seriesMase: distribution(
    "series_mase",
    "Rolling MASE of every series with at least a horizon of scores, at the time of the scrape.",
    {},
    scaledErrors,
  ),
  seriesCrps: distribution(
    "series_scaled_crps",
    "Rolling CRPS, divided by the naive error, of every series with at least a horizon of scores, at the time of the scrape.",
    {},
    scaledErrors,
  ),
  seriesCoverage: distribution(
    "series_coverage",
    "Rolling coverage of the interval with the stated probability, of every series, at the time of the scrape.",
    { stated: open },
    shares,
  ),
  worstSeries: gauge(
    "worst_series_mase",
    "Rolling MASE of the worst series of this worker. metrics.worstSeries is their number.",
    { series_id: open },
  ),
  namedSeries: gauge(
    "named_series_mase",
    "Rolling MASE of the series that match metrics.series, at most 100.",
    { series_id: open },
  ),

  // Training and decisions.
  decisions: counter("model_decisions_total", "Decisions about models that took effect, by kind.", {
    // biome-ignore format: one line reads better
    kind: ["drifted", "recovered", "requested", "failed", "refused", "promoted", "confirmed", "rolled-back", "retired"],
  }),
  evaluated: counter("series_evaluated_total", "Series evaluated on schedule.", {}),
  needs: counter(
    "training_wishes_total",
    "Trainings found necessary by scheduled evaluations, whether started or not.",
    {},
  ),
  trainings: counter("trainings_total", "Trainings that ended in this process, by outcome.", {
    outcome: ["trained", "failed", "cancelled"],
  }),
  trainingDuration: histogram(
    "training_duration_seconds",
    "Time from the start of a training to its end.",
    {},
    longSeconds,
  ),
  trainingCpu: counter(
    "training_cpu_seconds_total",
    "Processor time of trainings that this process asked for, here or in a trainer.",
    {},
  ),
  trainingBudget: gauge(
    "training_budget_seconds",
    "Processor time that trainings may take now (retrain.cpuSecondsPerHour). Below 0, trainings wait.",
    {},
  ),
  modelMessagesRefused: counter(
    "model_messages_refused_total",
    "Records on the models topic that cannot be used, by reason. The serving models are not affected.",
    { reason: refusals },
  ),
  retrainingFailures: counter(
    "retraining_failures_total",
    "Failures of retraining itself. The log has the reason.",
    {},
  ),
  inFlight: gauge("trainings_in_flight", "Trainings running in this process.", {}),
  waiting: gauge("trainings_waiting", "Trainings that are due but have not started.", {}),
  phases: gauge("series_by_phase", "Series, by phase of their model.", {
    phase: ["cold", "training", "champion", "drifting"],
  }),

  // The process.
  state: gauge("worker_state", "1 for the present state of the process, 0 for the others.", {
    state: ["starting", "joining", "running", "stopping", "stopped", "failed"],
  }),
  stateChanges: counter("state_changes_total", "State changes of the process.", { from: open, to: open }),
  ready: gauge("ready", "1 while /readyz answers 200, otherwise 0.", {}),
  memoryLimit: gauge("memory_limit_bytes", "Memory limit of the container; 0 without a limit.", {}),
  partitions: gauge("partitions_owned", "Input partitions owned by this process.", {}),
  waitingPartitions: gauge(
    "partitions_waiting",
    "Owned partitions that were added to an input topic and that the worker's own topics lack. They are not read.",
    {},
  ),
  restoring: gauge("partitions_restoring", "Owned partitions whose state is still being restored.", {}),
  restoredBlocks: counter("restored_blocks_total", "State blocks read while partitions were restored.", {}),
  restoreDuration: histogram("restore_duration_seconds", "Time to restore one partition.", {}, longSeconds),
  series: gauge("series", "Series of this worker.", {}),
  models: gauge("models", "Models that serve series of this worker.", {}),
  lag: gauge("lag_records", "Input records in Kafka that the worker has not taken yet.", {}),
  buffered: gauge("buffered_batches", "Computed batches waiting for their commit.", {}),
} as const satisfies Record<string, MetricSpec>;

type Table = typeof metricTable;

/** The values of a metric's label; any text where they are open. */
export type LabelValue<
  M extends keyof Table,
  L extends keyof Table[M]["labels"],
> = Table[M]["labels"][L] extends readonly (infer V)[] ? V : never;
