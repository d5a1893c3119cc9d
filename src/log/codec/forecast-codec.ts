// Forecasts as bytes, in the configured format. Owns the only list of a forecast's fields outside the schema,
// `toForecastRecord`; arrays are passed on, not copied.

import type { Forecast, Tier } from "../../domain.ts";
import { avroCodec, singleObjectHeader } from "./avro.ts";
import { AvroWriter } from "./avro-writer.ts";
import { confluentHeaderBytes, requireRegistry, type SchemaRegistry } from "./registry.ts";
import { type ForecastRecord, schemaVersions, type TierSymbol } from "./schemas.generated.ts";
import { writeForecast } from "./writers.generated.ts";

type ForecastFormat = "avro" | "confluent" | "json";

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

const forecastCodec = avroCodec("Forecast");
const forecastSchema = schemaVersions.Forecast[schemaVersions.Forecast.length - 1];
const avroHeader = singleObjectHeader(forecastSchema);
// One for all encoders: encoding is synchronous, and finished forecasts are never overwritten.
const writer = new AvroWriter();

/** For confluent this registers the Forecast schema as the value of the topic; the other formats need no I/O. */
export async function createForecastEncoder(
  format: ForecastFormat,
  topic: string,
  registry: SchemaRegistry | null,
): Promise<ForecastEncoder> {
  if (format === "avro") return encodeForecast;
  if (format === "json") return encodeForecastAsJson;
  const header = Buffer.alloc(confluentHeaderBytes);
  header.writeInt32BE(await requireRegistry(registry).register(`${topic}-value`, forecastSchema), 1);
  return (forecast) => encodeAfter(header, forecast);
}

/** In the avro format: a single object. */
export function encodeForecast(forecast: Forecast): Buffer {
  return encodeAfter(avroHeader, forecast);
}

function encodeAfter(header: Buffer, forecast: Forecast): Buffer {
  writer.begin(header);
  writeForecast(writer, toForecastRecord(forecast));
  return writer.end();
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
