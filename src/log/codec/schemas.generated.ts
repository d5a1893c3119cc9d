// Made from schemas/*.avsc and schemas/history/ by `npm run generate`. Do not edit.

import type { AvroSchema } from "./avro-schema.ts";

/** Why and from where an input record was set aside. A dead letter keeps the original key, value and headers, so that it can be sent again; these fields travel as headers after them, each as text, named by headerPrefix and the field. Where the original has headers of the same names, the last of each is ours. */
export interface DeadLetterRecord {
  /** The topic the record was read from. */
  readonly topic: string;
  /** Its partition. */
  readonly partition: number;
  /** Its offset. */
  readonly offset: number;
  /** When the record was written, as the log tells it; in the header as milliseconds since the epoch. */
  readonly time: number;
  /** Why it was set aside: one word of a fixed list, to count by. */
  readonly reason: string;
  /** What exactly was wrong, for a person. */
  readonly detail: string;
  /** What was cut off because the dead-letter topic does not take records so large, headers first, then the value, then the key: `value cut from 10485760 to 1048000 bytes; 99900 headers dropped`. Empty when the dead letter is whole. */
  readonly truncated: string;
}

/** The values that the future stays below with one stated probability. */
export interface QuantileRecord {
  /** The probability, between 0 and 1. */
  readonly level: number;
  /** The quantile at every step. */
  readonly values: readonly number[];
}

/** Who made the forecast: COLD a baseline, MODEL the series' own model, COHORT a model shared by several series. A reader that meets a tier it does not know reads COLD, the one to trust least. */
export type TierSymbol = "COLD" | "MODEL" | "COHORT";

/** How the quantiles were corrected so that they hold what they state. */
export interface CalibrationRecord {
  /** The correction, such as adaptive-conformal. */
  readonly method: string;
  /** Matured steps the correction has learnt from. */
  readonly scoredSteps: number;
  /** The quantiles before correction; empty unless their publication is configured. */
  readonly rawQuantiles: readonly QuantileRecord[];
}

/** What one central interval stated and what it held. */
export interface CoverageRecord {
  /** The probability the interval states. */
  readonly stated: number;
  /** The share of matured steps inside it. */
  readonly observed: number;
}

/** How the series' forecasts have done of late, over the steps that have matured. */
export interface ScoresRecord {
  /** Mean absolute error over the one-step naive error of the training history. */
  readonly mase: number;
  /** Continuous ranked probability score, in units of the series. */
  readonly crps: number;
  /** Coverage of each central interval, narrowest first. */
  readonly coverage: readonly CoverageRecord[];
  /** Matured steps behind these scores. */
  readonly scoredSteps: number;
}

/** The next steps of one series as a distribution. The same window and model give the same bytes, on replay too, so nothing here comes from a wall clock. Number arrays hold channel after channel, `horizon` steps each. */
export interface ForecastRecord {
  /** A function of series, origin and model version: equal ids are the same forecast. */
  readonly id: string;
  /** The series forecast. */
  readonly seriesId: string;
  /** Time of the newest observation the forecast rests on; step h lies h intervals later. */
  readonly origin: number;
  /** The step of the series' grid, an ISO 8601 duration such as PT5M or P1M. */
  readonly interval: string;
  /** Steps ahead. */
  readonly horizon: number;
  /** Numbers per step; 1 for a plain sensor. */
  readonly channels: number;
  /** Times of the steps, `horizon` of them. */
  readonly times: readonly number[];
  /** Expected values. */
  readonly mean: readonly number[];
  /** Standard deviations around the mean. */
  readonly standardDeviation: readonly number[];
  /** Quantiles in ascending order of level. */
  readonly quantiles: readonly QuantileRecord[];
  /** Who made the forecast. */
  readonly tier: TierSymbol;
  /** How it was made: persistence, seasonal-naive, forecastnet. */
  readonly method: string;
  /** The model asked; the series id unless a cohort's model served. */
  readonly modelKey: string;
  /** The version of that model. */
  readonly modelVersion: string;
  /** Share of the model's window that was filled rather than observed, between 0 and 1. */
  readonly filledShare: number;
  /** Unbroken steps, observed or filled, that end at the origin. */
  readonly freshSteps: number;
  /** Steps since the series' last forecast that got none of their own because the worker was behind. */
  readonly skippedOrigins: number;
  /** How the quantiles were corrected; null when they are as the method gave them. */
  readonly calibration: null | CalibrationRecord;
  /** Rolling live scores of the series; null until forecasts have matured. */
  readonly scores: null | ScoresRecord;
}

/** Where one input topic stands. */
export interface InputPositionRecord {
  /** The input topic. */
  readonly topic: string;
  /** The first offset of this partition that no commit covers. */
  readonly nextOffset: number;
  /** The id of the topic, in hexadecimal: a topic made anew has another one. Null where brokers give none. */
  readonly topicId: null | string;
}

/** Where a worker stands in its input partition: part of every transaction, on the same topic and partition as the state that the transaction leaves behind. Key: #positions. */
export interface InputPositionsRecord {
  /** Names the commit: whoever lost the answer to its commit finds it here if it went through. */
  readonly commitId: string;
  /** One entry per input topic that has a partition of this number. */
  readonly inputs: readonly InputPositionRecord[];
  /** The id of the topic that this record was written to. Where it is another one, the record is a copy on another cluster, and the ids of the inputs tell nothing. Null where brokers give none. */
  readonly stateTopicId: null | string;
}

/** A forecast that is kept until its future has arrived, to be scored. On the state topic its key is the series id and the forecast's place in a ring, so that a later forecast takes the place of one that has matured. Levels, horizon and channels are those of the series' LiveState. */
export interface KeptForecastRecord {
  /** Grid index of the origin; step h lies h slots later. */
  readonly originSlot: number;
  /** The version of the model, or of the baseline, that made it; empty for the version of the LiveState. */
  readonly modelVersion: string;
  /** Of earlier versions, empty when there are cells. Float64, little-endian, two per channel: the number that code 0 stands for, less the base that the series' LiveState holds for the channel; and what a code counts in, a power of two, 0 when all numbers are the same. */
  readonly scales: Buffer;
  /** Of earlier versions, empty when there are cells. The quantiles as they were stated: 16 bits each, little-endian, step after step, channel after channel, level after level. */
  readonly codes: Buffer;
  /** Of still earlier versions. The quantiles as they were stated: Float32, little-endian, level after level, channel after channel, step after step; less the base of the channel. Empty when there are codes or cells. */
  readonly quantiles: Buffer;
  /** The quantiles as they were stated, less the base that the series' LiveState holds for the channel, little-endian. First, per channel: the lowest number (Float32), the highest fine code (UInt16), and the power of two that a fine code counts in from the lowest number (Int16; -32768 when all numbers are equal). Then step after step, channel after channel: the fine code of the median (UInt16); one byte with the powers of two in which the distances below it (low 4 bits) and above it are counted; and the distance of every other level from the median, one byte each, where 255 stands for the lowest or highest number. */
  readonly cells: Buffer;
}

/** Where the series stands: COLD no model of its own, TRAINING one is asked for, CHAMPION its model serves, DRIFTING its model serves and is stale. */
export type PhaseSymbol = "COLD" | "TRAINING" | "CHAMPION" | "DRIFTING";

/** A promoted model that has yet to prove itself. */
export interface ProbationRecord {
  /** Live MASE of what served before; null when it had none. */
  readonly predecessorMase: null | number;
  /** Event time of the promotion. */
  readonly since: number;
}

/** How the forecasts of a series have done, what its calibration has learnt, and where it stands between two models. On the state topic its key is the series id and the word live. */
export interface LiveStateRecord {
  /** The series. */
  readonly seriesId: string;
  /** Whose forecasts the scores and the calibration are about. */
  readonly modelVersion: string;
  /** One per channel: what errors are divided by. Fixed as long as the version serves; never zero. */
  readonly naiveErrors: readonly number[];
  /** Levels of the quantiles scored and calibrated, ascending. */
  readonly levels: readonly number[];
  /** Steps ahead. */
  readonly horizon: number;
  /** Grid index of the newest slot scored; sums are as of there. */
  readonly newestSlot: number;
  /** Slots scored since the version began to serve. */
  readonly scoredSlots: number;
  /** Fading sums of scores: Float64, little-endian, in the order of src/score/rolling-scores.ts; then the base of pending quantiles per channel, then the error cap of one slot. */
  readonly sums: Buffer;
  /** Steps that the calibration has learnt from. */
  readonly learntSteps: number;
  /** What the calibration has learnt: Float32, little-endian. */
  readonly calibration: Buffer;
  /** Where the series stands between two models. */
  readonly phase: PhaseSymbol;
  /** Since when. */
  readonly phaseSince: number;
  /** No training before the series has come to this time; for a cohort, before this time of day. */
  readonly restsUntil: number;
  /** Event time since when the series is no longer the one its model learnt; null while nothing says so. */
  readonly driftSince: null | number;
  /** The training under way; null when there is none. */
  readonly requestId: null | string;
  /** Null when the model is not on probation. */
  readonly probation: null | ProbationRecord;
  /** Event time when all families of models last competed for the series; null when they have not, or when the series has changed since. */
  readonly competedAt: null | number;
  /** The newest decision about the series' model, in words. */
  readonly verdict: null | string;
}

/** What was decided: DRIFTED the model is stale, RECOVERED it is not any more, REQUESTED a training was asked for, FAILED the training gave no model, REFUSED no challenger was better, PROMOTED one took over, CONFIRMED it passed its probation, ROLLED_BACK its predecessor took over again, RETIRED seasonal-naive took over, FORGOTTEN the series has ended and everything stored of it is deleted. A reader that meets a kind it does not know reads OTHER. */
export type ModelEventKindSymbol = "OTHER" | "DRIFTED" | "REQUESTED" | "FAILED" | "REFUSED" | "PROMOTED" | "ROLLED_BACK" | "RECOVERED" | "CONFIRMED" | "RETIRED" | "FORGOTTEN";

/** A decision about a model, with the numbers that decided it. */
export interface ModelEventRecord {
  /** Names the event; a replay gives the same id. */
  readonly id: string;
  /** The model: a series id, or the name of a cohort. */
  readonly modelKey: string;
  /** What was decided. */
  readonly kind: ModelEventKindSymbol;
  /** The version that served before; null when there was none. */
  readonly fromVersion: null | string;
  /** The version that serves from now on, or was refused; null when no model is concerned. */
  readonly toVersion: null | string;
  /** Why, in words for a person. */
  readonly reason: string;
  /** The numbers that decided, by name. */
  readonly numbers: Readonly<Record<string, number>>;
  /** When it was decided. */
  readonly time: number;
}

/** RETRAIN train it now, ROLL_BACK let its predecessor serve again, IMPORT let the record given serve, FORGET delete the series and its model. A reader that meets a kind it does not know reads OTHER. */
export type OrderKindSymbol = "OTHER" | "RETRAIN" | "ROLL_BACK" | "IMPORT" | "FORGET";

