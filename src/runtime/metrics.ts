// Builds the metrics of `metric-table.ts`. The only file that imports prom-client. Stages receive small groups of
// functions, not metrics. A label holds a series id only where the configuration bounds their number.

import { totalmem } from "node:os";
import { Counter, collectDefaultMetrics, Gauge, Histogram, type Metric, Registry } from "prom-client";
import { monotonicMs } from "./clock.ts";
import type {
  Distribution,
  EngineFacts,
  FleetQuality,
  Metrics,
  ServiceFacts,
  TurnTimer,
} from "./metric-groups.ts";
import { type MetricSpec, metricTable, type stages } from "./metric-table.ts";

interface MetricSettings {
  /** Number of the worst series that are named. */
  readonly worstSeries: number;
}

const defaultSettings: MetricSettings = { worstSeries: 10 };
/** A pattern of `*` must not create a label per series. */
const mostNamed = 100;
/** Gauges with the suffix of a counter. No dashboard uses them. */
const misnamed = [
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
];

export function createMetrics(version: string, settings: MetricSettings = defaultSettings): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of misnamed) registry.removeSingleMetric(name);
  const built = build(registry);
  built.buildInfo.set({ version, node: process.version }, 1);
  built.memoryLimit.set(memoryLimit());
  return {
    ...stageMetrics(built),
    ...modelMetrics(built),
    restored: (blocks, seconds) => {
      built.restoredBlocks.inc(blocks);
      built.restoreDuration.observe(seconds);
    },
    transaction: (outcome) => built.transactions.inc({ outcome }),
    inputGap: (kind, lost) => {
      built.inputGaps.inc({ kind });
      built.inputLost.inc(lost);
    },
    moved: (from, to) => built.stateChanges.inc({ from, to }),
    expose: async (facts) => {
      setFacts(built, facts);
      setQuality(built, facts.quality, settings.worstSeries);
      return { contentType: registry.contentType, text: await registry.metrics() };
    },
  };
}

type MetricTable = typeof metricTable;
type Built = {
  readonly [M in keyof MetricTable]: MetricTable[M]["kind"] extends "counter"
    ? Counter
    : MetricTable[M]["kind"] extends "gauge"
      ? Gauge
      : MetricTable[M] extends { readonly isDistribution: true }
        ? DistributionMetric
        : Histogram;
};

function build(registry: Registry): Built {
  const entries = Object.entries(metricTable).map(([key, spec]) => [key, buildOne(spec, registry)]);
  return Object.fromEntries(entries) as Built;
}

function buildOne(spec: MetricSpec, registry: Registry) {
  const { kind, name, help, labels, buckets, isDistribution = false } = spec;
  const options = {
    name: `forecastnet_${name}`,
    help,
    labelNames: Object.keys(labels),
    registers: [registry],
  };
  const known = Object.entries(labels).flatMap(([label, values]) =>
    values.map((value) => ({ [label]: value })),
  );
  if (kind === "counter") {
    const counter = new Counter(options);
    for (const label of known) counter.inc(label, 0);
    return counter;
  }
  if (kind === "gauge") {
    const gauge = new Gauge(options);
    for (const label of known) gauge.set(label, 0);
    return gauge;
  }
  if (isDistribution) {
    const metric = new DistributionMetric(options);
    registry.registerMetric(metric as unknown as Metric);
    return metric;
  }
  const histogram = new Histogram({ ...options, buckets: [...buckets] });
  for (const label of known) histogram.zero(label);
  return histogram;
}

function stageMetrics(built: Built): Pick<Metrics, "source" | "window" | "forecast" | "live" | "sink"> {
  const timer = (stage: (typeof stages)[number]) => ({
    begin: () => {
      const end = built.stageDuration.startTimer({ stage });
      return () => void end();
    },
    turns: () => turnTimer((seconds) => built.stageDuration.observe({ stage }, seconds)),
  });
  return {
    source: {
      ...timer("decode"),
      batch: (records) => built.batchRecords.observe(records),
      deadLetter: (reason) => built.deadLetters.inc({ reason }),
      failedBatch: () => built.failedBatches.inc(),
    },
    window: {
      ...timer("window"),
      observations: (outcome, count) => built.observations.inc({ outcome }, count),
      skippedOrigins: (count) => built.skippedOrigins.inc(count),
      resetSeries: (reason) => built.seriesResets.inc({ reason }),
    },
    forecast: {
      ...timer("forecast"),
      forecasts: (tier, method, count) => built.forecasts.inc({ tier, method }, count),
    },
    live: {
      ...timer("score"),
      scored: (steps) => built.scoredSteps.inc(steps),
      dropped: (series) => built.scoresDropped.inc(series),
    },
    sink: {
      ...timer("encode"),
      committed: (seconds) => built.commitDuration.observe(seconds),
      arrivalLatency: (seconds) => built.arrivalLatency.observe(seconds),
      eventLatency: (seconds) => built.eventLatency.observe(seconds),
    },
  };
}

function turnTimer(record: (seconds: number) => void): TurnTimer {
  let [turnsMs, resumedMs] = [0, 0];
  return {
    resume: () => {
      resumedMs = monotonicMs();
    },
    pause: () => {
      turnsMs += monotonicMs() - resumedMs;
    },
    end: () => record(turnsMs / 1000),
  };
}

