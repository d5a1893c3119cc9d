// Forecasts as bytes, in the format the subscribers asked for. The domain's arrays are read in place.

import type { Calibration, Forecast, LiveScores, Quantile, Tier } from "../../domain.ts";
import { avroCodec, singleObjectHeader } from "./avro.ts";
import { confluentHeaderBytes } from "./avro-observations.ts";
import { AvroWriter } from "./avro-writer.ts";
import { requireRegistry } from "./observation-codecs.ts";
import type { SchemaRegistry } from "./registry.ts";
import { type ForecastRecord, schemaVersions, type TierSymbol } from "./schemas.generated.ts";

export type ForecastFormat = "avro" | "confluent" | "json";

export type ForecastEncoder = (forecast: Forecast) => Buffer;

const forecastCodec = avroCodec("Forecast");
const forecastSchema = schemaVersions.Forecast[schemaVersions.Forecast.length - 1];
const avroHeader = singleObjectHeader(forecastSchema);
// One for all encoders: encoding is synchronous and the result is copied out.
const writer = new AvroWriter();

const symbolByTier: Readonly<Record<Tier, TierSymbol>> = { cold: "COLD", model: "MODEL", cohort: "COHORT" };
const tierSymbols: readonly TierSymbol[] = ["COLD", "MODEL", "COHORT"];

/** For confluent this registers the Forecast schema as the value of the topic; the others need no I/O. */
export async function createForecastEncoder(
  format: ForecastFormat,
  topic: string,
  registry: SchemaRegistry | null,
): Promise<ForecastEncoder> {
  if (format === "avro") return encodeForecast;
  if (format === "json") return encodeForecastAsJson;
  const header = Buffer.alloc(confluentHeaderBytes);
  header.writeInt32BE(await requireRegistry(registry).register(`${topic}-value`, forecastSchema), 1);
  return (forecast) => writeForecast(header, forecast);
}

/** In the avro format: a single object. */
export function encodeForecast(forecast: Forecast): Buffer {
  return writeForecast(avroHeader, forecast);
}

/** Field by field in the order of Forecast.avsc; a test holds it against avsc. */
function writeForecast(header: Buffer, forecast: Forecast): Buffer {
  writer.begin(header);
  writer.writeString(forecast.id);
  writer.writeString(forecast.seriesId);
  writer.writeLong(forecast.originMs);
  writer.writeString(forecast.interval);
  writer.writeLong(forecast.horizon);
  writer.writeLong(forecast.channels);
  writer.writeArray(forecast.stepTimesMs, writeTime);
  writer.writeDoubles(forecast.mean);
  writer.writeDoubles(forecast.standardDeviation);
  writer.writeArray(forecast.quantiles, writeQuantile);
  writer.writeLong(tierSymbols.indexOf(symbolByTier[forecast.tier]));
  writer.writeString(forecast.method);
  writer.writeString(forecast.modelKey);
  writer.writeString(forecast.modelVersion);
  writer.writeDouble(forecast.filledShare);
  writer.writeLong(forecast.freshSteps);
  writer.writeLong(forecast.skippedOrigins);
  writeCalibration(forecast.calibration);
  writeScores(forecast.scores);
  return writer.end();
}

function writeCalibration(calibration: Calibration | null): void {
  writer.writeLong(calibration === null ? 0 : 1);
  if (calibration === null) return;
  writer.writeString(calibration.method);
  writer.writeLong(calibration.scoredSteps);
  writer.writeArray(calibration.rawQuantiles, writeQuantile);
}

function writeScores(scores: LiveScores | null): void {
  writer.writeLong(scores === null ? 0 : 1);
  if (scores === null) return;
  writer.writeDouble(scores.mase);
  writer.writeDouble(scores.crps);
  writer.writeArray(scores.coverage, writeCoverage);
  writer.writeLong(scores.scoredSteps);
}

function writeCoverage({ stated, observed }: LiveScores["coverage"][number]): void {
  writer.writeDouble(stated);
  writer.writeDouble(observed);
}

function writeTime(ms: number): void {
  writer.writeLong(ms);
}

function writeQuantile(quantile: Quantile): void {
  writer.writeDouble(quantile.level);
  writer.writeDoubles(quantile.values);
}

/** Reads the avro format. */
export function decodeForecast(bytes: Buffer): ForecastRecord {
  return forecastCodec.decode(bytes);
}

/** The fields of Forecast.avsc; times as ISO 8601. */
export function encodeForecastAsJson(forecast: Forecast): Buffer {
  const record = toForecastRecord(forecast);
  const json = { ...record, origin: isoTime(record.origin), times: record.times.map(isoTime) };
  return Buffer.from(JSON.stringify(json), "utf8");
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

export function toForecastRecord(forecast: Forecast): ForecastRecord {
  return {
    id: forecast.id,
    seriesId: forecast.seriesId,
    origin: forecast.originMs,
    interval: forecast.interval,
    horizon: forecast.horizon,
    channels: forecast.channels,
    times: forecast.stepTimesMs,
    mean: forecast.mean,
    standardDeviation: forecast.standardDeviation,
    quantiles: forecast.quantiles,
    tier: symbolByTier[forecast.tier],
    method: forecast.method,
    modelKey: forecast.modelKey,
    modelVersion: forecast.modelVersion,
    filledShare: forecast.filledShare,
    freshSteps: forecast.freshSteps,
    skippedOrigins: forecast.skippedOrigins,
    calibration: forecast.calibration,
    scores: forecast.scores,
  };
}
