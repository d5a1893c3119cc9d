// Every metric of the product as data: kind, name, help, labels with the values they take, buckets. What counts,
// `metrics.ts` makes from this table; docs/metrics.md is generated from it. Names end in their unit.
//
// A label whose values are listed here begins at 0 for each of them, so that the first event is an increase. One with
// `open` values is bounded otherwise: by the release, the method of forecasting, or a number in the configuration.

import { deadLetterReasons } from "../domain.ts";

export interface MetricSpec {
  readonly kind: "counter" | "gauge" | "histogram";
  /** Without the prefix. */
  readonly name: string;
  readonly help: string;
  readonly labels: Readonly<Record<string, readonly string[]>>;
  readonly buckets: readonly number[];
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

/** From a millisecond to a minute: a commit takes about ten, a worker that catches up takes seconds. */
const seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
/** A stage takes from some dozens of microseconds to some seconds. */
const stageSeconds = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];
/** Sensors that report late, and replays: up to a week. */
const eventSeconds = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3_600, 21_600, 86_400, 604_800];
/** From a tenth of a second to an hour. */
const longSeconds = [0.1, 0.3, 1, 3, 10, 30, 60, 120, 300, 600, 1_800, 3_600];
const sizes = [1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000];
const scaledErrors = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 2, 3, 5, 10];
const shares = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.975, 0.99, 1];

/** Why a model record cannot serve. */
const refusals = ["unreadable", "horizon", "targets", "history"] as const;
export const stages = ["decode", "window", "forecast", "score", "encode"] as const;

