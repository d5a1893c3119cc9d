// Every setting there is: its meaning, format and default. The environment variable, the flag, the types, the
// checks and docs/configuration.md all follow from this table, so a new setting is one entry here.
import type { GapPolicy, ModelForm, SeriesSettings } from "../../domain.ts";
import {
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
  text,
  topicName,
  url,
} from "./formats.ts";
import { modelSchema } from "./model-schema.ts";
import { processSchema } from "./process-schema.ts";
import type { Secret } from "./secret.ts";
import { type Setting, setting } from "./setting.ts";

export interface InputTopic {
  readonly topic: string;
  readonly format: "avro" | "confluent" | "json";
  readonly seriesField: string;
  readonly timeField: string;
  readonly valueField: string;
  readonly timeUnit: "ms" | "s" | "us" | "iso";
}

export interface SeriesOverride extends Partial<SeriesSettings> {
  /** Glob on the series id: `*` stands for any run of characters, `?` for one. */
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
  topic: "Name of the topic. Must be given.",
  format: "How its records are written; confluent is Avro framed with a schema id of the registry.",
  seriesField: "Field with the series id; dots lead into nested records.",
  timeField: "Field with the event time.",
  valueField: "Field with the value: a number, or a list of one number per channel.",
  timeUnit: "Unit of the event time since the epoch; iso is ISO 8601 text.",
};

