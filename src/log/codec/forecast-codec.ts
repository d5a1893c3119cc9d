// Forecasts as bytes, in the configured format. Owns the only list of a forecast's fields outside the schema,
// `toForecastRecord`; arrays are passed on, not copied.
//
// Precision: seven digits are enough for the numbers of nearly every forecast, and halve its size. So they are written as
// floats, under a schema that differs from Forecast.avsc in nothing else. Readers of Forecast.avsc read both, as Avro
// promotes floats to doubles. A forecast far from zero for its spread, such as that of a meter, is written as doubles.

import type { Forecast, Tier } from "../../domain.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import { singleObjectHeader, versionedCodec } from "./avro.ts";
import { type AvroSchema, withFloats } from "./avro-schema.ts";
import { AvroWriter } from "./avro-writer.ts";
import { confluentHeaderBytes, requireRegistry, type SchemaRegistry } from "./registry.ts";
import { type ForecastRecord, schemaVersions, type TierSymbol } from "./schemas.generated.ts";
import { writeForecast } from "./writers.generated.ts";

type ForecastFormat = "avro" | "confluent" | "json";

/** "auto": single precision where that changes no number by a thousandth of the standard deviation. */
export type ForecastPrecision = "auto" | "double";

type ForecastEncoder = (forecast: Forecast) => Buffer;

interface ForecastShape {
  readonly horizon: number;
  readonly channels: number;
  /** Number of quantile levels. */
  readonly levels: number;
  /** True when the quantiles before calibration are published too. */
  readonly hasRaw: boolean;
  /** Length of the longest series id, in characters. */
  readonly idLength: number;
}

/** The longest number in JSON, such as -2.2250738585072014e-308, with its comma. */
const jsonNumberBytes = 25;
const jsonTimeBytes = 32;
const doubleBytes = 8;
const longBytes = 10;
/** Field names, versions and scores. */
const frameBytes = 2_048;

/** Upper bound of the bytes of a forecast of this shape. */
export function largestForecastBytes(format: ForecastFormat, shape: ForecastShape): number {
  const { horizon, channels, levels, hasRaw, idLength } = shape;
  const isJson = format === "json";
  const numberBytes = isJson ? jsonNumberBytes : doubleBytes;
  const numbers = (2 + (hasRaw ? 2 : 1) * levels) * channels * horizon;
  const times = horizon * (isJson ? jsonTimeBytes : longBytes);
  // Per level: the level, its coverage, and the field names around them.
  const perLevel = (hasRaw ? 2 : 1) * levels * (isJson ? 160 : 64);
  // At most four fields contain the id. A character takes up to three bytes, up to six when escaped in JSON.
  const ids = 4 * idLength * (isJson ? 6 : 3);
  return numbers * numberBytes + times + perLevel + ids + frameBytes;
}

const doubleSchema = schemaVersions.Forecast[schemaVersions.Forecast.length - 1];
/** Of forecasts whose numbers are written as floats. */
export const singleSchema = withFloats(doubleSchema);
const forecastCodec = versionedCodec<ForecastRecord>("Forecast", [singleSchema, ...schemaVersions.Forecast]);
// For all encoders: encoding is synchronous, and finished forecasts are never overwritten.
const writers = { single: new AvroWriter({ hasFloats: true }), double: new AvroWriter() };

/** What forecasts of each precision begin with. */
interface Headers {
  /** Null when all forecasts are written as doubles. */
  readonly single: Buffer | null;
  readonly double: Buffer;
}

const avroHeaders = {
  single: singleObjectHeader(singleSchema),
  double: singleObjectHeader(doubleSchema),
};

interface EncoderParts {
  readonly topic: string;
  readonly precision: ForecastPrecision;
  /** Needed for confluent. */
  readonly registry: SchemaRegistry | null;
  /** Called when the registry refuses single precision, with its reason. */
  readonly refused: (reason: string) => void;
}

/** For confluent this registers the schemas as the value of the topic; the other formats need no I/O. */
export async function createForecastEncoder(
  format: ForecastFormat,
  parts: EncoderParts,
): Promise<ForecastEncoder> {
  if (format === "json") return encodeForecastAsJson;
  const headers = format === "avro" ? avroHeaders : await registerSchemas(parts);
  const single = parts.precision === "double" ? null : headers.single;
  return (forecast) => encodeAfter({ single, double: headers.double }, forecast);
}

/**
 * Floats first: a registry that lets a schema read what was written before, which is the usual rule, lets doubles read
 * floats. Where doubles were registered first it refuses floats, and forecasts stay as they are.
 */
async function registerSchemas({ topic, precision, registry, refused }: EncoderParts): Promise<Headers> {
  const register = async (schema: AvroSchema) => {
    const header = Buffer.alloc(confluentHeaderBytes);
    header.writeInt32BE(await requireRegistry(registry).register(`${topic}-value`, schema), 1);
    return header;
  };
  const single =
    precision === "double"
      ? null
      : await register(singleSchema).catch((error: unknown) => {
          if (!(error instanceof ForecastnetError && error.code === "REGISTRY_REFUSED")) throw error;
          refused(error.message);
          return null;
        });
  return { single, double: await register(doubleSchema) };
}

/** In the avro format: a single object. */
export function encodeForecast(forecast: Forecast): Buffer {
  return encodeAfter(avroHeaders, forecast);
}

function encodeAfter(headers: Headers, forecast: Forecast): Buffer {
  const record = toForecastRecord(forecast);
  const single = headers.single !== null && isSingleEnough(record) ? headers.single : null;
  const writer = single === null ? writers.double : writers.single;
  writer.begin(single ?? headers.double);
  writeForecast(writer, record);
  return writer.end();
}

/** Largest multiple of its standard deviation that a mean may be: a float is exact to 2 to the power of −24. */
const MOST_DEVIATIONS = 2 ** 14;

function isSingleEnough({ mean, standardDeviation }: ForecastRecord): boolean {
  for (let o = 0; o < mean.length; o++)
    if (!(Math.abs(mean[o]) <= MOST_DEVIATIONS * standardDeviation[o])) return false;
  return true;
}

/** Reads the avro format. */
export function decodeForecast(bytes: Buffer): ForecastRecord {
  return forecastCodec.decode(bytes);
}

/** The fields of Forecast.avsc, with times in ISO 8601. */
export function encodeForecastAsJson(forecast: Forecast): Buffer {
  const record = toForecastRecord(forecast);
  const json = { ...record, origin: isoTime(record.origin), times: record.times.map(isoTime) };
  return Buffer.from(JSON.stringify(json), "utf8");
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

const symbolByTier: Readonly<Record<Tier, TierSymbol>> = { cold: "COLD", model: "MODEL", cohort: "COHORT" };

export function toForecastRecord({ raw, quantiles, calibration, scores }: Forecast): ForecastRecord {
  const { window } = raw;
  return {
    id: raw.id,
    seriesId: window.seriesId,
    origin: window.originMs,
    interval: window.interval,
    horizon: window.settings.horizon,
    channels: window.channels,
    times: window.stepTimesMs,
    mean: raw.mean,
    standardDeviation: raw.standardDeviation,
    quantiles,
    tier: symbolByTier[raw.tier],
    method: raw.method,
    modelKey: raw.modelKey,
    modelVersion: raw.modelVersion,
    filledShare: window.filledShare,
    freshSteps: window.freshSteps,
    skippedOrigins: window.skippedOrigins,
    calibration,
    scores,
  };
}
