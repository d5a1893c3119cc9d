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
}

export interface Metrics {
  readonly source: SourceMetrics;
  readonly window: WindowMetrics;
  readonly forecast: ForecastMetrics;
  readonly sink: SinkMetrics;
  readonly restored: (blocks: number, seconds: number) => void;
  readonly moved: (from: string, to: string) => void;
  /** The exposition text and its content type, with the gauges set to the facts given. */
  expose(facts: WorkerFacts): Promise<{ readonly contentType: string; readonly text: string }>;
}

export function createMetrics(version: string): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
    new Counter({ name: `forecastnet_${name}`, help, labelNames, registers });
  const histogram = (name: string, help: string, buckets: number[]) =>
    new Histogram({ name: `forecastnet_${name}`, help, buckets, registers });
  const gauge = <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
    new Gauge({ name: `forecastnet_${name}`, help, labelNames, registers });

  collectDefaultMetrics({ register: registry });
  gauge("build_info", "Always 1; the label tells the version that runs.", ["version"]).set({ version }, 1);

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
  const restoredBlocks = counter(
    "restored_blocks_total",
    "State blocks read back when taking over partitions.",
  );
  const restore = histogram("restore_duration_seconds", "Time to restore one partition.", secondsBuckets);
  const moves = counter("state_changes_total", "Changes of the worker's state.", ["from", "to"]);
  const state = gauge("worker_state", "1 for the state the worker is in, 0 for those it was in.", ["state"]);
  const statesSeen = new Set<string>();
  const partitions = gauge("partitions_owned", "Input partitions this worker owns.");
  const series = gauge("series", "Series this worker keeps.");
  const lag = gauge("lag_records", "Input records known to the log and not yet taken by a lane.");
  const buffered = gauge("buffered_batches", "Batches computed and waiting to be committed.");

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
    restored: (blocks, seconds) => {
      restoredBlocks.inc(blocks);
      restore.observe(seconds);
    },
    moved: (from, to) => moves.inc({ from, to }),
    expose: async (facts) => {
      statesSeen.add(facts.state);
      for (const name of statesSeen) state.set({ state: name }, name === facts.state ? 1 : 0);
      partitions.set(facts.partitions);
      series.set(facts.series);
      lag.set(facts.lag);
      buffered.set(facts.bufferedBatches);
      return { contentType: registry.contentType, text: await registry.metrics() };
    },
  };
}