/** What a person asks to be done with a model. It lies on the models topic, beside the model, until the worker that owns the series has done it. */
export interface ModelOrderRecord {
  /** Names the order. */
  readonly id: string;
  /** The model: a series id, or the name of a cohort. */
  readonly modelKey: string;
  /** What to do. */
  readonly kind: OrderKindSymbol;
  /** For IMPORT: the ModelRecord, encoded as on the models topic. */
  readonly record: null | Buffer;
  /** For IMPORT: true lets the model serve whatever the gate would say. */
  readonly skipsGate: boolean;
  /** When it was asked for. */
  readonly askedAt: number;
}

/** How one weight is stored. FLOAT16 halves the record; both are computed with as FLOAT32. */
export type StorageSymbol = "FLOAT32" | "FLOAT16";

/** How a channel is scaled for the model: (value - offset) / scale. Fitted on the training part only. */
export interface ScalerRecord {
  /** One offset per channel. */
  readonly offset: readonly number[];
  /** One scale per channel, never zero. */
  readonly scale: readonly number[];
}

/** Scores on a tail of the history that the training never saw. */
export interface ValidationRecord {
  /** Mean absolute error over naiveErrors. */
  readonly mase: number;
  /** Continuous ranked probability score, in units of the series. */
  readonly crps: number;
  /** MASE of seasonal-naive on the same tail. */
  readonly baselineMase: number;
  /** CRPS of seasonal-naive on the same tail. */
  readonly baselineCrps: number;
  /** One per channel: the mean one-step naive error over the training history, by which live errors are divided. */
  readonly naiveErrors: readonly number[];
  /** Steps behind these scores. */
  readonly scoredSteps: number;
}

/** Where a model comes from. */
export interface LineageRecord {
  /** The version whose weights the training started from. */
  readonly version: string;
  /** Why it was trained again, in words. */
  readonly reason: string;
}

/** A trained model that serves one series or one cohort. */
export interface ModelRecord {
  /** The series id, or the name of the cohort. */
  readonly modelKey: string;
  /** Names this model among all of its key. */
  readonly version: string;
  /** The version this one replaced; null for the first. */
  readonly previousVersion: null | string;
  /** The model family that reads the weights and forecasts with them. */
  readonly family: string;
  /** What the model is made of, as JSON, for people. The model itself carries it in its bytes. */
  readonly spec: string;
  /** The whole model with a checksum of its own, in the layout that src/models/model-envelope.ts and its family describe. */
  readonly weights: Buffer;
  /** How one weight is stored. */
  readonly storage: StorageSymbol;
  /** Checksum of these bytes: the algorithm, a colon, lower-case hex; sha256:9f86… */
  readonly checksum: string;
  /** How values are scaled before the model sees them. */
  readonly scaler: ScalerRecord;
  /** When the training ended. */
  readonly trainedAt: number;
  /** Time of the oldest observation trained on. */
  readonly trainedFrom: number;
  /** Time of the newest observation trained on. */
  readonly trainedTo: number;
  /** How good the model was when it was accepted. */
  readonly validation: ValidationRecord;
  /** Where the model comes from; null when it was trained from nothing. */
  readonly lineage: null | LineageRecord;
  /** The training request that the model comes from; null when it was brought by hand. */
  readonly requestId: null | string;
  /** The record this one replaced, encoded as on the models topic but without a predecessor of its own: what a rollback puts back. Null when nothing served before. */
  readonly previous: null | Buffer;
}

/** One measurement of one series, as a sensor writes it. */
export interface ObservationRecord {
  /** The series measured. Never empty. */
  readonly seriesId: string;
  /** Event time: when the value was measured, not when it was sent. */
  readonly time: number;
  /** One number, or one number per channel. Every number is finite. */
  readonly value: number | readonly number[];
  /** Facts about the measurement for other readers of the topic. The worker does not use them. */
  readonly tags: Readonly<Record<string, string>>;
}

/** How one number is stored, little-endian. A number of an integer form is (base + code) / 10^decimals; its lowest code means NaN and the one above it −0. */
export type NumberFormSymbol = "INT8" | "INT16" | "INT32" | "FLOAT32" | "FLOAT64";

/** Numbers in the narrowest form that gives back exactly these numbers. */
export interface PackedValuesRecord {
  /** How one number is stored. */
  readonly form: NumberFormSymbol;
  /** Decimals of the numbers; 0 for floats. */
  readonly decimals: number;
  /** What is added to each code; 0 for floats. */
  readonly base: number;
  /** One code per number. */
  readonly codes: Buffer;
}

/** An observation that has no slot yet. */
export interface PointRecord {
  /** Event time. */
  readonly time: number;
  /** One number per channel. */
  readonly values: readonly number[];
}

/** A block of the state of one series. A series' grid is cut into blocks so that a batch rewrites only what moved; the key on the topic is the series id and the block's place in the series' ring of blocks. */
export interface StateBlockRecord {
  /** Grows with every change of the series. The block with the highest revision carries the series' head: interval, offsetMs, channels, newestSlot, lastForecastSlot, pendingPoints, seasons, naiveSeason, decidedAt and isNonNegative. */
  readonly revision: number;
  /** The grid in force, an ISO 8601 duration; empty while an automatic interval is still being found. */
  readonly interval: string;
  /** Phase of the grid against the epoch, in milliseconds. */
  readonly offsetMs: number;
  /** Numbers per slot. */
  readonly channels: number;
  /** Grid index of the block's first slot. */
  readonly firstSlot: number;
  /** One per channel: its values, slot after slot up to the last observed one of the block; NaN means not observed. When an event time differs from the time of its slot, one more: event time minus slot time, in milliseconds. Empty in a record of an earlier version. */
  readonly columns: readonly PackedValuesRecord[];
  /** The values as earlier versions stored them: Float64, little-endian, slot after slot, channels side by side. Empty when there are columns. */
  readonly values: Buffer;
  /** As earlier versions stored it, one per slot of values, little-endian: event time minus slot time, in milliseconds. Int32; Float64 for intervals of a month and more, and fixed ones of 50 days and more, whose jitter needs more than 32 bits. Null when all are zero. */
  readonly jitterMs: null | Buffer;
  /** Grid index of the newest slot of the series. */
  readonly newestSlot: number;
  /** Grid index of the origin of the series' last forecast; null before the first. */
  readonly lastForecastSlot: null | number;
  /** Points held while an automatic interval is being found. */
  readonly pendingPoints: readonly PointRecord[];
  /** Seasons that the past of the series confirms, in steps, ascending. */
  readonly seasons: readonly number[];
  /** Number of steps after which the values repeat best, for seasonal naive; 0 for the shortest season. */
  readonly naiveSeason: number;
  /** Length of the past in steps at which seasons were last decided on their own; 0 before the first decision. */
  readonly decidedAt: number;
  /** True when the past of the series touches zero and never crosses it. */
  readonly isNonNegative: boolean;
}

/** A trainer began to work on a request. Written before the work, so that a request that ends its trainer is recognised by the next one. */
export interface TrainingAttemptRecord {
  /** The request. */
  readonly requestId: string;
  /** How many times the work was begun. */
  readonly attempts: number;
  /** When it was begun last. */
  readonly startedAt: number;
}

/** What came of a training request. It lies on the models topic, beside the model, until the worker that owns the series has judged it. */
export interface TrainingOutcomeRecord {
  /** The request. */
  readonly requestId: string;
  /** The model asked for: a series id, or the name of a cohort. */
  readonly modelKey: string;
  /** ModelRecords, encoded as on the models topic, of which the gate takes the best or none. Empty when the training gave no model. */
  readonly challengers: readonly Buffer[];
  /** Why the training gave no model, in words; null when it gave one. */
  readonly reason: null | string;
  /** When the training ended. */
  readonly endedAt: number;
  /** Processor time of the training; null when nobody measured it. */
  readonly cpuSeconds: null | number;
}

/** The kept past of one series on its grid. */
export interface HistoryRecord {
  /** The series. */
  readonly seriesId: string;
  /** The step of its grid, an ISO 8601 duration. */
  readonly interval: string;
  /** Time of the first slot. */
  readonly firstTime: number;
  /** Numbers per slot. */
  readonly channels: number;
  /** Float64, little-endian, slot after slot, channels side by side. Short gaps are filled; NaN means a gap too long to fill. */
  readonly values: Buffer;
  /** One byte per slot: 1 where the value was filled rather than observed. Null when nothing was filled. */
  readonly filled: null | Buffer;
}

/** Why a training is asked for: NEW the first model of its key, DRIFT live scores went bad, AGE the model is old, REFRESH a linear model is fitted to newer data, UPGRADE all families compete with a linear model, MANUAL somebody asked. A reader that meets a reason it does not know reads MANUAL. */
export type TrainingReasonSymbol = "NEW" | "DRIFT" | "AGE" | "MANUAL" | "REFRESH" | "UPGRADE";

/** Work for a trainer. It carries the history, so that a trainer needs no state. */
export interface TrainingRequestRecord {
  /** Names the request; the same request asked twice has the same id. */
  readonly id: string;
  /** The model to train: a series id, or the name of a cohort. */
  readonly modelKey: string;
  /** How to train, as JSON: family (ForecastNet when it is missing), horizon, season, form, effort, members, holdBack, recentFromMs and refreshes, as TrainingPlan in src/training/training-task.ts describes them. */
  readonly spec: string;
  /** What to train on: one series, or all members of a cohort. */
  readonly histories: readonly HistoryRecord[];
  /** Why the training is asked for. */
  readonly reason: TrainingReasonSymbol;
  /** When it was first asked for. */
  readonly requestedAt: number;
  /** Always 1, and not read. It stays because a trainer reads only the schemas that its release knows: without it, trainers of the previous release could not read requests of this one. */
  readonly attempt: number;
}

export interface RecordByName {
  readonly DeadLetter: DeadLetterRecord;
  readonly Forecast: ForecastRecord;
  readonly InputPositions: InputPositionsRecord;
  readonly KeptForecast: KeptForecastRecord;
  readonly LiveState: LiveStateRecord;
  readonly ModelEvent: ModelEventRecord;
  readonly ModelOrder: ModelOrderRecord;
  readonly ModelRecord: ModelRecord;
  readonly Observation: ObservationRecord;
  readonly StateBlock: StateBlockRecord;
  readonly TrainingAttempt: TrainingAttemptRecord;
  readonly TrainingOutcome: TrainingOutcomeRecord;
  readonly TrainingRequest: TrainingRequestRecord;
}

export type RecordName = keyof RecordByName;

