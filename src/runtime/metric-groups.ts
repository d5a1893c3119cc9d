// The metrics as each part of the product sees them: small groups of functions. `metric-table.ts` declares the metrics.

import type { DeadLetterReason } from "../domain.ts";
import type { LabelValue } from "./metric-table.ts";

export interface StageTimer {
  /** Starts the timer of one batch; the returned function stops it. */
  begin(): () => void;
  /** A timer of one batch for a stage that works in turns with others. It starts paused. */
  turns(): TurnTimer;
}

/** The forecasts of a batch are made, scored and encoded one after the other. Each stage times its own turns. */
export interface TurnTimer {
  resume(): void;
  pause(): void;
  /** Records the sum of all turns. */
  end(): void;
}

export interface SourceMetrics extends StageTimer {
  batch(records: number): void;
  deadLetter(reason: DeadLetterReason): void;
  /** A batch failed because of a record in it. */
  failedBatch(): void;
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
export type RefusalReason = LabelValue<"modelsRefused", "reason">;

export interface ModelMetrics {
  forecastBatch(tasks: number, seconds: number): void;
  /** The cold tier forecast a window whose model failed. */
  fallback(reason: FallbackReason): void;
  /** Model records that cannot serve. */
  refused(reason: RefusalReason, count: number): void;
}

export type ForgetReason = LabelValue<"seriesForgotten", "reason">;

export interface RetrainMetrics {
  /** A decision about a model took effect. */
  decided(kind: LabelValue<"decisions", "kind">): void;
  /** One scheduled evaluation. */
  evaluated(series: number, needs: number): void;
  trained(outcome: LabelValue<"trainings", "outcome">, seconds: number): void;
  /** Processor time of a training, here or in a trainer. */
  spent(cpuSeconds: number): void;
  /** A record on the models topic cannot be used. */
  unreadable(reason: RefusalReason): void;
  /** Retraining itself failed. */
  failed(): void;
  /** Everything stored about a series was deleted. */
  forgot(reason: ForgetReason): void;
}

export interface LiveMetrics extends StageTimer {
  scored(steps: number): void;
  /** Series whose stored live scores do not fit the configuration. */
  dropped(series: number): void;
}

export interface SinkMetrics extends StageTimer {
  committed(seconds: number): void;
  /** From the arrival of a batch's newest record in the log to the commit of its forecasts. */
  arrivalLatency(seconds: number): void;
  /** From the event time of a batch's newest observation to the commit of its forecasts. */
  eventLatency(seconds: number): void;
}

/** Numbers of series by a rolling score. */
export interface Distribution {
  /** Upper bounds of the buckets, ascending. */
  readonly bounds: readonly number[];
  /** One per bound, and one for what lies above the last. */
  readonly counts: ArrayLike<number>;
  /** Of the scores. */
  readonly sum: number;
}

export interface NamedScore {
  readonly seriesId: string;
  readonly mase: number;
}

/** Rolling scores of the series of one partition that have at least a horizon of scores. */
export interface FleetQuality {
  readonly mase: Distribution;
  /** CRPS divided by the naive error. */
  readonly scaledCrps: Distribution;
  /** Of each central interval. */
  readonly coverage: readonly { readonly stated: number; readonly counts: Distribution }[];
  /** The series with the largest MASE, the worst first. */
  worst(most: number): readonly NamedScore[];
  /** The series that the configuration names. */
  named(most: number): readonly NamedScore[];
}

/** What the worker reports at each scrape. */
export interface WorkerFacts {
  readonly state: string;
  readonly partitions: number;
  /** Owned partitions that are being restored. */
  readonly restoring: number;
  /** Owned partitions that the worker's own topics lack. */
  readonly waiting: number;
  readonly series: number;
  readonly lag: number;
  readonly bufferedBatches: number;
  readonly models: number;
  /** Trainings in the worker's threads, and those that have not started. */
  readonly training: {
    readonly inFlight: number;
    readonly waiting: number;
    /** CPU seconds that trainings may take now; null for no limit. */
    readonly budgetSeconds: number | null;
  };
  /** Series by phase. */
  readonly phases: Readonly<Record<string, number>>;
  /** One per partition. */
  readonly quality: readonly FleetQuality[];
  /** Null until an engine is chosen. */
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
  /** `lost` is the number of offsets that were never read. */
  readonly inputGap: (kind: LabelValue<"inputGaps", "kind">, lost: number) => void;
  readonly moved: (from: string, to: string) => void;
  /** The exposition text and its content type, with the gauges set to the given facts. */
  expose(facts: ServiceFacts): Promise<{ readonly contentType: string; readonly text: string }>;
}
