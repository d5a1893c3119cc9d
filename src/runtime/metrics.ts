// Every metric of the product: name, unit, help, labels. The only door to prom-client. Stages receive small
// groups of verbs, not metrics; no label ever holds a series id.

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type {
  EngineFacts,
  LiveMetrics,
  Metrics,
  ModelMetrics,
  RetrainMetrics,
  WorkerFacts,
} from "./metric-groups.ts";

/** From a millisecond to a minute: a commit takes about ten, a worker that catches up takes seconds. */
const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
/** From a tenth of a second to an hour. */
const trainingBuckets = [0.1, 0.3, 1, 3, 10, 30, 60, 120, 300, 600, 1_800, 3_600];
const sizeBuckets = [1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000];

export function createMetrics(version: string): Metrics {
  const registry = new Registry();
  const make = makersOf(registry);
  collectDefaultMetrics({ register: registry });
  make
    .gauge("build_info", "Always 1; the label tells the version that runs.", ["version"])
    .set({ version }, 1);
  const moves = make.counter("state_changes_total", "Changes of the worker's state.", ["from", "to"]);
  const setFacts = declareFacts(make);
  return {
    ...declareStages(make),
    models: declareModels(make),
    live: declareScores(make),
    retrain: declareRetraining(make),
    restored: declareRestores(make),
    moved: (from, to) => moves.inc({ from, to }),
    expose: async (facts) => {
      setFacts(facts);
      return { contentType: registry.contentType, text: await registry.metrics() };
    },
  };
}

type Makers = ReturnType<typeof makersOf>;

function makersOf(registry: Registry) {
  const registers = [registry];
  return {
    counter: <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
      new Counter({ name: `forecastnet_${name}`, help, labelNames, registers }),
    histogram: (name: string, help: string, buckets: number[]) =>
      new Histogram({ name: `forecastnet_${name}`, help, buckets, registers }),
    gauge: <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
      new Gauge({ name: `forecastnet_${name}`, help, labelNames, registers }),
  };
}

function declareStages({
  counter,
  histogram,
}: Makers): Pick<Metrics, "source" | "window" | "forecast" | "sink"> {
  const batchRecords = histogram(
    "batch_records",
    "Input records per batch, and so per transaction.",
    sizeBuckets,
  );
  const deadLetters = counter("dead_letters_total", "Input records set aside, by reason.", ["reason"]);
  const observations = counter(
    "observations_total",
    "Observations by what became of them: advanced, late-amended, duplicate, too-late, wrong-channels, interval-pending, interval-found.",
    ["outcome"],
  );
  const skipped = counter(
    "skipped_origins_total",
    "Completed steps that got no forecast of their own, because the worker was far behind.",
  );
  const resets = counter("series_resets_total", "Series started anew because their settings changed.", [
    "reason",
  ]);
  const forecasts = counter("forecasts_total", "Forecasts computed, by tier and method.", ["tier", "method"]);
  const commit = histogram("commit_duration_seconds", "Time to commit one batch.", secondsBuckets);
  const latency = histogram(
    "arrival_to_commit_seconds",
    "From the arrival of a batch's newest observation in the log to the commit of its forecasts.",
    secondsBuckets,
  );
  return {
    source: {
      batch: (records) => batchRecords.observe(records),
      deadLetter: (reason) => deadLetters.inc({ reason }),
    },
    window: {
      observations: (outcome, count) => observations.inc({ outcome }, count),
      skippedOrigins: (count) => skipped.inc(count),
      resetSeries: (reason) => resets.inc({ reason }),
    },
    forecast: { forecasts: (tier, method, count) => forecasts.inc({ tier, method }, count) },
    sink: { committed: (seconds) => commit.observe(seconds), latency: (seconds) => latency.observe(seconds) },
  };
}

function declareModels({ counter, histogram }: Makers): ModelMetrics {
  const size = histogram("engine_batch_forecasts", "Forecasts asked of the engine at once.", sizeBuckets);
  const duration = histogram(
    "engine_batch_duration_seconds",
    "From asking the engine for a batch of forecasts to having them, waiting included.",
    secondsBuckets,
  );
  const fallbacks = counter(
    "model_fallbacks_total",
    "Windows forecast cold because their model failed: channels, window-unfit, model-unfit.",
    ["reason"],
  );
  const refused = counter(
    "models_refused_total",
    "Model records that cannot serve, so that their series stay cold: unreadable, horizon, targets, history.",
    ["reason"],
  );
  return {
    forecastBatch: (tasks, seconds) => {
      size.observe(tasks);
      duration.observe(seconds);
    },
    fallback: (reason) => fallbacks.inc({ reason }),
    refused: (reason, count) => refused.inc({ reason }, count),
  };
}

