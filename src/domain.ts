// The nouns of the pipeline. Imports nothing; everything else may import it.
//
// Glossary
//   series            one sensor's stream, named by its series id
//   interval          the fixed step of a series' grid, an ISO 8601 duration
//   slot              one place on that grid; it holds the value of one observation, or nothing
//   τ (horizon)       how many steps ahead a forecast looks
//   window            the last slots of a series, gaps filled: what a model sees, 2τ of them unless it needs more
//   history           the longer past a worker stores per series (60τ or more by default)
//   season            the number of steps after which the series is expected to repeat
//   findings          what was found out about a series: its seasons, and whether it is never below zero
//   origin            the time of the newest slot in a window; step h of a forecast is h intervals after it
//   tier              who made the forecast: the cold tier, the series' own model, or its cohort's model
//   cold tier         seasonal-naive, or persistence before two seasons: the forecast of a series without a model
//   model family      one way to forecast: ForecastNet, linear, seasonal-naive, persistence
//   raw forecast      a forecast as its method made it, before the score stage calibrates its quantiles
//   pending forecast  a published forecast whose future has not all arrived; it is stored and scored step by step
//   live scores       rolling MASE, CRPS and coverage of a series' matured forecasts
//   scoring period    the time during which the forecasts of one model version are scored
//   partition         the unit of ownership: partition number p of every input topic, with its state
//   lane              the one pipeline that works through one owned partition
//   settle            commit a batch's results, its state and its input offsets in one transaction
//   champion          the model that serves; a challenger is a model that may replace it
//   baseline          what every challenger must beat: seasonal-naive
//   gate              the comparison of challengers, champion and baseline on the holdout
//   holdout           the tail of a history that none of the compared models was trained on
//   drift             live scores that say the champion is stale
//   probation         the first steps of a promoted model, after which it is confirmed or rolled back
//   decision          what the lifecycle decides about a model; it takes effect with the next batch of its partition
//   order             what a person asks for: a training, a rollback, an import, to forget a series
//   outcome           what came of a training request: challengers, or the reason of a failure
//   cohort            several series that share one model
//   forget            end a series: delete its state, scores, forecasts and model; if it sends again, it starts as new
//   replay            the real pipeline on the embedded log, with time moved by hand

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

/** What the values of a series never leave. Infinite where there is no bound. */
export interface Bounds {
  readonly min: number;
  readonly max: number;
}

/** Which settings follow from the series itself. */
export interface DerivedSettings {
  /** `season` and `naiveSeason` come from the calendar of the interval, and then from the past of the series. */
  readonly season: boolean;
  /** `history` is long enough to find those seasons. */
  readonly history: boolean;
  /** The lower bound is 0 where the past touches zero and never crosses it. */
  readonly min: boolean;
}

