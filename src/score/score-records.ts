// The records of live scores on the state topic: their keys, how they are written, how they are read back.
//
// A series has one LiveState, under the key `<series id>#live`, and one KeptForecast per pending forecast, under
// `<series id>#f<row>`. The window stage stores its blocks on the same topic, under `<series id>#<number>`.
//
// `sums` of a LiveState holds, in this order: the sums of rolling-scores.ts, the base of the scoring period (one
// number per channel), the error cap. Earlier versions stored a rolling pinball loss as the fourth sum; reading drops it.
//
// Reading throws STATE_CORRUPT for a record that contradicts itself. Whether it fits the configuration is not checked.

import type { LiveScores } from "../domain.ts";
import { avroCodec, singleObjectHeader } from "../log/codec/avro.ts";
import { AvroWriter } from "../log/codec/avro-writer.ts";
import {
  type KeptForecastRecord,
  type LiveStateRecord,
  type PhaseSymbol,
  schemaVersions,
} from "../log/codec/schemas.generated.ts";
import { writeKeptForecast, writeLiveState } from "../log/codec/writers.generated.ts";
import type { Life, Phase } from "../models/life.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import type { PendingRow } from "./pending-forecasts.ts";
import { createScoreRule, RollingScores } from "./rolling-scores.ts";
import type { ScoringPeriod } from "./scoring-period.ts";

/** A record of the state topic; the value null deletes the key. */
export interface ScoreRecord {
  readonly key: string;
  readonly value: Buffer | null;
}

export type StateKey =
  | { readonly kind: "live"; readonly seriesId: string }
  | { readonly kind: "pending"; readonly seriesId: string; readonly row: number };

export function liveKey(seriesId: string): string {
  return `${seriesId}#live`;
}

export function pendingKey(seriesId: string, row: number): string {
  return `${seriesId}#f${row}`;
}

/** Null for a key of neither kind. A series id may itself contain "#". */
export function readStateKey(key: string): StateKey | null {
  const at = key.lastIndexOf("#");
  if (at < 0) return null;
  const seriesId = key.slice(0, at);
  const ending = key.slice(at + 1);
  if (ending === "live") return { kind: "live", seriesId };
  return /^f\d{1,9}$/.test(ending) ? { kind: "pending", seriesId, row: Number(ending.slice(1)) } : null;
}

/** Upper bound of the bytes of numbers in one record: pending quantiles, or scores and calibration. */
export function largestLiveBytes(shape: {
  readonly horizon: number;
  readonly channels: number;
  readonly levels: number;
}): number {
  const { horizon, channels, levels } = shape;
  const outputs = horizon * channels;
  const calibration = ((levels + 1) * outputs + channels) * 4;
  const scores = (2 * channels + 2 * levels + 16) * 8;
  return calibration + scores + levels * 8;
}

const stateHeader = singleObjectHeader(schemaVersions.LiveState[schemaVersions.LiveState.length - 1]);
const keptHeader = singleObjectHeader(schemaVersions.KeptForecast[schemaVersions.KeptForecast.length - 1]);
// One for all records: writing is synchronous, and finished records are never overwritten.
const writer = new AvroWriter();

const symbolByPhase: Readonly<Record<Phase, PhaseSymbol>> = {
  cold: "COLD",
  training: "TRAINING",
  champion: "CHAMPION",
  drifting: "DRIFTING",
};

/** Without a period all of its fields are empty or zero. */
export function writeState(seriesId: string, period: ScoringPeriod | null, life: Life): Buffer {
  const frame = period?.frame;
  const rolling = period?.rolling;
  const calibrator = period?.calibrator;
  const { probation } = life;
  writer.begin(stateHeader);
  writeLiveState(writer, {
    seriesId,
    modelVersion: frame?.version ?? "",
    naiveErrors: frame?.naiveErrors ?? none,
    levels: rolling?.rule.levels ?? none,
    horizon: frame?.horizon ?? 0,
    newestSlot: rolling === undefined || rolling.scoredSlots === 0 ? 0 : rolling.newestSlot,
    scoredSlots: rolling?.scoredSlots ?? 0,
    sums: period === null ? noFloats : sumsOf(period),
    learntSteps: calibrator?.learntSteps ?? 0,
    calibration: calibrator?.state ?? noFloats,
    phase: symbolByPhase[life.phase],
    phaseSince: life.sinceMs,
    restsUntil: life.restsUntilMs,
    driftSince: life.driftSinceMs,
    requestId: life.requestId,
    probation: probation && { predecessorMase: probation.predecessorMase, since: probation.sinceMs },
    competedAt: life.competedMs,
    verdict: life.verdict,
  });
  return writer.end();
}

const none: readonly number[] = [];
const noFloats = new Float32Array(0);
const noBytes = new Uint8Array(0);

function sumsOf({ rolling: { sums }, frame: { base, errorCap } }: ScoringPeriod): Float64Array {
  const numbers = reused(sums.length + base.length + 1);
  numbers.set(sums);
  for (let c = 0; c < base.length; c++) numbers[sums.length + c] = base[c];
  numbers[numbers.length - 1] = errorCap;
  return numbers;
}

/** The forecast that was added last. */
export function writeAdded(
  { pending }: ScoringPeriod,
  originSlot: number,
  otherVersion: string | null,
): Buffer {
  return writeRow({ originSlot, otherVersion, bytes: pending.added });
}

/** Null when no forecast is in memory for the row. */
export function writePending({ pending }: ScoringPeriod, row: number): Buffer | null {
  const read = pending.read(row);
  return read && writeRow(read);
}

