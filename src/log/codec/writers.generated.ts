// Made from schemas/*.avsc by `npm run generate`. Do not edit.

import type { AvroWriter, Writable } from "./avro-writer.ts";
import type {
  CalibrationRecord,
  CoverageRecord,
  ForecastRecord,
  KeptForecastRecord,
  LiveStateRecord,
  PhaseSymbol,
  ProbationRecord,
  QuantileRecord,
  ScoresRecord,
  TierSymbol,
} from "./schemas.generated.ts";

function writeQuantile(writer: AvroWriter, record: Writable<QuantileRecord>): void {
  writer.writeDouble(record.level);
  writer.writeDoubles(record.values);
}

const tierIndices: Readonly<Record<TierSymbol, number>> = { COLD: 0, MODEL: 1, COHORT: 2 };

function writeCalibration(writer: AvroWriter, record: Writable<CalibrationRecord>): void {
  writer.writeString(record.method);
  writer.writeLong(record.scoredSteps);
  writer.beginArray(record.rawQuantiles.length);
  for (const item of record.rawQuantiles) writeQuantile(writer, item);
  writer.endArray();
}

function writeCoverage(writer: AvroWriter, record: Writable<CoverageRecord>): void {
  writer.writeDouble(record.stated);
  writer.writeDouble(record.observed);
}

function writeScores(writer: AvroWriter, record: Writable<ScoresRecord>): void {
  writer.writeDouble(record.mase);
  writer.writeDouble(record.crps);
  writer.beginArray(record.coverage.length);
  for (const item of record.coverage) writeCoverage(writer, item);
  writer.endArray();
  writer.writeLong(record.scoredSteps);
}

export function writeForecast(writer: AvroWriter, record: Writable<ForecastRecord>): void {
  writer.writeString(record.id);
  writer.writeString(record.seriesId);
  writer.writeLong(record.origin);
  writer.writeString(record.interval);
  writer.writeLong(record.horizon);
  writer.writeLong(record.channels);
  writer.beginArray(record.times.length);
  for (const item of record.times) writer.writeLong(item);
  writer.endArray();
  writer.writeDoubles(record.mean);
  writer.writeDoubles(record.standardDeviation);
  writer.beginArray(record.quantiles.length);
  for (const item of record.quantiles) writeQuantile(writer, item);
  writer.endArray();
  writer.writeLong(tierIndices[record.tier]);
  writer.writeString(record.method);
  writer.writeString(record.modelKey);
  writer.writeString(record.modelVersion);
  writer.writeDouble(record.filledShare);
  writer.writeLong(record.freshSteps);
  writer.writeLong(record.skippedOrigins);
  if (record.calibration === null) writer.writeLong(0);
  else {
    writer.writeLong(1);
    writeCalibration(writer, record.calibration);
  }
  if (record.scores === null) writer.writeLong(0);
  else {
    writer.writeLong(1);
    writeScores(writer, record.scores);
  }
}

export function writeKeptForecast(writer: AvroWriter, record: Writable<KeptForecastRecord>): void {
  writer.writeLong(record.originSlot);
  writer.writeString(record.modelVersion);
  writer.writeBytes(record.scales);
  writer.writeBytes(record.codes);
  writer.writeBytes(record.quantiles);
  writer.writeBytes(record.cells);
}

const phaseIndices: Readonly<Record<PhaseSymbol, number>> = { COLD: 0, TRAINING: 1, CHAMPION: 2, DRIFTING: 3 };

function writeProbation(writer: AvroWriter, record: Writable<ProbationRecord>): void {
  if (record.predecessorMase === null) writer.writeLong(0);
  else {
    writer.writeLong(1);
    writer.writeDouble(record.predecessorMase);
  }
  writer.writeLong(record.since);
}

export function writeLiveState(writer: AvroWriter, record: Writable<LiveStateRecord>): void {
  writer.writeString(record.seriesId);
  writer.writeString(record.modelVersion);
  writer.writeDoubles(record.naiveErrors);
  writer.writeDoubles(record.levels);
  writer.writeLong(record.horizon);
  writer.writeLong(record.newestSlot);
  writer.writeLong(record.scoredSlots);
  writer.writeBytes(record.sums);
  writer.writeLong(record.learntSteps);
  writer.writeBytes(record.calibration);
  writer.writeLong(phaseIndices[record.phase]);
  writer.writeLong(record.phaseSince);
  writer.writeLong(record.restsUntil);
  if (record.driftSince === null) writer.writeLong(0);
  else {
    writer.writeLong(1);
    writer.writeLong(record.driftSince);
  }
  if (record.requestId === null) writer.writeLong(0);
  else {
    writer.writeLong(1);
    writer.writeString(record.requestId);
  }
  if (record.probation === null) writer.writeLong(0);
  else {
    writer.writeLong(1);
    writeProbation(writer, record.probation);
  }
  if (record.competedAt === null) writer.writeLong(0);
  else {
    writer.writeLong(1);
    writer.writeLong(record.competedAt);
  }
  if (record.verdict === null) writer.writeLong(0);
  else {
    writer.writeLong(1);
    writer.writeString(record.verdict);
  }
}
