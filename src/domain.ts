// The nouns of the pipeline. Imports nothing; everything else may import it.
//
// Glossary
//   series       one sensor's stream, named by its series id
//   interval     the fixed step of a series' grid, an ISO 8601 duration
//   slot         one place on that grid; it holds the value of one observation, or nothing
//   τ (horizon)  how many steps ahead a forecast looks
//   window       the last slots of a series, gaps filled: what a model sees, 2τ of them unless it asks for others
//   history      the longer past a worker keeps per series (60τ by default)
//   season       the number of steps after which the series is expected to repeat
//   origin       the time of the newest slot in a window; step h of a forecast lies h intervals after it
//   tier         who made the forecast: a cold baseline, the series' own model, or its cohort's model
//   partition    the unit of ownership: partition number p of every input topic, with its state
//   lane         the one pipeline that works through one owned partition
//   champion     the model that serves; a challenger is one that wants its place
//   gate         the judgement of challengers on a tail of the history that none of them saw
//   drift        live scores that say the champion is stale
//   probation    the first steps of a promoted model, after which its predecessor may be put back
//   cohort       several series that share one model
//   settle       commit a batch's results, its state and its input offsets in one transaction

/** One measurement of one series. */
export interface Observation {
  readonly seriesId: string;
  /** Event time, milliseconds since the epoch. Comes from the record, never from a wall clock. */
  readonly timeMs: number;
  /** One number per channel; a plain sensor has one channel. */
  readonly values: readonly number[];
}

/** How a gap of missing slots is closed before a model sees the window. */
export type GapPolicy = "seasonal" | "linear" | "hold" | "none";

/** "auto": the product's own nets; otherwise a form of the paper as it stands. */
export type ModelForm = "auto" | "FN" | "cFN" | "FN2" | "cFN2";

/** What the configuration says about one series, after its overrides by pattern. */
export interface SeriesSettings {
  /** ISO 8601 duration, or "auto": found from the first points and then fixed. */
  readonly interval: string;
  /** How far the grid of a given interval is shifted against midnight UTC, in milliseconds. */
  readonly offsetMs: number;
  /** τ: steps ahead. */
  readonly horizon: number;
  readonly season: number;
  /** Slots kept; at least two windows and two seasons. */
  readonly history: number;
  /** Forecast on every n-th completed step. */
  readonly every: number;
  readonly gapPolicy: GapPolicy;
  /** The longest run of missing slots that is filled. */
  readonly gapMax: number;
  /** The series that share this name share a model; empty for a model of its own. */
  readonly cohort: string;
  readonly form: ModelForm;
  /** The model is stale when its rolling MASE exceeds this many times the one it validated with. */
  readonly driftRatio: number;
  /** And when it exceeds this; 0 for no such bound. */
  readonly driftBound: number;
}

/** The recent past of one series at one origin: immutable, safe to hand to another thread. */
export interface Window {
  readonly seriesId: string;
  readonly settings: SeriesSettings;
  /** The grid in force, never "auto". */
  readonly interval: string;
  readonly originMs: number;
  /** Grid index of the origin. */
  readonly originSlot: number;
  /** How many of the batch's placements came before the window was taken. */
  readonly placedBefore: number;
  /** Times of the τ steps ahead. */
  readonly stepTimesMs: readonly number[];
  readonly channels: number;
  /**
   * The newest slots with their gaps filled, oldest first, channels of a step side by side. At most
   * max(2τ, season) steps, or as many as the series' model looks back on if those are more; shorter while the
   * series is young or fresh after a gap too long to fill.
   */
  readonly values: Float64Array;
  /** How many unbroken steps (observed or filled) end at the origin, counted over the whole history. */
  readonly freshSteps: number;
  /** Share of the last 2τ steps in `values`, or of those the model looks back on, that was filled rather than observed. */
  readonly filledShare: number;
  /** Steps since the last forecast that got none of their own, because the worker was behind. */
  readonly skippedOrigins: number;
  /** One entry per channel; null until two seasons are there to compare. */
  readonly seasonalErrors: readonly ErrorSummary[] | null;
}

