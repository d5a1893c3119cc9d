// Every setting with its meaning, format and default. Environment variables, flags, types, checks and
// docs/configuration.md are derived from this table, so a new setting is one entry here.

import type { GapPolicy, ModelForm, SeriesSettings } from "../../domain.ts";
import {
  anyNumber,
  boolean,
  brokers,
  type Format,
  filePath,
  freeText,
  integer,
  integerOr,
  interval,
  listOf,
  number,
  oneOf,
  optionalText,
  quantileLevels,
  record,
  type Setting,
  setting,
  silence,
  text,
  topicName,
  url,
  wordOr,
} from "./formats.ts";
import { loginSchema } from "./login-schema.ts";
import { modelSchema } from "./model-schema.ts";
import type { Secret } from "./secret.ts";

export interface InputTopic {
  readonly topic: string;
  readonly format: "avro" | "confluent" | "json";
  readonly seriesField: string;
  readonly timeField: string;
  readonly valueField: string;
  readonly timeUnit: "ms" | "s" | "us" | "iso";
}

/** The settings of a series as they are given. */
export interface GivenSeries extends Omit<SeriesSettings, "season" | "naiveSeason" | "bounds" | "derived"> {
  /** "auto": found in the series; 0: the horizon. */
  readonly season: number | "auto";
  /** "auto": 0 where the past of the series touches zero and never crosses it. */
  readonly min: number | "auto" | "none";
  readonly max: number | "none";
}

export interface SeriesOverride extends Partial<GivenSeries> {
  /** Glob for series ids: `*` stands for any characters, `?` for one. */
  readonly match: string;
}

const wireFormat = oneOf("avro", "confluent", "json");
const fieldPath = text("field name, or a path of names with dots", /^[^.\s]+(\.[^.\s]+)*$/);
const form: Format<ModelForm> = oneOf("auto", "FN", "cFN", "FN2", "cFN2");
const gapPolicy: Format<GapPolicy> = oneOf("seasonal", "linear", "hold", "none");

export const inputTopicFormats = {
  topic: topicName,
  format: wireFormat,
  seriesField: fieldPath,
  timeField: fieldPath,
  valueField: fieldPath,
  timeUnit: oneOf("ms", "s", "us", "iso"),
};

export const inputTopicDefaults = {
  format: "avro",
  seriesField: "seriesId",
  timeField: "time",
  valueField: "value",
  timeUnit: "ms",
} as const satisfies Omit<InputTopic, "topic">;

export const inputTopicDocs: Readonly<Record<keyof InputTopic, string>> = {
  topic: "Name of the topic. Required.",
  format: "Format of the records; confluent is Avro framed with a schema id of the registry.",
  seriesField: "Field with the series id; dots lead into nested records.",
  timeField: "Field with the event time.",
  valueField: "Field with the value: a number, or a list with one number per channel.",
  timeUnit: "Unit of the event time since the epoch; iso is ISO 8601 text.",
};

const seriesFormats = {
  interval,
  horizon: integer(1, 10_000),
  season: wordOr(["auto"], integer(0, 1_000_000)),
  history: integer(0, 10_000_000),
  every: integer(1, 10_000),
  gapPolicy,
  gapMax: integer(0, 10_000),
  offsetMs: integer(-366 * 24 * 3_600_000, 366 * 24 * 3_600_000),
  cohort: optionalText,
  family: text("name of a model family", /^[a-z0-9]+(-[a-z0-9]+)*$/),
  form,
  driftRatio: number(1, 1000),
  driftBound: number(0, 1_000_000),
  min: wordOr(["auto", "none"], anyNumber),
  max: wordOr(["none"], anyNumber),
  forgetAfter: silence,
};

const inputTopics = listOf(
  "list of { topic, format, seriesField, timeField, valueField, timeUnit }",
  record<InputTopic>("{ topic, ... }", inputTopicFormats, "topic", inputTopicDefaults),
);

const overrides = listOf(
  `list of { match, ... } with any of ${Object.keys(seriesFormats).join(", ")}`,
  record<SeriesOverride>("{ match, ... }", { match: freeText, ...seriesFormats }, "match", {}),
  0,
);