/** Every version of every record, oldest first; the last one is written. */
export const schemaVersions: Readonly<Record<RecordName, readonly AvroSchema[]>> = {
  DeadLetter: [
    {
      "type": "record",
      "name": "DeadLetter",
      "namespace": "forecastnet",
      "doc": "Why and from where an input record was set aside. A dead letter keeps the original key, value and headers untouched, so that it can be sent again; these fields travel as further headers, each as text, named by headerPrefix and the field.",
      "headerPrefix": "forecastnet.dead-letter.",
      "fields": [
        {
          "name": "topic",
          "type": "string",
          "doc": "The topic the record was read from."
        },
        {
          "name": "partition",
          "type": "int",
          "doc": "Its partition."
        },
        {
          "name": "offset",
          "type": "long",
          "doc": "Its offset."
        },
        {
          "name": "time",
          "type": {
            "type": "long",
            "logicalType": "timestamp-millis"
          },
          "doc": "When the record was written, as the log tells it; in the header as milliseconds since the epoch."
        },
        {
          "name": "reason",
          "type": "string",
          "doc": "Why it was set aside: one word of a fixed list, to count by."
        },
        {
          "name": "detail",
          "type": "string",
          "doc": "What exactly was wrong, for a person."
        }
      ]
    },
    {
      "type": "record",
      "name": "DeadLetter",
      "namespace": "forecastnet",
      "doc": "Why and from where an input record was set aside. A dead letter keeps the original key, value and headers, so that it can be sent again; these fields travel as headers after them, each as text, named by headerPrefix and the field. Where the original has headers of the same names, the last of each is ours.",
      "headerPrefix": "forecastnet.dead-letter.",
      "fields": [
        {
          "name": "topic",
          "type": "string",
          "doc": "The topic the record was read from."
        },
        {
          "name": "partition",
          "type": "int",
          "doc": "Its partition."
        },
        {
          "name": "offset",
          "type": "long",
          "doc": "Its offset."
        },
        {
          "name": "time",
          "type": {
            "type": "long",
            "logicalType": "timestamp-millis"
          },
          "doc": "When the record was written, as the log tells it; in the header as milliseconds since the epoch."
        },
        {
          "name": "reason",
          "type": "string",
          "doc": "Why it was set aside: one word of a fixed list, to count by."
        },
        {
          "name": "detail",
          "type": "string",
          "doc": "What exactly was wrong, for a person."
        },
        {
          "name": "truncated",
          "type": "string",
          "default": "",
          "doc": "What was cut off because the dead-letter topic does not take records so large, headers first, then the value, then the key: `value cut from 10485760 to 1048000 bytes; 99900 headers dropped`. Empty when the dead letter is whole."
        }
      ]
    },
  ],
  Forecast: [
    {
      "type": "record",
      "name": "Forecast",
      "namespace": "forecastnet",
      "doc": "The next steps of one series as a distribution. The same window and model give the same bytes, on replay too, so nothing here comes from a wall clock. Number arrays hold channel after channel, `horizon` steps each.",
      "fields": [
        {
          "name": "id",
          "type": "string",
          "doc": "A function of series, origin and model version: equal ids are the same forecast."
        },
        {
          "name": "seriesId",
          "type": "string",
          "doc": "The series forecast."
        },
        {
          "name": "origin",
          "type": {
            "type": "long",
            "logicalType": "timestamp-millis"
          },
          "doc": "Time of the newest observation the forecast rests on; step h lies h intervals later."
        },
        {
          "name": "interval",
          "type": "string",
          "doc": "The step of the series' grid, an ISO 8601 duration such as PT5M or P1M."
        },
        {
          "name": "horizon",
          "type": "int",
          "doc": "Steps ahead."
        },
        {
          "name": "channels",
          "type": "int",
          "doc": "Numbers per step; 1 for a plain sensor."
        },
        {
          "name": "times",
          "type": {
            "type": "array",
            "items": {
              "type": "long",
              "logicalType": "timestamp-millis"
            }
          },
          "doc": "Times of the steps, `horizon` of them."
        },
        {
          "name": "mean",
          "type": {
            "type": "array",
            "items": "double"
          },
          "doc": "Expected values."
        },
        {
          "name": "standardDeviation",
          "type": {
            "type": "array",
            "items": "double"
          },
          "doc": "Standard deviations around the mean."
        },
        {
          "name": "quantiles",
          "type": {
            "type": "array",
            "items": {
              "type": "record",
              "name": "Quantile",
              "doc": "The values that the future stays below with one stated probability.",
              "fields": [
                {
                  "name": "level",
                  "type": "double",
                  "doc": "The probability, between 0 and 1."
                },
                {
                  "name": "values",
                  "type": {
                    "type": "array",
                    "items": "double"
                  },
                  "doc": "The quantile at every step."
                }
              ]
            }
          },
          "doc": "Quantiles in ascending order of level."
        },
        {
          "name": "tier",
          "type": {
            "type": "enum",
            "name": "Tier",
            "doc": "Who made the forecast: COLD a baseline, MODEL the series' own model, COHORT a model shared by several series. A reader that meets a tier it does not know reads COLD, the one to trust least.",
            "symbols": [
              "COLD",
              "MODEL",
              "COHORT"
            ],
            "default": "COLD"
          },
          "doc": "Who made the forecast."
        },
        {
          "name": "method",
          "type": "string",
          "doc": "How it was made: persistence, seasonal-naive, forecastnet."
        },
        {
          "name": "modelKey",
          "type": "string",
          "doc": "The model asked; the series id unless a cohort's model served."
        },
        {
          "name": "modelVersion",
          "type": "string",
          "doc": "The version of that model."
        },
        {
          "name": "filledShare",
          "type": "double",
          "doc": "Share of the model's window that was filled rather than observed, between 0 and 1."
        },
        {
          "name": "freshSteps",
          "type": "int",
          "doc": "Unbroken steps, observed or filled, that end at the origin."
        },
        {
          "name": "skippedOrigins",
          "type": "int",
          "doc": "Steps since the series' last forecast that got none of their own because the worker was behind."
        },
        {
          "name": "calibration",
          "type": [
            "null",
            {
              "type": "record",
              "name": "Calibration",
              "doc": "How the quantiles were corrected so that they hold what they state.",
              "fields": [
                {
                  "name": "method",
                  "type": "string",
                  "doc": "The correction, such as adaptive-conformal."
                },
                {
                  "name": "scoredSteps",
                  "type": "int",
                  "doc": "Matured steps the correction has learnt from."
                },
                {
                  "name": "rawQuantiles",
                  "type": {
                    "type": "array",
                    "items": "Quantile"
                  },
                  "default": [],
                  "doc": "The quantiles before correction; empty unless their publication is configured."
                }
              ]
            }
          ],
          "default": null,
          "doc": "How the quantiles were corrected; null when they are as the method gave them."
        },
        {
          "name": "scores",
          "type": [
            "null",
            {
              "type": "record",
              "name": "Scores",
              "doc": "How the series' forecasts have done of late, over the steps that have matured.",
              "fields": [
                {
                  "name": "mase",
                  "type": "double",
                  "doc": "Mean absolute error over the one-step naive error of the training history."
                },
                {
                  "name": "crps",
                  "type": "double",
                  "doc": "Continuous ranked probability score, in units of the series."
                },
                {
                  "name": "coverage",
                  "type": {
                    "type": "array",
                    "items": {
                      "type": "record",
                      "name": "Coverage",
                      "doc": "What one central interval stated and what it held.",
                      "fields": [
                        {
                          "name": "stated",
                          "type": "double",
                          "doc": "The probability the interval states."
                        },
                        {
                          "name": "observed",
                          "type": "double",
                          "doc": "The share of matured steps inside it."
                        }
                      ]
                    }
                  },
                  "default": [],
                  "doc": "Coverage of each central interval, narrowest first."
                },
                {
                  "name": "scoredSteps",
                  "type": "int",
                  "doc": "Matured steps behind these scores."
                }
              ]
            }
          ],
          "default": null,
          "doc": "Rolling live scores of the series; null until forecasts have matured."
        }
      ]
    },
  ],
  InputPositions: [
    {
      "type": "record",
      "name": "InputPositions",
      "namespace": "forecastnet",
      "doc": "Where a worker stands in its input partition: part of every transaction, on the same topic and partition as the state that the transaction leaves behind. Key: #positions.",
      "fields": [
        {
          "name": "commitId",
          "type": "string",
          "doc": "Names the commit: whoever lost the answer to its commit finds it here if it went through."
        },
        {
          "name": "inputs",
          "type": {
            "type": "array",
            "items": {
              "type": "record",
              "name": "InputPosition",
              "doc": "Where one input topic stands.",
              "fields": [
                {
                  "name": "topic",
                  "type": "string",
                  "doc": "The input topic."
                },
                {
                  "name": "nextOffset",
                  "type": "long",
                  "doc": "The first offset of this partition that no commit covers."
                },
                {
                  "name": "topicId",
                  "type": [
                    "null",
                    "string"
                  ],
                  "default": null,
                  "doc": "The id of the topic, in hexadecimal: a topic made anew has another one. Null where brokers give none."
                }
              ]
            }
          },
          "doc": "One entry per input topic that has a partition of this number."
        },
        {
          "name": "stateTopicId",
          "type": [
            "null",
            "string"
          ],
          "default": null,
          "doc": "The id of the topic that this record was written to. Where it is another one, the record is a copy on another cluster, and the ids of the inputs tell nothing. Null where brokers give none."
        }
      ]
    },
  ],
  KeptForecast: [
    {
      "type": "record",
      "name": "KeptForecast",
      "namespace": "forecastnet",
      "doc": "A forecast that is kept until its future has arrived, to be scored. On the state topic its key is the series id and the forecast's place in a ring, so that a later forecast takes the place of one that has matured.",
      "fields": [
        {
          "name": "seriesId",
          "type": "string",
          "doc": "The series."
        },
        {
          "name": "originSlot",
          "type": "long",
          "doc": "Grid index of the origin; step h lies h slots later."
        },
        {
          "name": "modelVersion",
          "type": "string",
          "doc": "The version of the model, or of the baseline, that made it."
        },
        {
          "name": "channels",
          "type": "int",
          "doc": "Numbers per step."
        },
        {
          "name": "horizon",
          "type": "int",
          "doc": "Steps ahead."
        },
        {
          "name": "levels",
          "type": {
            "type": "array",
            "items": "double"
          },
          "doc": "Levels of the quantiles, ascending."
        },
        {
          "name": "quantiles",
          "type": "bytes",
          "doc": "The quantiles as they were stated: Float32, little-endian, level after level, channel after channel, step after step; less the base that the series' LiveState holds for the channel."
        }
      ]
    },
    {
      "type": "record",
      "name": "KeptForecast",
      "namespace": "forecastnet",
      "doc": "A forecast that is kept until its future has arrived, to be scored. On the state topic its key is the series id and the forecast's place in a ring, so that a later forecast takes the place of one that has matured. Levels, horizon and channels are those of the series' LiveState.",
      "fields": [
        {
          "name": "originSlot",
          "type": "long",
          "doc": "Grid index of the origin; step h lies h slots later."
        },
        {
          "name": "modelVersion",
          "type": "string",
          "doc": "The version of the model, or of the baseline, that made it; empty for the version of the LiveState."
        },
        {
          "name": "scales",
          "type": "bytes",
          "default": "",
          "doc": "Float64, little-endian, two per channel: the number that code 0 stands for, less the base that the series' LiveState holds for the channel; and what a code counts in, a power of two, 0 when all numbers are the same."
        },
        {
          "name": "codes",
          "type": "bytes",
          "default": "",
          "doc": "The quantiles as they were stated: 16 bits each, little-endian, step after step, channel after channel, level after level."
        },
        {
          "name": "quantiles",
          "type": "bytes",
          "default": "",
          "doc": "The quantiles as earlier versions stored them: Float32, little-endian, level after level, channel after channel, step after step; less the base of the channel. Empty when there are codes."
        }
      ]
    },
    {
      "type": "record",
      "name": "KeptForecast",
      "namespace": "forecastnet",
      "doc": "A forecast that is kept until its future has arrived, to be scored. On the state topic its key is the series id and the forecast's place in a ring, so that a later forecast takes the place of one that has matured. Levels, horizon and channels are those of the series' LiveState.",
      "fields": [
        {
          "name": "originSlot",
          "type": "long",
          "doc": "Grid index of the origin; step h lies h slots later."
        },
        {
          "name": "modelVersion",
          "type": "string",
          "doc": "The version of the model, or of the baseline, that made it; empty for the version of the LiveState."
        },
        {
          "name": "scales",
          "type": "bytes",
          "default": "",
          "doc": "Of earlier versions, empty when there are cells. Float64, little-endian, two per channel: the number that code 0 stands for, less the base that the series' LiveState holds for the channel; and what a code counts in, a power of two, 0 when all numbers are the same."
        },
        {
          "name": "codes",
          "type": "bytes",
          "default": "",
          "doc": "Of earlier versions, empty when there are cells. The quantiles as they were stated: 16 bits each, little-endian, step after step, channel after channel, level after level."
        },
        {
          "name": "quantiles",
          "type": "bytes",
          "default": "",
          "doc": "Of still earlier versions. The quantiles as they were stated: Float32, little-endian, level after level, channel after channel, step after step; less the base of the channel. Empty when there are codes or cells."
        },
        {
          "name": "cells",
          "type": "bytes",
          "default": "",
          "doc": "The quantiles as they were stated, less the base that the series' LiveState holds for the channel, little-endian. First, per channel: the lowest number (Float32), the highest fine code (UInt16), and the power of two that a fine code counts in from the lowest number (Int16; -32768 when all numbers are equal). Then step after step, channel after channel: the fine code of the median (UInt16); one byte with the powers of two in which the distances below it (low 4 bits) and above it are counted; and the distance of every other level from the median, one byte each, where 255 stands for the lowest or highest number."
        }
      ]
    },
  ],
  LiveState: [
    {
      "type": "record",
      "name": "LiveState",
      "namespace": "forecastnet",
      "doc": "How the forecasts of a series have done, what its calibration has learnt, and where it stands between two models. On the state topic its key is the series id and the word live.",
      "fields": [
        {
          "name": "seriesId",
          "type": "string",
          "doc": "The series."
        },
        {
          "name": "modelVersion",
          "type": "string",
          "doc": "Whose forecasts the scores and the calibration are about."
        },
        {
          "name": "naiveErrors",
          "type": {
            "type": "array",
            "items": "double"
          },
          "doc": "One per channel: what errors are divided by. Fixed as long as the version serves; never zero."
        },
        {
          "name": "levels",
          "type": {
            "type": "array",
            "items": "double"
          },
          "doc": "Levels of the quantiles scored and calibrated, ascending."
        },
        {
          "name": "horizon",
          "type": "int",
          "doc": "Steps ahead."
        },
        {
          "name": "newestSlot",
          "type": "long",
          "doc": "Grid index of the newest slot scored; sums are as of there."
        },
        {
          "name": "scoredSlots",
          "type": "long",
          "doc": "Slots scored since the version began to serve."
        },
        {
          "name": "sums",
          "type": "bytes",
          "doc": "Fading sums of scores: Float64, little-endian, in the order of src/score/rolling-scores.ts; then the base of pending quantiles per channel, then the error cap of one slot."
        },
        {
          "name": "learntSteps",
          "type": "long",
          "doc": "Steps that the calibration has learnt from."
        },
        {
          "name": "calibration",
          "type": "bytes",
          "doc": "What the calibration has learnt: Float32, little-endian."
        },
        {
          "name": "phase",
          "type": {
            "type": "enum",
            "name": "Phase",
            "doc": "Where the series stands: COLD no model of its own, TRAINING one is asked for, CHAMPION its model serves, DRIFTING its model serves and is stale.",
            "symbols": [
              "COLD",
              "TRAINING",
              "CHAMPION",
              "DRIFTING"
            ],
            "default": "COLD"
          },
          "doc": "Where the series stands between two models."
        },
        {
          "name": "phaseSince",
          "type": {
            "type": "long",
            "logicalType": "timestamp-millis"
          },
          "doc": "Since when."
        },
        {
          "name": "restsUntil",
          "type": {
            "type": "long",
            "logicalType": "timestamp-millis"
          },
          "default": 0,
          "doc": "No training before the series has come to this time; for a cohort, before this time of day."
        },
        {
          "name": "driftSince",
          "type": [
            "null",
            {
              "type": "long",
              "logicalType": "timestamp-millis"
            }
          ],
          "default": null,
          "doc": "Event time since when the series is no longer the one its model learnt; null while nothing says so."
        },
        {
          "name": "requestId",
          "type": [
            "null",
            "string"
          ],
          "default": null,
          "doc": "The training under way; null when there is none."
        },
        {
          "name": "probation",
          "type": [
            "null",
            {
              "type": "record",
              "name": "Probation",
              "doc": "A promoted model that has yet to prove itself.",
              "fields": [
                {
                  "name": "predecessorMase",
                  "type": [
                    "null",
                    "double"
                  ],
                  "default": null,
                  "doc": "Live MASE of what served before; null when it had none."
                },
                {
                  "name": "since",
                  "type": {
                    "type": "long",
                    "logicalType": "timestamp-millis"
                  },
                  "doc": "Event time of the promotion."
                }
              ]
            }
          ],
          "default": null,
          "doc": "Null when the model is not on probation."
        },
        {
          "name": "verdict",
          "type": [
            "null",
            "string"
          ],
          "default": null,
          "doc": "The newest decision about the series' model, in words."
        }
      ]
    },
    {
      "type": "record",
      "name": "LiveState",
      "namespace": "forecastnet",
      "doc": "How the forecasts of a series have done, what its calibration has learnt, and where it stands between two models. On the state topic its key is the series id and the word live.",
      "fields": [
        {
          "name": "seriesId",
          "type": "string",
          "doc": "The series."
        },
        {
          "name": "modelVersion",
          "type": "string",
          "doc": "Whose forecasts the scores and the calibration are about."
        },
        {
          "name": "naiveErrors",
          "type": {
            "type": "array",
            "items": "double"
          },
          "doc": "One per channel: what errors are divided by. Fixed as long as the version serves; never zero."
        },
        {
          "name": "levels",
          "type": {
            "type": "array",
            "items": "double"
          },
          "doc": "Levels of the quantiles scored and calibrated, ascending."
        },
        {
          "name": "horizon",
          "type": "int",
          "doc": "Steps ahead."
        },
        {
          "name": "newestSlot",
          "type": "long",
          "doc": "Grid index of the newest slot scored; sums are as of there."
        },
        {
          "name": "scoredSlots",
          "type": "long",
          "doc": "Slots scored since the version began to serve."
        },
        {
          "name": "sums",
          "type": "bytes",
          "doc": "Fading sums of scores: Float64, little-endian, in the order of src/score/rolling-scores.ts; then the base of pending quantiles per channel, then the error cap of one slot."
        },
        {
          "name": "learntSteps",
          "type": "long",
          "doc": "Steps that the calibration has learnt from."
        },
        {
          "name": "calibration",
          "type": "bytes",
          "doc": "What the calibration has learnt: Float32, little-endian."
        },
        {
          "name": "phase",
          "type": {
            "type": "enum",
            "name": "Phase",
            "doc": "Where the series stands: COLD no model of its own, TRAINING one is asked for, CHAMPION its model serves, DRIFTING its model serves and is stale.",
            "symbols": [
              "COLD",
              "TRAINING",
              "CHAMPION",
              "DRIFTING"
            ],
            "default": "COLD"
          },
          "doc": "Where the series stands between two models."
        },
        {
          "name": "phaseSince",
          "type": {
            "type": "long",
            "logicalType": "timestamp-millis"
          },
          "doc": "Since when."
        },
        {
          "name": "restsUntil",
          "type": {
            "type": "long",
            "logicalType": "timestamp-millis"
          },
          "default": 0,
          "doc": "No training before the series has come to this time; for a cohort, before this time of day."
        },
        {
          "name": "driftSince",
          "type": [
            "null",
            {
              "type": "long",
              "logicalType": "timestamp-millis"
            }
          ],
          "default": null,
          "doc": "Event time since when the series is no longer the one its model learnt; null while nothing says so."
        },
        {
          "name": "requestId",
          "type": [
            "null",
            "string"
          ],
          "default": null,
          "doc": "The training under way; null when there is none."
        },
        {
          "name": "probation",
          "type": [
            "null",
            {
              "type": "record",
              "name": "Probation",
              "doc": "A promoted model that has yet to prove itself.",
              "fields": [
                {
                  "name": "predecessorMase",
                  "type": [
                    "null",
                    "double"
                  ],
                  "default": null,
                  "doc": "Live MASE of what served before; null when it had none."
                },
                {
                  "name": "since",
                  "type": {
                    "type": "long",
                    "logicalType": "timestamp-millis"
                  },
                  "doc": "Event time of the promotion."
                }
              ]
            }
          ],
          "default": null,
          "doc": "Null when the model is not on probation."
        },
        {
          "name": "competedAt",
          "type": [
            "null",
            {
              "type": "long",
              "logicalType": "timestamp-millis"
            }
          ],
          "default": null,
          "doc": "Event time when all families of models last competed for the series; null when they have not, or when the series has changed since."
        },
        {
          "name": "verdict",
          "type": [
            "null",
            "string"
          ],
          "default": null,
          "doc": "The newest decision about the series' model, in words."
        }
      ]
    },
  ],
  ModelEvent: [
    {
      "type": "record",
      "name": "ModelEvent",
      "namespace": "forecastnet",
      "doc": "A decision about a model, with the numbers that decided it.",
      "fields": [
        {
          "name": "id",
          "type": "string",
          "doc": "Names the event; a replay gives the same id."
        },
        {
          "name": "modelKey",
          "type": "string",
          "doc": "The model: a series id, or the name of a cohort."
        },
        {
          "name": "kind",
          "type": {
            "type": "enum",
            "name": "ModelEventKind",
            "doc": "What was decided: DRIFTED the model is stale, REQUESTED a training was asked for, FAILED the training gave no model, REFUSED the challenger was not better, PROMOTED it took over, ROLLED_BACK its predecessor took over again. A reader that meets a kind it does not know reads OTHER.",
            "symbols": [
              "OTHER",
              "DRIFTED",
              "REQUESTED",
              "FAILED",
              "REFUSED",
              "PROMOTED",
              "ROLLED_BACK"
            ],
            "default": "OTHER"
          },
          "doc": "What was decided."
        },
        {
          "name": "fromVersion",
          "type": [
            "null",
            "string"
          ],
          "default": null,
          "doc": "The version that served before; null when there was none."
        },
        {
          "name": "toVersion",
          "type": [
            "null",
            "string"
          ],
          "default": null,
          "doc": "The version that serves from now on, or was refused; null when no model is concerned."
        },
        {
          "name": "reason",
          "type": "string",
          "doc": "Why, in words for a person."
        },
        {
          "name": "numbers",
          "type": {
            "type": "map",
            "values": "double"
          },
          "default": {},
          "doc": "The numbers that decided, by name."
        },
        {
          "name": "time",
          "type": {
            "type": "long",
            "logicalType": "timestamp-millis"
          },
          "doc": "When it was decided."
        }
      ]
    },
    {
      "type": "record",
      "name": "ModelEvent",
      "namespace": "forecastnet",
      "doc": "A decision about a model, with the numbers that decided it.",
      "fields": [
        {
          "name": "id",
          "type": "string",
          "doc": "Names the event; a replay gives the same id."
        },
        {
          "name": "modelKey",
          "type": "string",
          "doc": "The model: a series id, or the name of a cohort."
        },
        {
          "name": "kind",
          "type": {
            "type": "enum",
            "name": "ModelEventKind",
            "doc": "What was decided: DRIFTED the model is stale, RECOVERED it is not any more, REQUESTED a training was asked for, FAILED the training gave no model, REFUSED no challenger was better, PROMOTED one took over, CONFIRMED it passed its probation, ROLLED_BACK its predecessor took over again, RETIRED seasonal-naive took over. A reader that meets a kind it does not know reads OTHER.",
            "symbols": [
              "OTHER",
              "DRIFTED",
              "REQUESTED",
              "FAILED",
              "REFUSED",
              "PROMOTED",
              "ROLLED_BACK",
              "RECOVERED",
              "CONFIRMED",
              "RETIRED"
            ],
            "default": "OTHER"
          },
          "doc": "What was decided."
        },
        {
          "name": "fromVersion",
          "type": [
            "null",
            "string"
          ],
          "default": null,
          "doc": "The version that served before; null when there was none."
        },
        {
          "name": "toVersion",
          "type": [
            "null",
            "string"
          ],
          "default": null,
          "doc": "The version that serves from now on, or was refused; null when no model is concerned."
        },
        {
          "name": "reason",
          "type": "string",
          "doc": "Why, in words for a person."
        },
        {
          "name": "numbers",
          "type": {
            "type": "map",
            "values": "double"
          },
          "default": {},
          "doc": "The numbers that decided, by name."
        },
        {
          "name": "time",
          "type": {
            "type": "long",
            "logicalType": "timestamp-millis"
          },
          "doc": "When it was decided."
        }
      ]
    },
    {
      "type": "record",
      "name": "ModelEvent",
      "namespace": "forecastnet",
      "doc": "A decision about a model, with the numbers that decided it.",
      "fields": [
        {
          "name": "id",
          "type": "string",
          "doc": "Names the event; a replay gives the same id."
        },
        {
          "name": "modelKey",
          "type": "string",
          "doc": "The model: a series id, or the name of a cohort."
        },
        {
          "name": "kind",
          "type": {
            "type": "enum",
            "name": "ModelEventKind",
            "doc": "What was decided: DRIFTED the model is stale, RECOVERED it is not any more, REQUESTED a training was asked for, FAILED the training gave no model, REFUSED no challenger was better, PROMOTED one took over, CONFIRMED it passed its probation, ROLLED_BACK its predecessor took over again, RETIRED seasonal-naive took over, FORGOTTEN the series has ended and everything stored of it is deleted. A reader that meets a kind it does not know reads OTHER.",
            "symbols": [
              "OTHER",
              "DRIFTED",
              "REQUESTED",
              "FAILED",
              "REFUSED",
              "PROMOTED",
              "ROLLED_BACK",
              "RECOVERED",
              "CONFIRMED",
              "RETIRED",
              "FORGOTTEN"
            ],
            "default": "OTHER"
          },
          "doc": "What was decided."
        },
        {
          "name": "fromVersion",
          "type": [
            "null",
            "string"
          ],
          "default": null,
          "doc": "The version that served before; null when there was none."
        },
        {
          "name": "toVersion",
          "type": [
            "null",
            "string"
          ],
          "default": null,
          "doc": "The version that serves from now on, or was refused; null when no model is concerned."
        },
        {
          "name": "reason",
          "type": "string",
          "doc": "Why, in words for a person."
        },
        {
          "name": "numbers",
          "type": {
            "type": "map",
            "values": "double"
          },
          "default": {},
          "doc": "The numbers that decided, by name."
        },
        {
          "name": "time",
          "type": {
            "type": "long",
            "logicalType": "timestamp-millis"
          },
          "doc": "When it was decided."
        }
      ]
    },
  ],
  ModelOrder: [
    {
      "type": "record",
      "name": "ModelOrder",
      "namespace": "forecastnet",
      "doc": "What a person asks to be done with a model. It lies on the models topic, beside the model, until the worker that owns the series has done it.",
      "fields": [
        {
          "name": "id",
          "type": "string",
          "doc": "Names the order."
        },
        {
          "name": "modelKey",
          "type": "string",
          "doc": "The model: a series id, or the name of a cohort."
        },
        {
          "name": "kind",
          "type": {
            "type": "enum",
            "name": "OrderKind",
            "doc": "RETRAIN train it now, ROLL_BACK let its predecessor serve again, IMPORT let the record given serve. A reader that meets a kind it does not know reads OTHER.",
            "symbols": [
              "OTHER",
              "RETRAIN",
              "ROLL_BACK",
              "IMPORT"
            ],
            "default": "OTHER"
          },
          "doc": "What to do."
        },
        {
          "name": "record",
          "type": [
            "null",
            "bytes"
          ],
          "default": null,
          "doc": "For IMPORT: the ModelRecord, encoded as on the models topic."
        },
        {
          "name": "skipsGate",
          "type": "boolean",
          "default": false,
          "doc": "For IMPORT: true lets the model serve whatever the gate would say."
        },
        {
          "name": "askedAt",
          "type": {
            "type": "long",
            "logicalType": "timestamp-millis"
          },
          "doc": "When it was asked for."
        }
      ]
    },
    {
      "type": "record",
      "name": "ModelOrder",
      "namespace": "forecastnet",
      "doc": "What a person asks to be done with a model. It lies on the models topic, beside the model, until the worker that owns the series has done it.",
      "fields": [
        {
          "name": "id",
          "type": "string",
          "doc": "Names the order."
        },
        {
          "name": "modelKey",
          "type": "string",
          "doc": "The model: a series id, or the name of a cohort."
        },
        {
          "name": "kind",
          "type": {
            "type": "enum",
            "name": "OrderKind",
            "doc": "RETRAIN train it now, ROLL_BACK let its predecessor serve again, IMPORT let the record given serve, FORGET delete the series and its model. A reader that meets a kind it does not know reads OTHER.",
            "symbols": [
              "OTHER",
              "RETRAIN",
              "ROLL_BACK",
              "IMPORT",
              "FORGET"
            ],
            "default": "OTHER"
          },
          "doc": "What to do."
        },
        {
          "name": "record",
          "type": [
            "null",
            "bytes"
          ],
          "default": null,
          "doc": "For IMPORT: the ModelRecord, encoded as on the models topic."
        },
        {
          "name": "skipsGate",
          "type": "boolean",
          "default": false,
          "doc": "For IMPORT: true lets the model serve whatever the gate would say."
        },
        {
          "name": "askedAt",
          "type": {
            "type": "long",
            "logicalType": "timestamp-millis"
          },
          "doc": "When it was asked for."
        }
      ]
    },
  ],
  ModelRecord: [
    {
      "type": "record",
      "name": "ModelRecord",
      "namespace": "forecastnet",
      "doc": "A trained model that serves one series or one cohort.",
      "fields": [
        {
          "name": "modelKey",
          "type": "string",
          "doc": "The series id, or the name of the cohort."
        },
        {
          "name": "version",
          "type": "string",
          "doc": "Names this model among all of its key."
        },
        {
          "name": "previousVersion",
          "type": [
            "null",
            "string"
          ],
          "default": null,
          "doc": "The version this one replaced; null for the first."
        },
        {
          "name": "spec",
          "type": "string",
          "doc": "For people and gates: the specs of the nets that make up the model, as JSON. The model itself carries them in its bytes."
        },
        {
          "name": "weights",
          "type": "bytes",
          "doc": "The whole model: specs, scaler, weights and a checksum of its own, in the layout that src/models/forecastnet/model-bytes.ts describes."
        },
        {
          "name": "storage",
          "type": {
            "type": "enum",
            "name": "Storage",
            "doc": "How one weight is stored. FLOAT16 halves the record; both are computed with as FLOAT32.",
            "symbols": [
              "FLOAT32",
              "FLOAT16"
            ]
          },
          "doc": "How one weight is stored."
        },
        {
          "name": "checksum",
          "type": "string",
          "doc": "Checksum of these bytes: the algorithm, a colon, lower-case hex; sha256:9f86…"
        },
        {
          "name": "scaler",
          "type": {
            "type": "record",
            "name": "Scaler",
            "doc": "How a channel is scaled for the model: (value - offset) / scale. Fitted on the training part only.",
            "fields": [
              {
                "name": "offset",
                "type": {
                  "type": "array",
                  "items": "double"
                },
                "doc": "One offset per channel."
              },
              {
                "name": "scale",
                "type": {
                  "type": "array",
                  "items": "double"
                },
                "doc": "One scale per channel, never zero."
              }
            ]
          },
          "doc": "How values are scaled before the model sees them."
        },
        {
          "name": "trainedAt",
          "type": {
            "type": "long",
            "logicalType": "timestamp-millis"
          },
          "doc": "When the training ended."
        },
        {
          "name": "trainedFrom",
          "type": {
            "type": "long",
            "logicalType": "timestamp-millis"
          },
          "doc": "Time of the oldest observation trained on."
        },
        {
          "name": "trainedTo",
          "type": {
            "type": "long",
            "logicalType": "timestamp-millis"
          },
          "doc": "Time of the newest observation trained on."
        },
        {
          "name": "validation",
          "type": {
            "type": "record",
            "name": "Validation",
            "doc": "Scores on a tail of the history that the training never saw.",
            "fields": [
              {
                "name": "mase",
                "type": "double",
                "doc": "Mean absolute error over naiveErrors."
              },
              {
                "name": "crps",
                "type": "double",
                "doc": "Continuous ranked probability score, in units of the series."
              },
              {
                "name": "baselineMase",
                "type": "double",
                "doc": "MASE of seasonal-naive on the same tail."
              },
              {
                "name": "baselineCrps",
                "type": "double",
                "doc": "CRPS of seasonal-naive on the same tail."
              },
              {
                "name": "naiveErrors",
                "type": {
                  "type": "array",
                  "items": "double"
                },
                "doc": "One per channel: the mean one-step naive error over the training history, by which live errors are divided."
              },
              {
                "name": "scoredSteps",
                "type": "int",
                "doc": "Steps behind these scores."
              }
            ]
          },
          "doc": "How good the model was when it was accepted."
        },
        {
          "name": "lineage",
          "type": [
            "null",
            {
              "type": "record",
              "name": "Lineage",
              "doc": "Where a model comes from.",
              "fields": [
                {
                  "name": "version",
                  "type": "string",
                  "doc": "The version whose weights the training started from."
                },
                {
                  "name": "reason",
                  "type": "string",
                  "doc": "Why it was trained again, in words."
                }
              ]
            }
          ],
          "default": null,
          "doc": "Where the model comes from; null when it was trained from nothing."
        }
      ]
    },
    {
      "type": "record",
      "name": "ModelRecord",
      "namespace": "forecastnet",
      "doc": "A trained model that serves one series or one cohort.",
      "fields": [
        {
          "name": "modelKey",
          "type": "string",
          "doc": "The series id, or the name of the cohort."
        },
        {
          "name": "version",
          "type": "string",
          "doc": "Names this model among all of its key."
        },
        {
          "name": "previousVersion",
          "type": [
            "null",
            "string"
          ],
          "default": null,
          "doc": "The version this one replaced; null for the first."
        },
        {
          "name": "spec",
          "type": "string",
          "doc": "For people and gates: the specs of the nets that make up the model, as JSON. The model itself carries them in its bytes."
        },
        {
          "name": "weights",
          "type": "bytes",
          "doc": "The whole model: specs, scaler, weights and a checksum of its own, in the layout that src/models/forecastnet/model-bytes.ts describes."
        },
        {
          "name": "storage",
          "type": {
            "type": "enum",
            "name": "Storage",
            "doc": "How one weight is stored. FLOAT16 halves the record; both are computed with as FLOAT32.",
            "symbols": [
              "FLOAT32",
              "FLOAT16"
            ]
          },
          "doc": "How one weight is stored."
        },
        {
          "name": "checksum",
          "type": "string",
          "doc": "Checksum of these bytes: the algorithm, a colon, lower-case hex; sha256:9f86…"
        },
        {
          "name": "scaler",
          "type": {
            "type": "record",
            "name": "Scaler",
            "doc": "How a channel is scaled for the model: (value - offset) / scale. Fitted on the training part only.",
            "fields": [
              {
                "name": "offset",
                "type": {
                  "type": "array",
                  "items": "double"
                },
                "doc": "One offset per channel."
              },
              {
                "name": "scale",
                "type": {
                  "type": "array",
                  "items": "double"
                },
                "doc": "One scale per channel, never zero."
              }
            ]
          },
          "doc": "How values are scaled before the model sees them."
        },
        {
          "name": "trainedAt",
          "type": {
            "type": "long",
            "logicalType": "timestamp-millis"
          },
          "doc": "When the training ended."
        },
        {
          "name": "trainedFrom",
          "type": {
            "type": "long",
            "logicalType": "timestamp-millis"
          },
          "doc": "Time of the oldest observation trained on."
        },
        {
          "name": "trainedTo",
          "type": {
            "type": "long",
            "logicalType": "timestamp-millis"
          },
          "doc": "Time of the newest observation trained on."
        },
        {
          "name": "validation",
          "type": {
            "type": "record",
            "name": "Validation",
            "doc": "Scores on a tail of the history that the training never saw.",
            "fields": [
              {
                "name": "mase",
                "type": "double",
                "doc": "Mean absolute error over naiveErrors."
              },
              {
                "name": "crps",
                "type": "double",
                "doc": "Continuous ranked probability score, in units of the series."
              },
              {
                "name": "baselineMase",
                "type": "double",
                "doc": "MASE of seasonal-naive on the same tail."
              },
              {
                "name": "baselineCrps",
                "type": "double",
                "doc": "CRPS of seasonal-naive on the same tail."
              },
              {
                "name": "naiveErrors",
                "type": {
                  "type": "array",
                  "items": "double"
                },
                "doc": "One per channel: the mean one-step naive error over the training history, by which live errors are divided."
              },
              {
                "name": "scoredSteps",
                "type": "int",
                "doc": "Steps behind these scores."
              }
            ]
          },
          "doc": "How good the model was when it was accepted."
        },
        {
          "name": "lineage",
          "type": [
            "null",
            {
              "type": "record",
              "name": "Lineage",
              "doc": "Where a model comes from.",
              "fields": [
                {
                  "name": "version",
                  "type": "string",
                  "doc": "The version whose weights the training started from."
                },
                {
                  "name": "reason",
                  "type": "string",
                  "doc": "Why it was trained again, in words."
                }
              ]
            }
          ],
          "default": null,
          "doc": "Where the model comes from; null when it was trained from nothing."
        },
        {
          "name": "requestId",
          "type": [
            "null",
            "string"
          ],
          "default": null,
          "doc": "The training request that the model comes from; null when it was brought by hand."
        },
        {
          "name": "previous",
          "type": [
            "null",
            "bytes"
          ],
          "default": null,
          "doc": "The record this one replaced, encoded as on the models topic but without a predecessor of its own: what a rollback puts back. Null when nothing served before."
        }
      ]
    },
    {
      "type": "record",
      "name": "ModelRecord",
      "namespace": "forecastnet",
      "doc": "A trained model that serves one series or one cohort.",
      "fields": [
        {
          "name": "modelKey",
          "type": "string",
          "doc": "The series id, or the name of the cohort."
        },
        {
          "name": "version",
          "type": "string",
          "doc": "Names this model among all of its key."
        },
        {
          "name": "previousVersion",
          "type": [
            "null",
            "string"
          ],
          "default": null,
          "doc": "The version this one replaced; null for the first."
        },
        {
          "name": "family",
          "type": "string",
          "default": "forecastnet",
          "doc": "The model family that reads the weights and forecasts with them."
        },
        {
          "name": "spec",
          "type": "string",
          "doc": "What the model is made of, as JSON, for people. The model itself carries it in its bytes."
        },
        {
          "name": "weights",
          "type": "bytes",
          "doc": "The whole model with a checksum of its own, in the layout that src/models/model-envelope.ts and its family describe."
        },
        {
          "name": "storage",
          "type": {
            "type": "enum",
            "name": "Storage",
            "doc": "How one weight is stored. FLOAT16 halves the record; both are computed with as FLOAT32.",
            "symbols": [
              "FLOAT32",
              "FLOAT16"
            ]
          },
          "doc": "How one weight is stored."
        },
        {
          "name": "checksum",
          "type": "string",
          "doc": "Checksum of these bytes: the algorithm, a colon, lower-case hex; sha256:9f86…"
        },
        {
          "name": "scaler",
          "type": {
            "type": "record",
            "name": "Scaler",
            "doc": "How a channel is scaled for the model: (value - offset) / scale. Fitted on the training part only.",
            "fields": [
              {
                "name": "offset",
                "type": {
                  "type": "array",
                  "items": "double"
                },
                "doc": "One offset per channel."
              },
              {
                "name": "scale",
                "type": {
                  "type": "array",
                  "items": "double"
                },
                "doc": "One scale per channel, never zero."
              }
            ]
          },
          "doc": "How values are scaled before the model sees them."
        },
        {
          "name": "trainedAt",
          "type": {
            "type": "long",
            "logicalType": "timestamp-millis"
          },
          "doc": "When the training ended."
        },
        {
          "name": "trainedFrom",
          "type": {
            "type": "long",
            "logicalType": "timestamp-millis"
          },
          "doc": "Time of the oldest observation trained on."
        },
        {
          "name": "trainedTo",
          "type": {
            "type": "long",
            "logicalType": "timestamp-millis"
          },
          "doc": "Time of the newest observation trained on."
        },
        {
          "name": "validation",
          "type": {
            "type": "record",
            "name": "Validation",
            "doc": "Scores on a tail of the history that the training never saw.",
            "fields": [
              {
                "name": "mase",
                "type": "double",
                "doc": "Mean absolute error over naiveErrors."
              },
              {
                "name": "crps",
                "type": "double",
                "doc": "Continuous ranked probability score, in units of the series."
              },
              {
                "name": "baselineMase",
                "type": "double",
                "doc": "MASE of seasonal-naive on the same tail."
              },
              {
                "name": "baselineCrps",
                "type": "double",
                "doc": "CRPS of seasonal-naive on the same tail."
              },
              {
                "name": "naiveErrors",
                "type": {
                  "type": "array",
                  "items": "double"
                },
                "doc": "One per channel: the mean one-step naive error over the training history, by which live errors are divided."
              },
              {
                "name": "scoredSteps",
                "type": "int",
                "doc": "Steps behind these scores."
              }
            ]
          },
          "doc": "How good the model was when it was accepted."
        },
        {
          "name": "lineage",
          "type": [
            "null",
            {
              "type": "record",
              "name": "Lineage",
              "doc": "Where a model comes from.",
              "fields": [
                {
                  "name": "version",
                  "type": "string",
                  "doc": "The version whose weights the training started from."
                },
                {
                  "name": "reason",
                  "type": "string",
                  "doc": "Why it was trained again, in words."
                }
              ]
            }
          ],
          "default": null,
          "doc": "Where the model comes from; null when it was trained from nothing."
        },
        {
          "name": "requestId",
          "type": [
            "null",
            "string"
          ],
          "default": null,
          "doc": "The training request that the model comes from; null when it was brought by hand."
        },
        {
          "name": "previous",
          "type": [
            "null",
            "bytes"
          ],
          "default": null,
          "doc": "The record this one replaced, encoded as on the models topic but without a predecessor of its own: what a rollback puts back. Null when nothing served before."
        }
      ]
    },
  ],
  Observation: [
    {
      "type": "record",
      "name": "Observation",
      "namespace": "forecastnet",
      "doc": "One measurement of one series, as a sensor writes it.",
      "fields": [
        {
          "name": "seriesId",
          "type": "string",
          "doc": "The series measured. Never empty."
        },
        {
          "name": "time",
          "type": {
            "type": "long",
            "logicalType": "timestamp-millis"
          },
          "doc": "Event time: when the value was measured, not when it was sent."
        },
        {
          "name": "value",
          "type": [
            "double",
            {
              "type": "array",
              "items": "double"
            }
          ],
          "doc": "One number, or one number per channel. Every number is finite."
        },
        {
          "name": "tags",
          "type": {
            "type": "map",
            "values": "string"
          },
          "default": {},
          "doc": "Facts about the measurement for other readers of the topic. The worker does not use them."
        }
      ]
    },
  ],
  StateBlock: [
    {
      "type": "record",
      "name": "StateBlock",
      "namespace": "forecastnet",
      "doc": "A block of the state of one series. A series' grid is cut into blocks so that a batch rewrites only what moved; the key on the topic is the series id and the block's place.",
      "fields": [
        {
          "name": "seriesId",
          "type": "string",
          "doc": "The series."
        },
        {
          "name": "block",
          "type": "int",
          "doc": "The block's place in the series' ring of blocks."
        },
        {
          "name": "revision",
          "type": "long",
          "doc": "Grows with every change of the series. The block with the highest revision carries the series' head: interval, offsetMs, channels, newestSlot, lastForecastSlot and pendingPoints."
        },
        {
          "name": "interval",
          "type": "string",
          "doc": "The grid in force, an ISO 8601 duration; empty while an automatic interval is still being found."
        },
        {
          "name": "offsetMs",
          "type": "long",
          "doc": "Phase of the grid against the epoch, in milliseconds."
        },
        {
          "name": "channels",
          "type": "int",
          "doc": "Numbers per slot."
        },
        {
          "name": "firstSlot",
          "type": "long",
          "doc": "Grid index of the block's first slot."
        },
        {
          "name": "values",
          "type": "bytes",
          "doc": "Float64, little-endian, slot after slot up to the last observed one of the block, channels side by side. NaN means not observed."
        },
        {
          "name": "jitterMs",
          "type": [
            "null",
            "bytes"
          ],
          "default": null,
          "doc": "One per slot of values, little-endian: event time minus slot time, in milliseconds. Int32; Float64 for intervals of a month and more, and fixed ones of 50 days and more, whose jitter needs more than 32 bits. Null when all are zero."
        },
        {
          "name": "newestSlot",
          "type": "long",
          "doc": "Grid index of the newest slot of the series."
        },
        {
          "name": "lastForecastSlot",
          "type": [
            "null",
            "long"
          ],
          "default": null,
          "doc": "Grid index of the origin of the series' last forecast; null before the first."
        },
        {
          "name": "pendingPoints",
          "type": {
            "type": "array",
            "items": {
              "type": "record",
              "name": "Point",
              "doc": "An observation that has no slot yet.",
              "fields": [
                {
                  "name": "time",
                  "type": {
                    "type": "long",
                    "logicalType": "timestamp-millis"
                  },
                  "doc": "Event time."
                },
                {
                  "name": "values",
                  "type": {
                    "type": "array",
                    "items": "double"
                  },
                  "doc": "One number per channel."
                }
              ]
            }
          },
          "default": [],
          "doc": "Points held while an automatic interval is being found."
        }
      ]
    },
    {
      "type": "record",
      "name": "StateBlock",
      "namespace": "forecastnet",
      "doc": "A block of the state of one series. A series' grid is cut into blocks so that a batch rewrites only what moved; the key on the topic is the series id and the block's place.",
      "fields": [
        {
          "name": "seriesId",
          "type": "string",
          "doc": "The series."
        },
        {
          "name": "block",
          "type": "int",
          "doc": "The block's place in the series' ring of blocks."
        },
        {
          "name": "revision",
          "type": "long",
          "doc": "Grows with every change of the series. The block with the highest revision carries the series' head: interval, offsetMs, channels, newestSlot, lastForecastSlot, pendingPoints, seasons, naiveSeason, decidedAt and isNonNegative."
        },
        {
          "name": "interval",
          "type": "string",
          "doc": "The grid in force, an ISO 8601 duration; empty while an automatic interval is still being found."
        },
        {
          "name": "offsetMs",
          "type": "long",
          "doc": "Phase of the grid against the epoch, in milliseconds."
        },
        {
          "name": "channels",
          "type": "int",
          "doc": "Numbers per slot."
        },
        {
          "name": "firstSlot",
          "type": "long",
          "doc": "Grid index of the block's first slot."
        },
        {
          "name": "values",
          "type": "bytes",
          "doc": "Float64, little-endian, slot after slot up to the last observed one of the block, channels side by side. NaN means not observed."
        },
        {
          "name": "jitterMs",
          "type": [
            "null",
            "bytes"
          ],
          "default": null,
          "doc": "One per slot of values, little-endian: event time minus slot time, in milliseconds. Int32; Float64 for intervals of a month and more, and fixed ones of 50 days and more, whose jitter needs more than 32 bits. Null when all are zero."
        },
        {
          "name": "newestSlot",
          "type": "long",
          "doc": "Grid index of the newest slot of the series."
        },
        {
          "name": "lastForecastSlot",
          "type": [
            "null",
            "long"
          ],
          "default": null,
          "doc": "Grid index of the origin of the series' last forecast; null before the first."
        },
        {
          "name": "pendingPoints",
          "type": {
            "type": "array",
            "items": {
              "type": "record",
              "name": "Point",
              "doc": "An observation that has no slot yet.",
              "fields": [
                {
                  "name": "time",
                  "type": {
                    "type": "long",
                    "logicalType": "timestamp-millis"
                  },
                  "doc": "Event time."
                },
                {
                  "name": "values",
                  "type": {
                    "type": "array",
                    "items": "double"
                  },
                  "doc": "One number per channel."
                }
              ]
            }
          },
          "default": [],
          "doc": "Points held while an automatic interval is being found."
        },
        {
          "name": "seasons",
          "type": {
            "type": "array",
            "items": "int"
          },
          "default": [],
          "doc": "Seasons that the past of the series confirms, in steps, ascending."
        },
        {
          "name": "naiveSeason",
          "type": "int",
          "default": 0,
          "doc": "Number of steps after which the values repeat best, for seasonal naive; 0 for the shortest season."
        },
        {
          "name": "decidedAt",
          "type": "long",
          "default": 0,
          "doc": "Length of the past in steps at which seasons were last decided on their own; 0 before the first decision."
        },
        {
          "name": "isNonNegative",
          "type": "boolean",
          "default": false,
          "doc": "True when the past of the series touches zero and never crosses it."
        }
      ]
    },
    {
      "type": "record",
      "name": "StateBlock",
      "namespace": "forecastnet",
      "doc": "A block of the state of one series. A series' grid is cut into blocks so that a batch rewrites only what moved; the key on the topic is the series id and the block's place in the series' ring of blocks.",
      "fields": [
        {
          "name": "revision",
          "type": "long",
          "doc": "Grows with every change of the series. The block with the highest revision carries the series' head: interval, offsetMs, channels, newestSlot, lastForecastSlot, pendingPoints, seasons, naiveSeason, decidedAt and isNonNegative."
        },
        {
          "name": "interval",
          "type": "string",
          "doc": "The grid in force, an ISO 8601 duration; empty while an automatic interval is still being found."
        },
        {
          "name": "offsetMs",
          "type": "long",
          "doc": "Phase of the grid against the epoch, in milliseconds."
        },
        {
          "name": "channels",
          "type": "int",
          "doc": "Numbers per slot."
        },
        {
          "name": "firstSlot",
          "type": "long",
          "doc": "Grid index of the block's first slot."
        },
        {
          "name": "columns",
          "type": {
            "type": "array",
            "items": {
              "type": "record",
              "name": "PackedValues",
              "doc": "Numbers in the narrowest form that gives back exactly these numbers.",
              "fields": [
                {
                  "name": "form",
                  "type": {
                    "type": "enum",
                    "name": "NumberForm",
                    "doc": "How one number is stored, little-endian. A number of an integer form is (base + code) / 10^decimals; its lowest code means NaN and the one above it −0.",
                    "symbols": [
                      "INT8",
                      "INT16",
                      "INT32",
                      "FLOAT32",
                      "FLOAT64"
                    ]
                  },
                  "doc": "How one number is stored."
                },
                {
                  "name": "decimals",
                  "type": "int",
                  "doc": "Decimals of the numbers; 0 for floats."
                },
                {
                  "name": "base",
                  "type": "long",
                  "doc": "What is added to each code; 0 for floats."
                },
                {
                  "name": "codes",
                  "type": "bytes",
                  "doc": "One code per number."
                }
              ]
            }
          },
          "default": [],
          "doc": "One per channel: its values, slot after slot up to the last observed one of the block; NaN means not observed. When an event time differs from the time of its slot, one more: event time minus slot time, in milliseconds. Empty in a record of an earlier version."
        },
        {
          "name": "values",
          "type": "bytes",
          "default": "",
          "doc": "The values as earlier versions stored them: Float64, little-endian, slot after slot, channels side by side. Empty when there are columns."
        },
        {
          "name": "jitterMs",
          "type": [
            "null",
            "bytes"
          ],
          "default": null,
          "doc": "As earlier versions stored it, one per slot of values, little-endian: event time minus slot time, in milliseconds. Int32; Float64 for intervals of a month and more, and fixed ones of 50 days and more, whose jitter needs more than 32 bits. Null when all are zero."
        },
        {
          "name": "newestSlot",
          "type": "long",
          "doc": "Grid index of the newest slot of the series."
        },
        {
          "name": "lastForecastSlot",
          "type": [
            "null",
            "long"
          ],
          "default": null,
          "doc": "Grid index of the origin of the series' last forecast; null before the first."
        },
        {
          "name": "pendingPoints",
          "type": {
            "type": "array",
            "items": {
              "type": "record",
              "name": "Point",
              "doc": "An observation that has no slot yet.",
              "fields": [
                {
                  "name": "time",
                  "type": {
                    "type": "long",
                    "logicalType": "timestamp-millis"
                  },
                  "doc": "Event time."
                },
                {
                  "name": "values",
                  "type": {
                    "type": "array",
                    "items": "double"
                  },
                  "doc": "One number per channel."
                }
              ]
            }
          },
          "default": [],
          "doc": "Points held while an automatic interval is being found."
        },
        {
          "name": "seasons",
          "type": {
            "type": "array",
            "items": "int"
          },
          "default": [],
          "doc": "Seasons that the past of the series confirms, in steps, ascending."
        },
        {
          "name": "naiveSeason",
          "type": "int",
          "default": 0,
          "doc": "Number of steps after which the values repeat best, for seasonal naive; 0 for the shortest season."
        },
        {
          "name": "decidedAt",
          "type": "long",
          "default": 0,
          "doc": "Length of the past in steps at which seasons were last decided on their own; 0 before the first decision."
        },
        {
          "name": "isNonNegative",
          "type": "boolean",
          "default": false,
          "doc": "True when the past of the series touches zero and never crosses it."
        }
      ]
    },
  ],
  TrainingAttempt: [
    {
      "type": "record",
      "name": "TrainingAttempt",
      "namespace": "forecastnet",
      "doc": "A trainer began to work on a request. Written before the work, so that a request that ends its trainer is recognised by the next one.",
      "fields": [
        {
          "name": "requestId",
          "type": "string",
          "doc": "The request."
        },
        {
          "name": "attempts",
          "type": "int",
          "doc": "How many times the work was begun."
        },
        {
          "name": "startedAt",
          "type": {
            "type": "long",
            "logicalType": "timestamp-millis"
          },
          "doc": "When it was begun last."
        }
      ]
    },
  ],
  TrainingOutcome: [
    {
      "type": "record",
      "name": "TrainingOutcome",
      "namespace": "forecastnet",
      "doc": "What came of a training request. It lies on the models topic, beside the model, until the worker that owns the series has judged it.",
      "fields": [
        {
          "name": "requestId",
          "type": "string",
          "doc": "The request."
        },
        {
          "name": "modelKey",
          "type": "string",
          "doc": "The model asked for: a series id, or the name of a cohort."
        },
        {
          "name": "challengers",
          "type": {
            "type": "array",
            "items": "bytes"
          },
          "default": [],
          "doc": "ModelRecords, encoded as on the models topic, of which the gate takes the best or none. Empty when the training gave no model."
        },
        {
          "name": "reason",
          "type": [
            "null",
            "string"
          ],
          "default": null,
          "doc": "Why the training gave no model, in words; null when it gave one."
        },
        {
          "name": "endedAt",
          "type": {
            "type": "long",
            "logicalType": "timestamp-millis"
          },
          "doc": "When the training ended."
        }
      ]
    },
    {
      "type": "record",
      "name": "TrainingOutcome",
      "namespace": "forecastnet",
      "doc": "What came of a training request. It lies on the models topic, beside the model, until the worker that owns the series has judged it.",
      "fields": [
        {
          "name": "requestId",
          "type": "string",
          "doc": "The request."
        },
        {
          "name": "modelKey",
          "type": "string",
          "doc": "The model asked for: a series id, or the name of a cohort."
        },
        {
          "name": "challengers",
          "type": {
            "type": "array",
            "items": "bytes"
          },
          "default": [],
          "doc": "ModelRecords, encoded as on the models topic, of which the gate takes the best or none. Empty when the training gave no model."
        },
        {
          "name": "reason",
          "type": [
            "null",
            "string"
          ],
          "default": null,
          "doc": "Why the training gave no model, in words; null when it gave one."
        },
        {
          "name": "endedAt",
          "type": {
            "type": "long",
            "logicalType": "timestamp-millis"
          },
          "doc": "When the training ended."
        },
        {
          "name": "cpuSeconds",
          "type": [
            "null",
            "double"
          ],
          "default": null,
          "doc": "Processor time of the training; null when nobody measured it."
        }
      ]
    },
  ],
  TrainingRequest: [
    {
      "type": "record",
      "name": "TrainingRequest",
      "namespace": "forecastnet",
      "doc": "Work for a trainer. It carries the history, so that a trainer needs no state.",
      "fields": [
        {
          "name": "id",
          "type": "string",
          "doc": "Names the request; the same request asked twice has the same id."
        },
        {
          "name": "modelKey",
          "type": "string",
          "doc": "The model to train: a series id, or the name of a cohort."
        },
        {
          "name": "spec",
          "type": "string",
          "doc": "The spec to train, as JSON."
        },
        {
          "name": "histories",
          "type": {
            "type": "array",
            "items": {
              "type": "record",
              "name": "History",
              "doc": "The kept past of one series on its grid.",
              "fields": [
                {
                  "name": "seriesId",
                  "type": "string",
                  "doc": "The series."
                },
                {
                  "name": "interval",
                  "type": "string",
                  "doc": "The step of its grid, an ISO 8601 duration."
                },
                {
                  "name": "firstTime",
                  "type": {
                    "type": "long",
                    "logicalType": "timestamp-millis"
                  },
                  "doc": "Time of the first slot."
                },
                {
                  "name": "channels",
                  "type": "int",
                  "doc": "Numbers per slot."
                },
                {
                  "name": "values",
                  "type": "bytes",
                  "doc": "Float64, little-endian, slot after slot, channels side by side. NaN means not observed."
                }
              ]
            }
          },
          "doc": "What to train on: one series, or all members of a cohort."
        },
        {
          "name": "reason",
          "type": {
            "type": "enum",
            "name": "TrainingReason",
            "doc": "Why a training is asked for: NEW the first model of its key, DRIFT live scores went bad, AGE the model is old, MANUAL somebody asked. A reader that meets a reason it does not know reads MANUAL.",
            "symbols": [
              "NEW",
              "DRIFT",
              "AGE",
              "MANUAL"
            ],
            "default": "MANUAL"
          },
          "doc": "Why the training is asked for."
        },
        {
          "name": "requestedAt",
          "type": {
            "type": "long",
            "logicalType": "timestamp-millis"
          },
          "doc": "When it was first asked for."
        },
        {
          "name": "attempt",
          "type": "int",
          "default": 1,
          "doc": "1 for the first try."
        }
      ]
    },
    {
      "type": "record",
      "name": "TrainingRequest",
      "namespace": "forecastnet",
      "doc": "Work for a trainer. It carries the history, so that a trainer needs no state.",
      "fields": [
        {
          "name": "id",
          "type": "string",
          "doc": "Names the request; the same request asked twice has the same id."
        },
        {
          "name": "modelKey",
          "type": "string",
          "doc": "The model to train: a series id, or the name of a cohort."
        },
        {
          "name": "spec",
          "type": "string",
          "doc": "How to train, as JSON: family (ForecastNet when it is missing), horizon, season, form, effort, members, holdBack and recentFromMs, as TrainingPlan in src/training/training-task.ts describes them."
        },
        {
          "name": "histories",
          "type": {
            "type": "array",
            "items": {
              "type": "record",
              "name": "History",
              "doc": "The kept past of one series on its grid.",
              "fields": [
                {
                  "name": "seriesId",
                  "type": "string",
                  "doc": "The series."
                },
                {
                  "name": "interval",
                  "type": "string",
                  "doc": "The step of its grid, an ISO 8601 duration."
                },
                {
                  "name": "firstTime",
                  "type": {
                    "type": "long",
                    "logicalType": "timestamp-millis"
                  },
                  "doc": "Time of the first slot."
                },
                {
                  "name": "channels",
                  "type": "int",
                  "doc": "Numbers per slot."
                },
                {
                  "name": "values",
                  "type": "bytes",
                  "doc": "Float64, little-endian, slot after slot, channels side by side. Short gaps are filled; NaN means a gap too long to fill."
                },
                {
                  "name": "filled",
                  "type": [
                    "null",
                    "bytes"
                  ],
                  "default": null,
                  "doc": "One byte per slot: 1 where the value was filled rather than observed. Null when nothing was filled."
                }
              ]
            }
          },
          "doc": "What to train on: one series, or all members of a cohort."
        },
        {
          "name": "reason",
          "type": {
            "type": "enum",
            "name": "TrainingReason",
            "doc": "Why a training is asked for: NEW the first model of its key, DRIFT live scores went bad, AGE the model is old, MANUAL somebody asked. A reader that meets a reason it does not know reads MANUAL.",
            "symbols": [
              "NEW",
              "DRIFT",
              "AGE",
              "MANUAL"
            ],
            "default": "MANUAL"
          },
          "doc": "Why the training is asked for."
        },
        {
          "name": "requestedAt",
          "type": {
            "type": "long",
            "logicalType": "timestamp-millis"
          },
          "doc": "When it was first asked for."
        },
        {
          "name": "attempt",
          "type": "int",
          "default": 1,
          "doc": "Always 1, and not read. It stays because a trainer reads only the schemas that its release knows: without it, trainers of the previous release could not read requests of this one."
        }
      ]
    },
    {
      "type": "record",
      "name": "TrainingRequest",
      "namespace": "forecastnet",
      "doc": "Work for a trainer. It carries the history, so that a trainer needs no state.",
      "fields": [
        {
          "name": "id",
          "type": "string",
          "doc": "Names the request; the same request asked twice has the same id."
        },
        {
          "name": "modelKey",
          "type": "string",
          "doc": "The model to train: a series id, or the name of a cohort."
        },
        {
          "name": "spec",
          "type": "string",
          "doc": "How to train, as JSON: family (ForecastNet when it is missing), horizon, season, form, effort, members, holdBack, recentFromMs and refreshes, as TrainingPlan in src/training/training-task.ts describes them."
        },
        {
          "name": "histories",
          "type": {
            "type": "array",
            "items": {
              "type": "record",
              "name": "History",
              "doc": "The kept past of one series on its grid.",
              "fields": [
                {
                  "name": "seriesId",
                  "type": "string",
                  "doc": "The series."
                },
                {
                  "name": "interval",
                  "type": "string",
                  "doc": "The step of its grid, an ISO 8601 duration."
                },
                {
                  "name": "firstTime",
                  "type": {
                    "type": "long",
                    "logicalType": "timestamp-millis"
                  },
                  "doc": "Time of the first slot."
                },
                {
                  "name": "channels",
                  "type": "int",
                  "doc": "Numbers per slot."
                },
                {
                  "name": "values",
                  "type": "bytes",
                  "doc": "Float64, little-endian, slot after slot, channels side by side. Short gaps are filled; NaN means a gap too long to fill."
                },
                {
                  "name": "filled",
                  "type": [
                    "null",
                    "bytes"
                  ],
                  "default": null,
                  "doc": "One byte per slot: 1 where the value was filled rather than observed. Null when nothing was filled."
                }
              ]
            }
          },
          "doc": "What to train on: one series, or all members of a cohort."
        },
        {
          "name": "reason",
          "type": {
            "type": "enum",
            "name": "TrainingReason",
            "doc": "Why a training is asked for: NEW the first model of its key, DRIFT live scores went bad, AGE the model is old, REFRESH a linear model is fitted to newer data, UPGRADE all families compete with a linear model, MANUAL somebody asked. A reader that meets a reason it does not know reads MANUAL.",
            "symbols": [
              "NEW",
              "DRIFT",
              "AGE",
              "MANUAL",
              "REFRESH",
              "UPGRADE"
            ],
            "default": "MANUAL"
          },
          "doc": "Why the training is asked for."
        },
        {
          "name": "requestedAt",
          "type": {
            "type": "long",
            "logicalType": "timestamp-millis"
          },
          "doc": "When it was first asked for."
        },
        {
          "name": "attempt",
          "type": "int",
          "default": 1,
          "doc": "Always 1, and not read. It stays because a trainer reads only the schemas that its release knows: without it, trainers of the previous release could not read requests of this one."
        }
      ]
    },
  ],
};

/** DeadLetter travels as these headers, each as text. */
export const deadLetterHeaderNames = {
  topic: "forecastnet.dead-letter.topic",
  partition: "forecastnet.dead-letter.partition",
  offset: "forecastnet.dead-letter.offset",
  time: "forecastnet.dead-letter.time",
  reason: "forecastnet.dead-letter.reason",
  detail: "forecastnet.dead-letter.detail",
  truncated: "forecastnet.dead-letter.truncated",
} as const satisfies Record<keyof DeadLetterRecord, string>;