export const metricTable = {
  buildInfo: gauge("build_info", "Always 1; the labels tell what runs.", { version: open, node: open }),

  // The path of an observation.
  observations: counter("observations_total", "Observations, by what became of them.", {
    // biome-ignore format: one line reads better
    outcome: ["advanced", "late-amended", "duplicate", "too-late", "wrong-channels", "interval-pending", "interval-found"],
  }),
  deadLetters: counter("dead_letters_total", "Input records set aside, by reason.", {
    reason: deadLetterReasons,
  }),
  batchRecords: histogram("batch_records", "Input records per batch, and so per transaction.", {}, sizes),
  stageDuration: histogram(
    "stage_duration_seconds",
    "Time that a stage takes for one batch.",
    { stage: stages },
    stageSeconds,
  ),
  skippedOrigins: counter(
    "skipped_origins_total",
    "Completed steps that got no forecast of their own, because the worker was far behind.",
    {},
  ),
  seriesResets: counter("series_resets_total", "Series started anew because their settings changed.", {
    reason: ["interval"],
  }),
  forecasts: counter("forecasts_total", "Forecasts computed, by tier and method.", {
    tier: open,
    method: open,
  }),
  commitDuration: histogram(
    "commit_duration_seconds",
    "Time to commit one batch, retries included.",
    {},
    seconds,
  ),
  transactions: counter("transactions_total", "Transactions on the log, by how they ended.", {
    outcome: ["committed", "aborted"],
  }),
  arrivalLatency: histogram(
    "arrival_to_commit_seconds",
    "From the arrival of a batch's newest observation in the log to the commit of its forecasts.",
    {},
    seconds,
  ),
  eventLatency: histogram(
    "event_to_commit_seconds",
    "From the event time of a batch's newest observation to the commit of its forecasts.",
    {},
    eventSeconds,
  ),

  // Models that forecast.
  engineBatchForecasts: histogram(
    "engine_batch_forecasts",
    "Forecasts asked of the engine at once.",
    {},
    sizes,
  ),
  engineBatchDuration: histogram(
    "engine_batch_duration_seconds",
    "From asking the engine for a batch of forecasts to having them, waiting included.",
    {},
    seconds,
  ),
  modelFallbacks: counter(
    "model_fallbacks_total",
    "Windows forecast cold because their model failed, by reason.",
    { reason: ["channels", "window-unfit", "model-unfit"] },
  ),
  modelsRefused: counter(
    "models_refused_total",
    "Model records that cannot serve, so that their series stay cold, by reason.",
    { reason: refusals },
  ),
  engineInfo: gauge("engine_info", "Always 1; the labels tell what runs the models, and on which device.", {
    name: open,
    device: open,
  }),
  engineModels: gauge("engine_resident_models", "Models that the engine holds ready.", {}),
  engineBytes: gauge(
    "engine_resident_bytes",
    "Memory of the weights that the engine holds ready, in bytes.",
    {},
  ),
  engineWaitingForecasts: gauge(
    "engine_waiting_forecasts",
    "Forecasts that wait for a thread of the engine.",
    {},
  ),
  engineWaitingFits: gauge("engine_waiting_fits", "Nets to train that wait for a thread of the engine.", {}),

  // How good the forecasts are. Histograms over the series as they stand at the scrape: their counts may fall.
  scoredSteps: counter(
    "scored_steps_total",
    "Steps of forecasts that an observation has scored; a forecast has as many as its horizon.",
    {},
  ),
  seriesMase: histogram(
    "series_mase",
    "Rolling MASE of every series with a horizon of scores, as of this scrape.",
    {},
    scaledErrors,
  ),
  seriesCrps: histogram(
    "series_scaled_crps",
    "Rolling CRPS over the naive error of every series with a horizon of scores, as of this scrape.",
    {},
    scaledErrors,
  ),
  seriesCoverage: histogram(
    "series_coverage",
    "Share that the interval of the stated probability has held of late, of every series, as of this scrape.",
    { stated: open },
    shares,
  ),
  worstSeries: gauge(
    "worst_series_mase",
    "Rolling MASE of the worst series of this worker; metrics.worstSeries says how many.",
    { series_id: open },
  ),
  namedSeries: gauge(
    "named_series_mase",
    "Rolling MASE of the series that metrics.series names, 100 at most.",
    { series_id: open },
  ),

  // Models that are trained.
  decisions: counter("model_decisions_total", "Decisions about models that took effect, by kind.", {
    // biome-ignore format: one line reads better
    kind: ["drifted", "recovered", "requested", "failed", "refused", "promoted", "confirmed", "rolled-back", "retired"],
  }),
  evaluated: counter(
    "series_evaluated_total",
    "Series looked at on schedule, to see whether they need a model.",
    {},
  ),
  wishes: counter("training_wishes_total", "Trainings found to be needed on schedule, begun or not.", {}),
  trainings: counter("trainings_total", "Trainings that ended in this process, by outcome.", {
    outcome: ["trained", "failed", "cancelled"],
  }),
  trainingDuration: histogram(
    "training_duration_seconds",
    "From the start of a training to its end.",
    {},
    longSeconds,
  ),
  modelMessagesRefused: counter(
    "model_messages_refused_total",
    "Records on the models topic that cannot be used, while what serves goes on serving, by reason.",
    { reason: refusals },
  ),
  retrainingFailures: counter(
    "retraining_failures_total",
    "Times that retraining itself went wrong; see the log.",
    {},
  ),
  inFlight: gauge("trainings_in_flight", "Trainings under way in this process.", {}),
  waiting: gauge("trainings_waiting", "Trainings chosen that have not begun.", {}),
  phases: gauge("series_by_phase", "Series by where they stand between two models.", {
    phase: ["cold", "training", "champion", "drifting"],
  }),

  // The process.
  state: gauge("worker_state", "1 for the state the process is in, 0 for the others.", {
    state: ["starting", "joining", "running", "stopping", "stopped", "failed"],
  }),
  stateChanges: counter("state_changes_total", "Changes of the process's state.", { from: open, to: open }),
  ready: gauge("ready", "1 while /readyz answers 200, else 0.", {}),
  memoryLimit: gauge(
    "memory_limit_bytes",
    "Memory that the process may use, by the limit of its container; 0 where there is none.",
    {},
  ),
  partitions: gauge("partitions_owned", "Input partitions that this process owns.", {}),
  restoring: gauge("partitions_restoring", "Owned partitions whose state is still being read back.", {}),
  restoredBlocks: counter("restored_blocks_total", "State blocks read back when taking over partitions.", {}),
  restoreDuration: histogram("restore_duration_seconds", "Time to restore one partition.", {}, longSeconds),
  series: gauge("series", "Series that this worker keeps.", {}),
  models: gauge("models", "Models that serve series of this worker.", {}),
  lag: gauge("lag_records", "Input records known to the log and not yet taken by a lane.", {}),
  buffered: gauge("buffered_batches", "Batches computed and waiting to be committed.", {}),
} as const satisfies Record<string, MetricSpec>;

type Table = typeof metricTable;

/** The values that a label of a metric takes; any text where they are open. */
export type LabelValue<
  M extends keyof Table,
  L extends keyof Table[M]["labels"],
> = Table[M]["labels"][L] extends readonly (infer V)[] ? V : never;