/** What is known about one series: the configuration with its overrides by pattern, and what was found out since. */
export interface SeriesSettings {
  /** ISO 8601 duration, or "auto": found from the first points and then fixed. */
  readonly interval: string;
  /** How far the grid of a given interval is shifted against midnight UTC, in milliseconds. */
  readonly offsetMs: number;
  /** τ: steps ahead. */
  readonly horizon: number;
  /** The shortest season, on which models are built. Where it is derived: the horizon until the interval is known. */
  readonly season: number;
  /** The season that seasonal naive repeats, where it is another one: the week, if weekends differ from weekdays. */
  readonly naiveSeason?: number;
  /** Slots kept; at least two windows and two seasons. */
  readonly history: number;
  /** What forecasts never leave; missing for no bounds. */
  readonly bounds?: Bounds;
  /** Missing when all is configured. */
  readonly derived?: DerivedSettings;
  /** Forecast on every n-th completed step. */
  readonly every: number;
  readonly gapPolicy: GapPolicy;
  /** The longest run of missing slots that is filled. */
  readonly gapMax: number;
  /** The series that share this name share a model; empty for a model of its own. */
  readonly cohort: string;
  /** The model family that the series is trained with. */
  readonly family: string;
  readonly form: ModelForm;
  /** The model is stale when its rolling MASE exceeds this many times the one it validated with. */
  readonly driftRatio: number;
  /** And when it exceeds this; 0 for no such bound. */
  readonly driftBound: number;
  /** How long the series may send nothing before it is forgotten: an ISO 8601 duration, or "never". */
  readonly forgetAfter: string;
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
  /** Number of the origin among the steps of the interval (`stepNumberOf`): the same for every series of a time, so it tells the weekday. */
  readonly originStep: number;
  /** How many of the batch's placements came before the window was taken. */
  readonly placedBefore: number;
  /** Times of the τ steps ahead. */
  readonly stepTimesMs: readonly number[];
  readonly channels: number;
  /**
   * The newest slots with their gaps filled, oldest first, channels of a step side by side. At most
   * max(2τ, the season of seasonal naive) steps, or as many as the series' model looks back on if those are more; shorter while the
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

/** The stored past of one series on its grid, as training and the gate see it. */
export interface History {
  readonly seriesId: string;
  /** The step of its grid, an ISO 8601 duration. */
  readonly interval: string;
  /** Time of the first slot, which was observed. */
  readonly firstTimeMs: number;
  readonly channels: number;
  /** Slot after slot, channels side by side. Short gaps are filled as in a window; NaN where a gap is too long. */
  readonly values: Float64Array;
  /** One byte per slot: 1 where it was filled rather than observed. Null when nothing was filled. */
  readonly filled: Uint8Array | null;
}

/**
 * What is known of a baseline's past errors: quantiles at the configured levels, relative to their median, and their spread.
 * The median itself is not added to a forecast: it says more about the last days than about the next.
 */
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

/**
 * What one method says about the τ steps after a window, before calibration. Arrays hold channel after channel,
 * τ steps each. On the path of a lane they are used again for the next forecast, so whoever keeps a forecast copies it.
 */
export interface RawForecast {
  /** Derived from series, origin and model version: a replay produces the same id. */
  readonly id: string;
  readonly window: Window;
  readonly mean: readonly number[];
  readonly standardDeviation: readonly number[];
  readonly quantiles: readonly Quantile[];
  readonly tier: Tier;
  /** The name of the method, for subscribers: "persistence", "seasonal-naive", "forecastnet". */
  readonly method: string;
  readonly modelKey: string;
  readonly modelVersion: string;
}

/** A forecast as it is published: the raw one, the quantiles after calibration, and the scores of its series. */
export interface Forecast {
  readonly raw: RawForecast;
  readonly quantiles: readonly Quantile[];
  /** Null when `quantiles` are those of the raw forecast. */
  readonly calibration: Calibration | null;
  /** Null until a forecast of the series has matured by a step. */
  readonly scores: LiveScores | null;
}

/** An observation that was put into its slot. The score stage scores earlier forecasts with it. */
export interface Placement {
  readonly seriesId: string;
  readonly slot: number;
  readonly timeMs: number;
  readonly values: readonly number[];
  /** What the slot held before; null when it was empty. */
  readonly replaced: readonly number[] | null;
}

/** What the score stage and the lifecycle know of the model that serves a series. */
export interface ServingFacts {
  /** The series id, or the key of its cohort. */
  readonly modelKey: string;
  readonly version: string;
  /** Per channel: what live errors are divided by. Empty when the series is measured by itself. */
  readonly naiveErrors: readonly number[];
  /** Null when the model was scored on nothing. */
  readonly validationMase: number | null;
  readonly trainedAtMs: number;
  readonly trainedToMs: number;
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

/** Figures of a stored series. */
export interface SeriesFacts {
  /** Null until an automatic interval is found. */
  readonly interval: string | null;
  readonly channels: number;
  /** Stored observations. */
  readonly points: number;
  /** Event time of the newest observation; null without any. */
  readonly lastTimeMs: number | null;
  /** Wall time when its state was last stored. */
  readonly seenMs: number;
  /** Wall time when it is forgotten unless it sends; null for never. */
  readonly endsAtMs: number | null;
}

/** Why an input record was set aside instead of being read. */
export const deadLetterReasons = [
  "undecodable",
  "unreadable-batch",
  "unknown-schema",
  "missing-series",
  "bad-series-id",
  "series-id-too-long",
  "bad-time",
  "future-time",
  "bad-value",
  "wrong-channels",
  "too-many-channels",
  "too-many-series",
  "oversized",
  "failed",
  "bad-request",
  "poisoned-request",
] as const;
export type DeadLetterReason = (typeof deadLetterReasons)[number];

/** Beside a record's key and value. Headers are an ordered list: a key may repeat, a value may be null. */
export interface Header {
  readonly key: string;
  readonly value: Buffer | null;
}

/** A record bound for a topic. The partition is always chosen by us, never by hashing the key again. */
export interface Outgoing {
  readonly topic: string;
  readonly partition: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers?: readonly Header[];
}

/** Takes the forecasts of one batch, one after the other, and keeps what it makes of them. */
export interface ForecastCollector<T> {
  add(forecast: Forecast): void;
  /** All that was made, in order. */
  end(): readonly T[];
}

/** What moves between stages. A stage replaces the items and may add records to be written with them. */
export interface Batch<T, Items extends Iterable<T> = readonly T[]> {
  readonly partition: number;
  readonly items: Items;
  /** Written in the same transaction as the input offsets: dead letters, state, forecasts. */
  readonly records: readonly Outgoing[];
  /** What found its slot, in order of arrival; empty before the window stage. */
  readonly placements: readonly Placement[];
  /** When the newest input record of the batch reached the log, in wall-clock milliseconds; null when unknown. */
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