function writeRow({ originSlot, otherVersion, bytes }: PendingRow): Buffer {
  writer.begin(keptHeader);
  writeKeptForecast(writer, {
    originSlot,
    modelVersion: otherVersion ?? "",
    scales: noBytes,
    codes: noBytes,
    quantiles: noBytes,
    cells: bytes,
  });
  return writer.end();
}

const doublesByLength = new Map<number, Float64Array>();

/** Memory that the next record uses again: an array per record would keep the garbage collector busy. */
function reused(length: number): Float64Array {
  const array = doublesByLength.get(length) ?? new Float64Array(length);
  doublesByLength.set(length, array);
  return array;
}

const stateCodec = avroCodec("LiveState");
const keptCodec = avroCodec("KeptForecast");

export interface StoredState {
  readonly record: LiveStateRecord;
  readonly life: Life;
  /** As in rolling-scores.ts. */
  readonly sums: Float64Array;
  readonly base: readonly number[];
  readonly errorCap: number;
  readonly calibration: Float32Array;
}

/** `place` names the record in errors. */
export function readState(value: Buffer, place: string): StoredState {
  const record = decode(() => stateCodec.decode(value), place);
  const { levels, naiveErrors } = record;
  const channels = naiveErrors.length;
  const sumCount = levels.length === 0 ? 0 : createScoreRule(levels).sumCount;
  const length = levels.length === 0 ? 0 : sumCount + channels + 1;
  const sums = withoutPinball(record.sums, 8 * length);
  checkState(record, sums, length, place);
  const numbers = new Float64Array(length);
  Buffer.from(numbers.buffer).set(sums);
  const calibration = new Float32Array(record.calibration.length / 4);
  Buffer.from(calibration.buffer).set(record.calibration);
  return {
    record,
    life: lifeOf(record),
    sums: numbers.subarray(0, sumCount),
    base: Array.from(numbers.subarray(sumCount, sumCount + channels)),
    errorCap: numbers[length - 1] ?? Number.POSITIVE_INFINITY,
    calibration,
  };
}

/** Drops the fourth of the sums that earlier versions stored. Their states are recognised by their length. */
function withoutPinball(sums: Buffer, expectedBytes: number): Buffer {
  if (expectedBytes === 0 || sums.length !== expectedBytes + 8) return sums;
  return Buffer.concat([sums.subarray(0, 24), sums.subarray(32)]);
}

function checkState(
  { calibration, naiveErrors }: LiveStateRecord,
  sums: Buffer,
  length: number,
  place: string,
): void {
  if (sums.length !== 8 * length || calibration.length % 4 !== 0) {
    const found = `${sums.length} bytes of sums and ${calibration.length} of calibration`;
    throw corrupt(place, found, `${length} sums of 8 bytes and a calibration of 4 bytes a number`);
  }
  if (!naiveErrors.every((error) => error > 0 && Number.isFinite(error)))
    throw corrupt(place, `naive errors ${naiveErrors.join(", ")}`, "positive numbers");
}

function lifeOf(record: LiveStateRecord): Life {
  const { probation } = record;
  return {
    phase: record.phase.toLowerCase() as Lowercase<PhaseSymbol>,
    sinceMs: record.phaseSince,
    restsUntilMs: record.restsUntil,
    driftSinceMs: record.driftSince,
    requestId: record.requestId,
    probation: probation && { predecessorMase: probation.predecessorMase, sinceMs: probation.since },
    competedMs: record.competedAt,
    verdict: record.verdict,
  };
}

/** The scores in a stored state; null until a forecast has matured by a step. */
export function storedScores({ record, sums }: StoredState): LiveScores | null {
  if (record.scoredSlots === 0) return null;
  // Any number of rolling steps does: it only affects slots scored later.
  const rolling = new RollingScores(createScoreRule(record.levels), 1);
  rolling.load({ sums, newestSlot: record.newestSlot, scoredSlots: record.scoredSlots });
  return rolling.scores();
}

/** Throws STATE_CORRUPT when the record contradicts itself; whether it fits a series is for the caller to see. */
export function readPending(value: Buffer, place: string): KeptForecastRecord {
  const record = decode(() => keptCodec.decode(value), place);
  const { scales, codes, quantiles, cells } = record;
  const hasCodes = codes.length + scales.length > 0;
  const formats = [cells.length > 0, hasCodes, quantiles.length > 0].filter((isUsed) => isUsed).length;
  const isWhole = hasCodes
    ? codes.length > 0 && codes.length % 2 === 0 && scales.length > 0 && scales.length % 16 === 0
    : quantiles.length % 4 === 0;
  if (formats === 1 && isWhole) return record;
  const found = `${cells.length} bytes of cells, ${scales.length} of scales, ${codes.length} of codes and ${quantiles.length} of quantiles`;
  const earlier = "two numbers of 8 bytes a channel and codes of 2 bytes, or quantiles of 4 bytes";
  throw corrupt(place, found, `cells; or, of an earlier version, ${earlier}`);
}

function decode<T>(read: () => T, place: string): T {
  try {
    return read();
  } catch (error) {
    throw new ForecastnetError("STATE_CORRUPT", `${place}: ${(error as Error).message}`, { cause: error });
  }
}

function corrupt(place: string, found: string, expected: string): ForecastnetError {
  return new ForecastnetError("STATE_CORRUPT", `${place} has ${found}; expected ${expected}`);
}