const seriesFormats = {
  interval,
  horizon: integer(1, 10_000),
  season: integer(0, 1_000_000),
  history: integer(0, 10_000_000),
  every: integer(1, 10_000),
  gapPolicy,
  gapMax: integer(0, 10_000),
  offsetMs: integer(-366 * 24 * 3_600_000, 366 * 24 * 3_600_000),
  cohort: optionalText,
  form,
  driftRatio: number(1, 1000),
  driftBound: number(0, 1_000_000),
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
  group: setting("Consumer group; workers that share it share the work.", freeText, "forecastnet"),
  kafka: {
    brokers: setting("Brokers to find the cluster by.", brokers, ["127.0.0.1:9092"]),
    clientId: setting("Name of this client in the broker's logs and quotas.", freeText, "forecastnet"),
    ssl: {
      enabled: setting("Encrypt connections to the brokers.", boolean, false),
      caFile: setting("Certificate authority (PEM), if not one the system trusts.", filePath, ""),
      certFile: setting("Client certificate (PEM).", filePath, ""),
      keyFile: setting("Private key of the client certificate (PEM).", filePath, ""),
    },
    sasl: {
      mechanism: setting(
        "How to log in to the brokers.",
        oneOf("none", "plain", "scram-sha-256", "scram-sha-512"),
        "none",
      ),
      username: setting("User to log in as.", optionalText, ""),
      passwordFile: setting("File with the password.", filePath, ""),
    },
    createTopics: setting("Create those of our own topics that are missing.", boolean, true),
    replicationFactor: setting(
      "Copies of each topic we create; -1 leaves it to the broker.",
      integerOr(-1, 1, 32_767),
      -1,
    ),
    sessionTimeoutMs: setting(
      "A worker silent for this long loses its partitions; also how long recovery from a crash takes.",
      integer(1000, 300_000),
      10_000,
    ),
    transactionTimeoutMs: setting(
      "The broker aborts a transaction open for longer than this.",
      integer(1000, 900_000),
      60_000,
    ),
  },
  registry: {
    url: setting("Schema registry for the confluent format; empty for none.", url, ""),
    username: setting("User to log in to the registry as.", optionalText, ""),
    passwordFile: setting("File with the registry password.", filePath, ""),
  },
  topics: {
    inputs: setting("Topics to read observations from, and how to read each.", inputTopics, [
      { topic: "sensors", ...inputTopicDefaults },
    ]),
    forecasts: setting("Topic the forecasts are written to.", topicName, "forecasts"),
    state: setting("Compacted topic for the state of the series.", topicName, "forecastnet.state"),
    models: setting("Compacted topic for the models of the series.", topicName, "forecastnet.models"),
    deadLetters: setting(
      "Topic for input records that cannot be read.",
      topicName,
      "forecastnet.dead-letters",
    ),
    events: setting("Topic every decision about a model is told on.", topicName, "forecastnet.events"),
    training: setting("Queue of work for trainers.", topicName, "forecastnet.training"),
    attempts: setting(
      "Compacted topic on which trainers note what they begin, so that a request that ends its trainer is recognised.",
      topicName,
      "forecastnet.attempts",
    ),
  },
  output: {
    format: setting("How forecasts are written.", wireFormat, "avro"),
    levels: setting(
      "Quantile levels in every forecast.",
      quantileLevels,
      [0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975],
    ),
  },
  series: {
    interval: setting(
      "Step of the grid; auto takes it from a series' first points.",
      seriesFormats.interval,
      "auto",
    ),
    offsetMs: setting(
      "Shift of a given interval's grid against midnight UTC, for values stamped between its ticks: 43200000 for days stamped at noon. Auto finds its own.",
      seriesFormats.offsetMs,
      0,
    ),
    horizon: setting("Steps ahead to forecast (τ).", seriesFormats.horizon, 24),
    season: setting("Steps after which a series repeats; 0 means horizon.", seriesFormats.season, 0),
    history: setting("Slots kept per series; 0 means 60 × horizon.", seriesFormats.history, 0),
    every: setting("Forecast on every n-th completed step.", seriesFormats.every, 1),
    gapPolicy: setting("How missing slots are filled.", seriesFormats.gapPolicy, "seasonal"),
    gapMax: setting("Longest run of missing slots that is filled, in steps.", seriesFormats.gapMax, 6),
    cohort: setting(
      "Series with the same name here share one model; empty gives each its own. Usually set by an override.",
      seriesFormats.cohort,
      "",
    ),
    form: setting(
      "Which nets are trained: auto tries several of ours, the others are the paper's forms as they stand.",
      seriesFormats.form,
      "auto",
    ),
    driftRatio: setting(
      "A model is stale when its rolling MASE exceeds this many times the MASE it validated with.",
      seriesFormats.driftRatio,
      2.25,
    ),
    driftBound: setting(
      "A model is stale, too, when its rolling MASE exceeds this; 0 for no such bound.",
      seriesFormats.driftBound,
      0,
    ),
    overrides: setting("Other settings for series whose id matches a pattern.", overrides, []),
  },
  engine: {
    kind: setting(
      "What runs the models: simd on any processor, tensorflow on a GPU; auto takes tensorflow only where it sees one.",
      oneOf("auto", "simd", "tensorflow"),
      "auto",
    ),
    threads: setting(
      "Threads for models beside the one that handles records; 0 means one less than there are cores. Give it where a container may use fewer than the machine has. tensorflow takes one and spreads by itself.",
      integer(0, 1024),
      0,
    ),
    paths: setting("Sample paths behind every forecast of a model.", integer(1, 10_000), 100),
    memoryMb: setting(
      "Device memory for the weights that tensorflow keeps, in MiB; those not used for longest make room.",
      integer(16, 1024 * 1024),
      1024,
    ),
  },
  ...modelSchema,
  limits: {
    seriesIdLength: setting(
      "Longest series id accepted, in characters; a longer one is a dead letter.",
      integer(1, 4096),
      256,
    ),
    recordBytes: setting(
      "Largest input record accepted; a larger one is a dead letter.",
      integer(1024, 64 * 1024 * 1024),
      1024 * 1024,
    ),
    futureToleranceMs: setting(
      "How far ahead of the clock an observation may lie; beyond that it is a dead letter.",
      integer(0, 7 * 24 * 3_600_000),
      300_000,
    ),
  },
  pipeline: {
    start: setting(
      "Where to begin a partition nobody in the group has read yet.",
      oneOf("earliest", "latest"),
      "earliest",
    ),
    maxBatchRecords: setting(
      "Most records in one batch, and so in one transaction.",
      integer(1, 100_000),
      1000,
    ),
    bufferedBatches: setting("Batches held between computing and committing.", integer(1, 64), 1),
    behindAfterMs: setting(
      "Input older than this is far behind: only the newest origin of each series gets a forecast; 0 means never.",
      integer(0, 30 * 24 * 3_600_000),
      60_000,
    ),
  },
  ...processSchema,
};

/** The values as given: a key ending in `File` holds a path. */
export type GivenConfig = GivenValues<typeof schema>;
type GivenValues<S> = S extends Setting<infer T> ? T : { readonly [K in keyof S]: GivenValues<S[K]> };

/** The values as used: where the schema says `passwordFile`, this has `password`, read from that file. */
export type AppConfig = Values<typeof schema>;
type Values<S> =
  S extends Setting<infer T>
    ? T
    : {
        readonly [K in keyof S as K extends `${infer Name}File` ? Name : K]: K extends `${string}File`
          ? Secret | null
          : Values<S[K]>;
      };
