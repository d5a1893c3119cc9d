// A series' live state and kept forecasts as records of the state topic; `stored-records.ts` reads them back.
//
// The sums of a LiveState are those of `step-scores.ts` in their order, then the base of the tenure, one number per
// channel, and at last the bound of its errors.

import { singleObjectHeader } from "../../log/codec/avro.ts";
import { AvroWriter } from "../../log/codec/avro-writer.ts";
import { schemaVersions } from "../../log/codec/schemas.generated.ts";
import type { LifeFacts, Phase } from "../life.ts";
import type { SeriesLive } from "./series-live.ts";
import { keptKey, liveKey } from "./state-keys.ts";
import type { Tenure } from "./tenure.ts";

/** An empty value deletes the key. */
export interface LiveRecord {
  readonly key: string;
  readonly value: Buffer | null;
}

const stateHeader = headerOf("LiveState");
const keptHeader = headerOf("KeptForecast");
// One for all records: writing is synchronous, and what was written is left alone.
const writer = new AvroWriter();

/** In the order of their symbols in LiveState.avsc. */
const phases: readonly Phase[] = ["cold", "training", "champion", "drifting"];

/** Appends what changed since the last call. */
export function takeRecords(live: SeriesLive, records: LiveRecord[]): void {
  const { seriesId, tenure } = live;
  const { isStateChanged, places } = live.takeChanges();
  for (const place of places) {
    const value = tenure === null ? null : writeKept(seriesId, tenure, place);
    records.push({ key: keptKey(seriesId, place), value });
  }
  if (isStateChanged) records.push({ key: liveKey(seriesId), value: writeState(live) });
}

/** Field by field in the order of KeptForecast.avsc; a test holds it against avsc. Null when nothing is kept there. */
function writeKept(seriesId: string, { kept, frame, rolling }: Tenure, place: number): Buffer | null {
  const originSlot = kept.originOf(place);
  if (!Number.isFinite(originSlot)) return null;
  const { horizon, channels } = frame;
  const { levels } = rolling.rule;
  writer.begin(keptHeader);
  writer.writeString(seriesId);
  writer.writeLong(originSlot);
  writer.writeString(kept.strangerAt(place) ?? frame.version);
  writer.writeLong(channels);
  writer.writeLong(horizon);
  writer.writeDoubles(levels);
  const quantiles = rowOf(levels.length * channels * horizon);
  kept.read(place, quantiles);
  writer.writeFloatsAsBytes(quantiles);
  return writer.end();
}

/** As `writeKept`, in the order of LiveState.avsc. */
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
  const { base, errorCap } = frame;
  writer.writeString(frame.version);
  writer.writeDoubles(frame.naiveErrors);
  writer.writeDoubles(rule.levels);
  writer.writeLong(frame.horizon);
  writer.writeLong(scoredSlots === 0 ? 0 : rolling.newestSlot);
  writer.writeLong(scoredSlots);
  writer.writeLong(8 * (sums.length + base.length + 1));
  for (let i = 0; i < sums.length; i++) writer.writeDouble(sums[i]);
  for (let c = 0; c < base.length; c++) writer.writeDouble(base[c]);
  writer.writeDouble(errorCap);
  writer.writeLong(calibrator?.learntSteps ?? 0);
  writer.writeFloatsAsBytes(calibrator?.state ?? noFloats);
}

const noFloats = new Float32Array(0);

function writeNoTenure(): void {
  writer.writeString("");
  writer.writeDoubles([]);
  writer.writeDoubles([]);
  // Horizon, newest slot, scored slots, bytes of sums, learnt steps, bytes of calibration.
  for (let field = 0; field < 6; field++) writer.writeLong(0);
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

const rowByLength = new Map<number, Float32Array>();

/** Memory that is used again for the next row of the same length: one of its own for each keeps the collector busy. */
function rowOf(length: number): Float32Array {
  let row = rowByLength.get(length);
  if (row === undefined) {
    row = new Float32Array(length);
    rowByLength.set(length, row);
  }
  return row;
}

function headerOf(name: "LiveState" | "KeptForecast"): Buffer {
  const versions = schemaVersions[name];
  return singleObjectHeader(versions[versions.length - 1]);
}