export const schema = {
  group: setting(
    "Consumer group. Workers with the same group share the partitions.",
    freeText,
    "forecastnet",
  ),
  kafka: {
    brokers: setting("Bootstrap brokers of the cluster.", brokers, ["127.0.0.1:9092"]),
    clientId: setting("Client name in the broker's logs and quotas.", freeText, "forecastnet"),
    ssl: {
      enabled: setting("Encrypt connections to the brokers with TLS.", boolean, false),
      caFile: setting(
        "Certificate authority of the brokers (PEM). If empty, the system's authorities are trusted.",
        filePath,
        "",
      ),
      certFile: setting("Client certificate (PEM).", filePath, ""),
      keyFile: setting("Private key of the client certificate (PEM).", filePath, ""),
    },
    sasl: loginSchema,
    createTopics: setting(
      "Create the worker's own topics if they are missing, and add partitions to them when an input topic gains some.",
      boolean,
      true,
    ),
    replicationFactor: setting(
      "Replicas of each topic that the worker creates; -1 uses the broker's default.",
      integerOr(-1, 1, 32_767),
      -1,
    ),
    topicCheckMs: setting(
      "How often a worker checks the input topics for new partitions.",
      integer(100, 3_600_000),
      30_000,
    ),
    sessionTimeoutMs: setting(
      "A worker that sends no heartbeat for this long loses its partitions. Recovery from a crash takes about as long.",
      integer(1000, 300_000),
      10_000,
    ),
    compression: setting(
      "Compression of the records that the worker writes. It reads all of these formats.",
      oneOf("none", "gzip", "snappy", "lz4", "zstd"),
      "none",
    ),
    positions: setting(
      "Position to continue from when the group's offset and the position stored with the state contradict each other. agree: neither; the partition waits and reports it. state: the stored position. group: the group's offset, which reads input again or skips it.",
      oneOf("agree", "state", "group"),
      "agree",
    ),
    transactionTimeoutMs: setting(
      "The broker aborts a transaction that is open for longer than this.",
      integer(1000, 900_000),
      60_000,
    ),
  },
  registry: {
    url: setting("URL of the schema registry, which the format confluent needs; empty for none.", url, ""),
    username: setting("User name for the registry.", optionalText, ""),
    passwordFile: setting("File with the password for the registry.", filePath, ""),
    caFile: setting(
      "Certificate authority of the registry (PEM). If empty, the system's authorities are trusted.",
      filePath,
      "",
    ),
  },
  topics: {
    inputs: setting("Topics with observations, and how to read each.", inputTopics, [
      { topic: "sensors", ...inputTopicDefaults },
    ]),
    forecasts: setting("Topic for forecasts.", topicName, "forecasts"),
    state: setting("Compacted topic for the state of the series.", topicName, "forecastnet.state"),
    models: setting("Compacted topic for the models of the series.", topicName, "forecastnet.models"),
    deadLetters: setting(
      "Topic for input records that cannot be read.",
      topicName,
      "forecastnet.dead-letters",
    ),
    events: setting("Topic for decisions about models.", topicName, "forecastnet.events"),
    training: setting("Topic for training requests.", topicName, "forecastnet.training"),
    attempts: setting(
      "Compacted topic on which trainers record each attempt, so that a request that crashes its trainer is recognised.",
      topicName,
      "forecastnet.attempts",
    ),
  },
  output: {
    format: setting("Format of the forecasts.", wireFormat, "avro"),
    precision: setting(
      "Numbers of a forecast in the formats avro and confluent. double: always doubles, one schema for all. auto: floats, under a schema of their own, where that changes no number by a thousandth of the standard deviation.",
      oneOf("auto", "double"),
      "auto",
    ),
    levels: setting(
      "Quantile levels in every forecast.",
      quantileLevels,
      [0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975],
    ),
  },
  series: {
    interval: setting(
      "Time between two steps of a series; auto detects it from the first observations.",
      seriesFormats.interval,
      "auto",
    ),
    offsetMs: setting(
      "Offset of the grid from midnight UTC, for values stamped between its ticks: 43200000 for days stamped at noon. With the interval auto, it is detected, too.",
      seriesFormats.offsetMs,
      0,
    ),
    horizon: setting("Number of steps to forecast (τ).", seriesFormats.horizon, 24),
    season: setting(
      "Steps per season; auto finds day, week and year in each series, 0 uses the horizon.",
      seriesFormats.season,
      "auto",
    ),
    history: setting(
      "Steps stored per series; 0 uses 60 × horizon. With the season auto it is also enough for three days, weeks and years where those are at most 1440 steps.",
      seriesFormats.history,
      0,
    ),
    every: setting("Forecast on every n-th completed step.", seriesFormats.every, 1),
    gapPolicy: setting("How missing steps are filled.", seriesFormats.gapPolicy, "seasonal"),
    gapMax: setting("Longest gap that is filled, in steps.", seriesFormats.gapMax, 6),
    cohort: setting(
      "Series with the same cohort share one model; empty gives each series its own. Usually set by an override.",
      seriesFormats.cohort,
      "",
    ),
    family: setting(
      "Model family that series are trained with: linear, forecastnet, ensemble (the average of both), seasonal-naive or persistence; auto trains a linear model first, and then an ensemble where it promises more.",
      seriesFormats.family,
      "auto",
    ),
    form: setting(
      "Architecture of the nets that are trained: auto tries several extensions; the other values are the forms of the paper, unchanged.",
      seriesFormats.form,
      "auto",
    ),
    driftRatio: setting(
      "A model is stale when its rolling MASE exceeds this multiple of its validation MASE.",
      seriesFormats.driftRatio,
      2.25,
    ),
    driftBound: setting(
      "A model is also stale when its rolling MASE exceeds this value; 0 disables the bound.",
      seriesFormats.driftBound,
      0,
    ),
    min: setting(
      "No forecast is below this value. auto uses 0 for a series whose stored past touches zero repeatedly and is never below it, until a value is.",
      seriesFormats.min,
      "auto",
    ),
    max: setting("No forecast is above this value.", seriesFormats.max, "none"),
    forgetAfter: setting(
      "A series without observations for this long is forgotten: its state, scores and model are deleted. At least two of its intervals must pass.",
      seriesFormats.forgetAfter,
      "never",
    ),
    overrides: setting("Settings for series whose id matches a pattern.", overrides, []),
  },
  engine: {
    kind: setting(
      "Engine that executes the models: simd runs on any processor, tensorflow on a GPU; auto chooses tensorflow only if it finds a GPU.",
      oneOf("auto", "simd", "tensorflow"),
      "auto",
    ),
    threads: setting(
      "Engine threads beside the thread that handles records; 0 uses one less than the number of cores. Set it where a container may use fewer cores than the machine has. tensorflow uses one thread and parallelises by itself.",
      integer(0, 1024),
      0,
    ),
    paths: setting(
      "Sample paths per forecast of a model, divided among its nets in blocks of 8. The cost grows in proportion; docs/architecture.md says how little more of them change.",
      integer(1, 10_000),
      48,
    ),
    memoryMb: setting(
      "Device memory for weights with tensorflow, in MiB; the least recently used weights are evicted.",
      integer(16, 1024 * 1024),
      1024,
    ),
  },
  ...modelSchema,
  limits: {
    seriesIdLength: setting(
      "Longest series id, in characters. A record with a longer one becomes a dead letter.",
      integer(1, 4096),
      256,
    ),
    recordBytes: setting(
      "Largest input record. A larger one becomes a dead letter.",
      integer(1024, 64 * 1024 * 1024),
      1024 * 1024,
    ),
    batchBytes: setting(
      "Largest batch of input records after decompression. A larger one becomes a dead letter as a whole.",
      integer(1024 * 1024, 1024 * 1024 * 1024),
      64 * 1024 * 1024,
    ),
    channels: setting(
      "Most channels of an observation. One with more becomes a dead letter.",
      integer(1, 10_000),
      64,
    ),
    series: setting(
      "Most series per partition. An observation of any further series becomes a dead letter; known series are not affected.",
      integer(1, 10_000_000),
      100_000,
    ),
    futureToleranceMs: setting(
      "How far an observation may be ahead of the clock. One further ahead becomes a dead letter.",
      integer(0, 7 * 24 * 3_600_000),
      300_000,
    ),
  },
  pipeline: {
    start: setting(
      "Where to start in a partition that the group has not read yet.",
      oneOf("earliest", "latest"),
      "earliest",
    ),
    maxBatchRecords: setting(
      "Most records per batch. A transaction contains a batch of each partition that has one.",
      integer(1, 100_000),
      1000,
    ),
    batchIntervalMs: setting(
      "Shortest time between two batches, which all partitions form at the same moments. A transaction that takes longer delays the next batch until it ends. A longer time makes fewer, larger transactions: they cost less, and forecasts come later. A full batch never waits.",
      integer(0, 60_000),
      10,
    ),
    bufferedBatches: setting("Computed batches that may wait for their commit.", integer(1, 64), 1),
    behindAfterMs: setting(
      "A worker whose input is older than this is far behind and forecasts only the newest origin of each series; 0 disables this.",
      integer(0, 30 * 24 * 3_600_000),
      60_000,
    ),
  },
  metrics: {
    worstSeries: setting(
      "Number of series per worker, those with the worst rolling MASE, that a metric names; 0 for none.",
      integer(0, 100),
      10,
    ),
    series: setting(
      "Ids or patterns of series whose rolling MASE has a metric of its own, at most 100 per worker.",
      listOf("comma-separated list of series ids; * stands for any characters", freeText, 0),
      [],
    ),
  },
  worker: {
    graceMs: setting("Time to settle and to leave the group after SIGTERM.", integer(1000, 600_000), 25_000),
    host: setting("Address on which the HTTP server listens.", freeText, "0.0.0.0"),
    port: setting("Port of the HTTP server; 0 uses any free port.", integer(0, 65_535), 9464),
    tokenFile: setting(
      "File with the token that is required for HTTP requests that change something or export a model. Without a file such requests are refused.",
      filePath,
      "",
    ),
    logLevel: setting(
      "Lowest level that is logged.",
      oneOf("trace", "debug", "info", "warn", "error", "fatal", "silent"),
      "info",
    ),
  },
};

/** The values as given: a key that ends in `File` holds a path. */
export type GivenConfig = GivenValues<typeof schema>;
type GivenValues<S> = S extends Setting<infer T> ? T : { readonly [K in keyof S]: GivenValues<S[K]> };

/** The values as used: in place of the path in `passwordFile`, `password` holds the secret. */
export type AppConfig = Values<typeof schema>;
type Values<S> =
  S extends Setting<infer T>
    ? T
    : {
        readonly [K in keyof S as K extends `${infer Name}File` ? Name : K]: K extends `${string}File`
          ? Secret | null
          : Values<S[K]>;
      };