function declareScores({ counter }: Makers): LiveMetrics {
  const scored = counter(
    "scored_steps_total",
    "Steps of forecasts that an observation has scored; a forecast has as many as its horizon.",
  );
  return { scored: (steps) => scored.inc(steps) };
}

function declareRetraining({ counter, histogram }: Makers): RetrainMetrics {
  const decisions = counter(
    "model_decisions_total",
    "Decisions about models: drifted, recovered, requested, failed, refused, promoted, confirmed, rolled-back, retired.",
    ["kind"],
  );
  const looked = counter(
    "series_evaluated_total",
    "Series looked at on schedule, to see whether they need a model.",
  );
  const wishes = counter("training_wishes_total", "Trainings found to be needed on schedule, begun or not.");
  const trainings = counter(
    "trainings_total",
    "Trainings that ended in the worker's own threads: trained, failed, cancelled.",
    ["outcome"],
  );
  const duration = histogram(
    "training_duration_seconds",
    "From the start of a training to its end.",
    trainingBuckets,
  );
  const unreadable = counter(
    "model_messages_refused_total",
    "Records on the models topic that cannot be used, while what serves goes on serving.",
    ["reason"],
  );
  const failures = counter(
    "retraining_failures_total",
    "Times that retraining itself went wrong; see the log.",
  );
  return {
    decided: (kind) => decisions.inc({ kind }),
    evaluated: (series, wished) => {
      looked.inc(series);
      wishes.inc(wished);
    },
    trained: (outcome, seconds) => {
      trainings.inc({ outcome });
      duration.observe(seconds);
    },
    unreadable: (reason) => unreadable.inc({ reason }),
    failed: () => failures.inc(),
  };
}

function declareRestores({ counter, histogram }: Makers): Metrics["restored"] {
  const blocksRead = counter("restored_blocks_total", "State blocks read back when taking over partitions.");
  const duration = histogram("restore_duration_seconds", "Time to restore one partition.", secondsBuckets);
  return (blocks, seconds) => {
    blocksRead.inc(blocks);
    duration.observe(seconds);
  };
}

/** Gauges are set when they are read, from what the worker says of itself. */
function declareFacts({ gauge }: Makers): (facts: WorkerFacts) => void {
  const state = gauge("worker_state", "1 for the state the worker is in, 0 for those it was in.", ["state"]);
  const statesSeen = new Set<string>();
  const partitions = gauge("partitions_owned", "Input partitions this worker owns.");
  const series = gauge("series", "Series this worker keeps.");
  const models = gauge("models", "Models that serve series of this worker.");
  const inFlight = gauge("trainings_in_flight", "Trainings under way in the worker's own threads.");
  const planned = gauge("trainings_waiting", "Trainings chosen that have not begun.");
  const phases = gauge("series_by_phase", "Series by where they stand: cold, training, champion, drifting.", [
    "phase",
  ]);
  const lag = gauge("lag_records", "Input records known to the log and not yet taken by a lane.");
  const buffered = gauge("buffered_batches", "Batches computed and waiting to be committed.");
  const setEngine = declareEngine(gauge);
  return (facts) => {
    statesSeen.add(facts.state);
    for (const name of statesSeen) state.set({ state: name }, name === facts.state ? 1 : 0);
    partitions.set(facts.partitions);
    series.set(facts.series);
    models.set(facts.models);
    inFlight.set(facts.training.inFlight);
    planned.set(facts.training.waiting);
    for (const [phase, count] of Object.entries(facts.phases)) phases.set({ phase }, count);
    lag.set(facts.lag);
    buffered.set(facts.bufferedBatches);
    if (facts.engine !== null) setEngine(facts.engine);
  };
}

function declareEngine(gauge: Makers["gauge"]): (facts: EngineFacts) => void {
  const info = gauge("engine_info", "Always 1; the labels tell what runs the models, and on which device.", [
    "name",
    "device",
  ]);
  const models = gauge("engine_resident_models", "Models that the engine holds ready.");
  const bytes = gauge(
    "engine_resident_bytes",
    "Memory of the weights that the engine holds ready, in bytes.",
  );
  const forecasts = gauge("engine_waiting_forecasts", "Forecasts that wait for a thread of the engine.");
  const fits = gauge("engine_waiting_fits", "Nets to train that wait for a thread of the engine.");
  return ({ name, device, residentModels, residentBytes, waitingForecasts, waitingFits }) => {
    info.set({ name, device }, 1);
    models.set(residentModels);
    bytes.set(residentBytes);
    forecasts.set(waitingForecasts);
    fits.set(waitingFits);
  };
}
