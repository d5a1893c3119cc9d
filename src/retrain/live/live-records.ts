// What changed of a series as records of the state topic: its live state, written here, and its kept forecasts.
// `stored-records.ts` reads them back.
//
// The sums of a LiveState are those of `step-scores.ts` in their order, then the base of the tenure, one number per
// channel, and at last the bound of its errors.

import { singleObjectHeader } from "../../log/codec/avro.ts";
import { AvroWriter } from "../../log/codec/avro-writer.ts";
import { schemaVersions } from "../../log/codec/schemas.generated.ts";
import type { LifeFacts, Phase } from "../life.ts";
import { encodedLevels, writeFew, writeKept } from "./kept-record.ts";
import type { SeriesLive } from "./series-live.ts";
import { keptKey, liveKey } from "./state-keys.ts";
import type { Tenure } from "./tenure.ts";

/** An empty value deletes the key. */
export interface LiveRecord {
  readonly key: string;
  readonly value: Buffer | null;
}

const stateHeader = singleObjectHeader(schemaVersions.LiveState[schemaVersions.LiveState.length - 1]);
// One for all records: writing is synchronous, and what was written is left alone.
const writer = new AvroWriter();

/** In the order of their symbols in LiveState.avsc. */
const phases: readonly Phase[] = ["cold", "training", "champion", "drifting"];

/** Appends what changed since the last call. */
export function takeRecords(live: SeriesLive, records: LiveRecord[]): void {
  const { seriesId, tenure } = live;
  const { isStateChanged, places, newest } = live.takeChanges();
  for (const place of places) {
    const isWritten = newest !== null && newest.place === place;
    const value = isWritten ? newest.value : tenure && writeKept(seriesId, tenure, place);
    records.push({ key: keptKey(seriesId, place), value });
  }
  if (isStateChanged) records.push({ key: liveKey(seriesId), value: writeState(live) });
}

/** Field by field in the order of LiveState.avsc; a test holds it against avsc. */
function writeState({ seriesId, tenure, life }: SeriesLive): Buffer {
  writer.begin(stateHeader);
  writer.writeString(seriesId);
  if (tenure === null) writeNoTenure();
  else writeTenure(tenure);
  writeLife(life);
  return writer.end();
}

function writeTenure({ frame, rolling, calibrator }: Tenure): void {
  const { sums, scoredSlots, rule } = rolling;
  const { naiveErrors, base, channels } = frame;
  writer.writeString(frame.version);
  writeFew(writer, naiveErrors);
  writer.writeEncoded(encodedLevels(rule.levels));
  writer.writeLong(frame.horizon);
  writer.writeLong(scoredSlots === 0 ? 0 : rolling.newestSlot);
  writer.writeLong(scoredSlots);
  const numbers = sumsOf(sums.length + channels + 1);
  numbers.set(sums);
  for (let c = 0; c < channels; c++) numbers[sums.length + c] = base[c];
  numbers[sums.length + channels] = frame.errorCap;
  writer.writeDoublesAsBytes(numbers);
  writer.writeLong(calibrator?.learntSteps ?? 0);
  writer.writeFloatsAsBytes(calibrator?.state ?? noFloats);
}

const noFloats = new Float32Array(0);

function writeNoTenure(): void {
  // Version, naive errors, levels, horizon, newest slot, scored slots, sums, learnt steps, calibration: all empty or zero.
  for (let field = 0; field < 9; field++) writer.writeLong(0);
}

function writeLife({
  phase,
  sinceMs,
  restsUntilMs,
  driftSinceMs,
  requestId,
  probation,
  verdict,
}: LifeFacts): void {
  writer.writeLong(phases.indexOf(phase));
  writer.writeLong(sinceMs);
  writer.writeLong(restsUntilMs);
  if (isThere(driftSinceMs)) writer.writeLong(driftSinceMs);
  if (isThere(requestId)) writer.writeString(requestId);
  if (isThere(probation)) {
    if (isThere(probation.predecessorMase)) writer.writeDouble(probation.predecessorMase);
    writer.writeLong(probation.sinceMs);
  }
  if (isThere(verdict)) writer.writeString(verdict);
}

/** Writes the branch of a union of null and one more. */
function isThere<T>(value: T | null): value is T {
  writer.writeLong(value === null ? 0 : 1);
  return value !== null;
}

const sumsByLength = new Map<number, Float64Array>();

/** Memory that is used again for the next record: an array of its own for every record keeps the collector busy. */
function sumsOf(length: number): Float64Array {
  const sums = sumsByLength.get(length) ?? new Float64Array(length);
  sumsByLength.set(length, sums);
  return sums;
}
