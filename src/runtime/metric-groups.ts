// What each part of the product can say to the metrics: small groups of verbs. What becomes of it is declared in
// `metrics.ts`.

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

export interface RetrainMetrics {
  /** A decision about a model took effect. */
  decided(kind: string): void;
  /** One turn of the schedule. */
  evaluated(series: number, wishes: number): void;
  trained(outcome: string, seconds: number): void;
  /** Something on the models topic that cannot be used. */
  unreadable(reason: string): void;
  /** Retraining itself went wrong. */
  failed(): void;
}

export interface LiveMetrics {
  /** Steps of forecasts that were scored by an observation. */
  scored(steps: number): void;
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
  /** Trainings in the worker's own threads, and those that wait for their turn. */
  readonly training: { readonly inFlight: number; readonly waiting: number };
  /** How many series stand where between two models. */
  readonly phases: Readonly<Record<string, number>>;
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
  readonly live: LiveMetrics;
  readonly retrain: RetrainMetrics;
  readonly sink: SinkMetrics;
  readonly restored: (blocks: number, seconds: number) => void;
  readonly moved: (from: string, to: string) => void;
  /** The exposition text and its content type, with the gauges set to the facts given. */
  expose(facts: WorkerFacts): Promise<{ readonly contentType: string; readonly text: string }>;
}
