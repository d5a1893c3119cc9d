// What each part of the product can say to the metrics: small groups of verbs. What becomes of it is declared in
// `metric-table.ts`.

import type { DeadLetterReason } from "../domain.ts";
import type { LabelValue } from "./metric-table.ts";

export interface StageTimer {
  /** Starts the time of one batch; what it returns is called when the stage is done with it. */
  begin(): () => void;
}

export interface SourceMetrics extends StageTimer {
  batch(records: number): void;
  deadLetter(reason: DeadLetterReason): void;
}

export interface WindowMetrics extends StageTimer {
  observations(outcome: LabelValue<"observations", "outcome">, count: number): void;
  skippedOrigins(count: number): void;
  resetSeries(reason: LabelValue<"seriesResets", "reason">): void;
}

export interface ForecastMetrics extends StageTimer {
  forecasts(tier: string, method: string, count: number): void;
}

export type FallbackReason = LabelValue<"modelFallbacks", "reason">;
/** Why a model record cannot serve. */
export type RefusalReason = LabelValue<"modelsRefused", "reason">;

export interface ModelMetrics {
  forecastBatch(tasks: number, seconds: number): void;
  /** A window whose model failed was forecast cold. */
  fallback(reason: FallbackReason): void;
  /** Model records that cannot serve. */
  refused(reason: RefusalReason, count: number): void;
}

export interface RetrainMetrics {
  /** A decision about a model took effect. */
  decided(kind: LabelValue<"decisions", "kind">): void;
  /** One turn of the schedule. */
  evaluated(series: number, wishes: number): void;
  trained(outcome: LabelValue<"trainings", "outcome">, seconds: number): void;
  /** Something on the models topic that cannot be used. */
  unreadable(reason: RefusalReason): void;
  /** Retraining itself went wrong. */
  failed(): void;
}

export interface LiveMetrics extends StageTimer {
  /** Steps of forecasts that were scored by an observation. */
  scored(steps: number): void;
}

export interface SinkMetrics extends StageTimer {
  committed(seconds: number): void;
  /** From the arrival of the batch's newest record in the log to the commit of its forecasts. */
  arrivalLatency(seconds: number): void;
  /** From the event time of its newest observation. */
  eventLatency(seconds: number): void;
}

/** How the forecasts of one series have done of late. */
export interface SeriesQuality {
  readonly seriesId: string;
  readonly mase: number;
  /** CRPS over the naive error. */
  readonly scaledCrps: number;
  /** Of each central interval. */
  readonly coverage: readonly { readonly stated: number; readonly observed: number }[];
}

/** What is read off the worker at each scrape. */
export interface WorkerFacts {
  readonly state: string;
  readonly partitions: number;
  /** Of those, how many are being restored. */
  readonly restoring: number;
  readonly series: number;
  readonly lag: number;
  readonly bufferedBatches: number;
  readonly models: number;
  /** Trainings in the worker's own threads, and those that wait for their turn. */
  readonly training: { readonly inFlight: number; readonly waiting: number };
  /** How many series stand where between two models. */
  readonly phases: Readonly<Record<string, number>>;
  /** Of the series that have been scored for a horizon at least; read series by series. */
  readonly quality: Iterable<SeriesQuality>;
  /** Null until it has been chosen. */
  readonly engine: EngineFacts | null;
}

export interface ServiceFacts extends WorkerFacts {
  readonly isReady: boolean;
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
  readonly live: LiveMetrics;
  readonly retrain: RetrainMetrics;
  readonly sink: SinkMetrics;
  readonly restored: (blocks: number, seconds: number) => void;
  readonly transaction: (outcome: LabelValue<"transactions", "outcome">) => void;
  readonly moved: (from: string, to: string) => void;
  /** The exposition text and its content type, with the gauges set to the facts given. */
  expose(facts: ServiceFacts): Promise<{ readonly contentType: string; readonly text: string }>;
}