/** What is known of a baseline's past errors: quantiles at the configured levels, and their spread. */
export interface ErrorSummary {
  readonly quantiles: readonly number[];
  readonly rms: number;
  readonly count: number;
}

export type Tier = "cold" | "model" | "cohort";

export interface Quantile {
  readonly level: number;
  readonly values: readonly number[];
}

/** The next τ steps of one series as a distribution. Arrays hold channel after channel, τ steps each. */
export interface Forecast {
  /** A function of series, origin and model version, so that a replay cannot invent a second one. */
  readonly id: string;
  readonly seriesId: string;
  readonly originMs: number;
  readonly interval: string;
  readonly horizon: number;
  readonly channels: number;
  readonly stepTimesMs: readonly number[];
  readonly mean: readonly number[];
  readonly standardDeviation: readonly number[];
  readonly quantiles: readonly Quantile[];
  readonly tier: Tier;
  /** The method in words a subscriber can act on: "persistence", "seasonal-naive", "forecastnet". */
  readonly method: string;
  readonly modelKey: string;
  readonly modelVersion: string;
  readonly filledShare: number;
  readonly freshSteps: number;
  readonly skippedOrigins: number;
  /** Null when the quantiles are as the method gave them. */
  readonly calibration: Calibration | null;
  /** Null until forecasts have matured. */
  readonly scores: LiveScores | null;
}

/** A forecast as its method gave it, with the window it was made from. */
export interface Made {
  readonly window: Window;
  readonly forecast: Forecast;
}

/** An observation that found its slot, as the scores of earlier forecasts hear of it. */
export interface Placement {
  readonly seriesId: string;
  readonly slot: number;
  readonly timeMs: number;
  readonly values: readonly number[];
  /** What the slot held before; null when it was empty. */
  readonly replaced: readonly number[] | null;
}

/** How the quantiles of a forecast were corrected. */
export interface Calibration {
  readonly method: string;
  /** Matured steps learnt from. */
  readonly scoredSteps: number;
  /** As they were before; empty unless their publication is configured. */
  readonly rawQuantiles: readonly Quantile[];
}

/** How the series' forecasts have done of late. */
export interface LiveScores {
  readonly mase: number;
  /** In units of the series. */
  readonly crps: number;
  /** Of each central interval, narrowest first. */
  readonly coverage: readonly { readonly stated: number; readonly observed: number }[];
  readonly scoredSteps: number;
}

/** Why an input record was set aside instead of being read. */
export const deadLetterReasons = [
  "undecodable",
  "unknown-schema",
  "missing-series",
  "series-id-too-long",
  "bad-time",
  "future-time",
  "bad-value",
  "wrong-channels",
  "oversized",
  "bad-request",
  "poisoned-request",
] as const;
export type DeadLetterReason = (typeof deadLetterReasons)[number];

/** A record bound for a topic. The partition is always chosen by us, never by hashing the key again. */
export interface Outgoing {
  readonly topic: string;
  readonly partition: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers?: Readonly<Record<string, string | Buffer>>;
}

/** What moves between stages. A stage replaces the items and may add records to be written with them. */
export interface Batch<T> {
  readonly partition: number;
  readonly items: readonly T[];
  /** Written in the same transaction as the input offsets: dead letters, state, forecasts. */
  readonly records: readonly Outgoing[];
  /** What found its slot, in order of arrival; empty before the window stage. */
  readonly placements: readonly Placement[];
  /** When the newest input record of the batch reached the log, in wall-clock milliseconds; null without input. */
  readonly arrivedMs: number | null;
  /** Event time of its newest observation; null without one. */
  readonly eventMs: number | null;
  /** True when the input lies far enough behind that only each series' newest origin is worth a forecast. */
  readonly isBehind: boolean;
  /** True when the batch is as large as it may be: more input is probably waiting. */
  readonly isFull: boolean;
  /** Commits the given records and the batch's input offsets, once, together. */
  settle(records: readonly Outgoing[]): Promise<void>;
}
