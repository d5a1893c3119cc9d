// Every metric of the product: name, unit, help, labels. The only door to prom-client. Stages receive small
// groups of verbs, not metrics; no label ever holds a series id.

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

/** From a millisecond to a minute: a commit takes about ten, a worker that catches up takes seconds. */
const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const sizeBuckets = [1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000];

export interface SourceMetrics {
  batch(records: number): void;
  deadLetter(reason: string): void;
}

export interface WindowMetrics {
  observations(outcome: string, count: number): void;
  skippedOrigins(count: number): void;
  resetSeries(reason: string): void;
}

export interface ForecastMetrics {
  forecasts(tier: string, method: string, count: number): void;
}

export interface ModelMetrics {
  forecastBatch(tasks: number, seconds: number): void;
  /** A window whose model failed was forecast cold. */
  fallback(reason: string): void;
  /** Model records that cannot serve. */
  refused(reason: string, count: number): void;
}

export interface SinkMetrics {
  committed(seconds: number): void;
  /** From the arrival of the batch's newest record in the log to the commit of its forecasts. */
  latency(seconds: number): void;
}

/** What is read off the worker at each scrape. */
export interface WorkerFacts {
  readonly state: string;
  readonly partitions: number;
  readonly series: number;
  readonly lag: number;
  readonly bufferedBatches: number;
  readonly models: number;
  /** Null until it has been chosen. */
  readonly engine: EngineFacts | null;
}

export interface EngineFacts {
  readonly name: string;
  readonly device: string;
  readonly residentModels: number;
  readonly residentBytes: number;
  readonly waitingForecasts: number;
  readonly waitingFits: number;
}

export interface Metrics {
  readonly source: SourceMetrics;
  readonly window: WindowMetrics;
  readonly forecast: ForecastMetrics;
  readonly models: ModelMetrics;
  readonly sink: SinkMetrics;
  readonly restored: (blocks: number, seconds: number) => void;
  readonly moved: (from: string, to: string) => void;
  /** The exposition text and its content type, with the gauges set to the facts given. */
  expose(facts: WorkerFacts): Promise<{ readonly contentType: string; readonly text: string }>;
}

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
  const lag = gauge("lag_records", "Input records known to the log and not yet taken by a lane.");
  const buffered = gauge("buffered_batches", "Batches computed and waiting to be committed.");
  const setEngine = declareEngine(gauge);
  return (facts) => {
    statesSeen.add(facts.state);
    for (const name of statesSeen) state.set({ state: name }, name === facts.state ? 1 : 0);
    partitions.set(facts.partitions);
    series.set(facts.series);
    models.set(facts.models);
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