function modelMetrics(built: Built): Pick<Metrics, "models" | "retrain"> {
  return {
    models: {
      forecastBatch: (tasks, seconds) => {
        built.engineBatchForecasts.observe(tasks);
        built.engineBatchDuration.observe(seconds);
      },
      fallback: (reason) => built.modelFallbacks.inc({ reason }),
      refused: (reason, count) => built.modelsRefused.inc({ reason }, count),
    },
    retrain: {
      decided: (kind) => built.decisions.inc({ kind }),
      evaluated: (series, needs) => {
        built.evaluated.inc(series);
        built.needs.inc(needs);
      },
      trained: (outcome, seconds) => {
        built.trainings.inc({ outcome });
        built.trainingDuration.observe(seconds);
      },
      spent: (cpuSeconds) => built.trainingCpu.inc(cpuSeconds),
      unreadable: (reason) => built.modelMessagesRefused.inc({ reason }),
      failed: () => built.retrainingFailures.inc(),
      forgot: (reason) => built.seriesForgotten.inc({ reason }),
    },
  };
}

/** Without a limit Node returns 0, undefined, or more than the memory of the machine. */
function memoryLimit(): number {
  const limit = process.constrainedMemory() ?? 0;
  return limit < totalmem() ? limit : 0;
}

/** Gauges are set at each scrape. */
function setFacts(built: Built, facts: ServiceFacts): void {
  for (const state of metricTable.state.labels.state)
    built.state.set({ state }, Number(state === facts.state));
  built.ready.set(Number(facts.isReady));
  built.partitions.set(facts.partitions);
  built.restoring.set(facts.restoring);
  built.waitingPartitions.set(facts.waiting);
  built.series.set(facts.series);
  built.models.set(facts.models);
  built.inFlight.set(facts.training.inFlight);
  built.waiting.set(facts.training.waiting);
  built.trainingBudget.set(facts.training.budgetSeconds ?? Number.POSITIVE_INFINITY);
  for (const [phase, count] of Object.entries(facts.phases)) built.phases.set({ phase }, count);
  built.lag.set(facts.lag);
  built.buffered.set(facts.bufferedBatches);
  if (facts.engine !== null) setEngine(built, facts.engine);
}

function setEngine(built: Built, facts: EngineFacts): void {
  const { name, device } = facts;
  built.engineInfo.set({ name, device }, 1);
  built.engineModels.set(facts.residentModels);
  built.engineBytes.set(facts.residentBytes);
  built.engineWaitingForecasts.set(facts.waitingForecasts);
}

function setQuality(built: Built, partitions: readonly FleetQuality[], worstSeries: number): void {
  const { seriesMase, seriesCrps, seriesCoverage, worstSeries: worstGauge, namedSeries } = built;
  seriesMase.set([{ labels: {}, parts: partitions.map(({ mase }) => mase) }]);
  seriesCrps.set([{ labels: {}, parts: partitions.map(({ scaledCrps }) => scaledCrps) }]);
  const coverages = partitions.flatMap(({ coverage }) => coverage);
  seriesCoverage.set(
    [...new Set(coverages.map(({ stated }) => stated))].map((stated) => ({
      labels: { stated: String(stated) },
      parts: coverages.filter((one) => one.stated === stated).map(({ counts }) => counts),
    })),
  );
  const worst = partitions.flatMap((partition) => partition.worst(worstSeries));
  worst.sort((one, other) => other.mase - one.mase);
  const named = partitions.flatMap((partition) => partition.named(mostNamed));
  worstGauge.reset();
  namedSeries.reset();
  for (const { seriesId, mase } of worst.slice(0, worstSeries)) worstGauge.set({ series_id: seriesId }, mase);
  for (const { seriesId, mase } of named.slice(0, mostNamed)) namedSeries.set({ series_id: seriesId }, mase);
}

interface LabelledDistribution {
  readonly labels: Readonly<Record<string, string>>;
  /** To be added up; all of the same bounds. */
  readonly parts: readonly Distribution[];
}

/** A histogram whose counts are given: prom-client's own can only count one value after the other. */
class DistributionMetric {
  readonly name: string;
  readonly #help: string;
  #values: readonly PromValue[] = [];

  constructor({ name, help }: { readonly name: string; readonly help: string }) {
    this.name = name;
    this.#help = help;
  }

  set(distributions: readonly LabelledDistribution[]): void {
    this.#values = distributions.flatMap((one) => promValuesOf(this.name, one));
  }

  /** What the registry asks for. */
  async get() {
    return { name: this.name, help: this.#help, type: "histogram", values: this.#values };
  }
}

interface PromValue {
  readonly metricName: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/** Buckets are cumulative. Without a series there are none. */
function promValuesOf(name: string, { labels, parts }: LabelledDistribution): readonly PromValue[] {
  const values: PromValue[] = [];
  const [first] = parts;
  let count = 0;
  for (let i = 0; i <= (first?.bounds.length ?? -1); i++) {
    for (const { counts } of parts) count += counts[i];
    const le = first.bounds[i] ?? "+Inf";
    values.push({ metricName: `${name}_bucket`, labels: { le, ...labels }, value: count });
  }
  if (count === 0) return [];
  const sum = parts.reduce((total, part) => total + part.sum, 0);
  values.push({ metricName: `${name}_sum`, labels, value: sum });
  values.push({ metricName: `${name}_count`, labels, value: count });
  return values;
}
