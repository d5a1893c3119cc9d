// A series' live state and kept forecasts as records of the state topic; `stored-records.ts` reads them back.
//
// The sums of a LiveState are those of `step-scores.ts` in their order, then the base of the tenure, one number per
// channel, and at last the bound of its errors.

import { avroCodec } from "../../log/codec/avro.ts";
import type { KeptForecastRecord, LiveStateRecord, PhaseSymbol } from "../../log/codec/schemas.generated.ts";
import type { Phase } from "../life.ts";
import type { SeriesLive } from "./series-live.ts";
import { keptKey, liveKey } from "./state-keys.ts";
import type { Tenure } from "./tenure.ts";

/** An empty value deletes the key. */
export interface LiveRecord {
  readonly key: string;
  readonly value: Buffer | null;
}

const stateCodec = avroCodec("LiveState");
const keptCodec = avroCodec("KeptForecast");

const symbolByPhase: Readonly<Record<Phase, PhaseSymbol>> = {
  cold: "COLD",
  training: "TRAINING",
  champion: "CHAMPION",
  drifting: "DRIFTING",
};

/** Appends what changed since the last call. */
export function takeRecords(live: SeriesLive, records: LiveRecord[]): void {
  const { seriesId, tenure } = live;
  const { isStateChanged, places } = live.takeChanges();
  for (const place of places) {
    const record = tenure === null ? null : toKeptRecord(seriesId, tenure, place);
    records.push({ key: keptKey(seriesId, place), value: record && keptCodec.encode(record) });
  }
  if (isStateChanged) records.push({ key: liveKey(seriesId), value: stateCodec.encode(toStateRecord(live)) });
}

/**
 * Numbers on their way into a record, in memory that is used again for the next one of the same length: an array of its
 * own for every record keeps the collector busy.
 */
class Outbox<T extends Float32Array | Float64Array> {
  readonly #make: (length: number) => T;
  readonly #byLength = new Map<number, { readonly numbers: T; readonly bytes: Buffer }>();

  constructor(make: (length: number) => T) {
    this.#make = make;
  }

  of(length: number): { readonly numbers: T; readonly bytes: Buffer } {
    let memory = this.#byLength.get(length);
    if (memory === undefined) {
      const numbers = this.#make(length);
      memory = { numbers, bytes: Buffer.from(numbers.buffer) };
      this.#byLength.set(length, memory);
    }
    return memory;
  }
}

const quantilesOut = new Outbox((length) => new Float32Array(length));
const sumsOut = new Outbox((length) => new Float64Array(length));
const calibrationOut = new Outbox((length) => new Float32Array(length));

/** Null when nothing is kept at the place. Valid until the next record is made. */
function toKeptRecord(
  seriesId: string,
  { kept, frame, rolling }: Tenure,
  place: number,
): KeptForecastRecord | null {
  const originSlot = kept.originOf(place);
  if (!Number.isFinite(originSlot)) return null;
  const { version, horizon, channels } = frame;
  const { levels } = rolling.rule;
  const { numbers, bytes } = quantilesOut.of(levels.length * channels * horizon);
  kept.read(place, numbers);
  return {
    seriesId,
    originSlot,
    modelVersion: kept.strangerAt(place) ?? version,
    channels,
    horizon,
    levels,
    quantiles: bytes,
  };
}

/** Field by field, for speed: spreading an object is slow. Valid until the next record is made. */
function toStateRecord({ seriesId, tenure, life }: SeriesLive): LiveStateRecord {
  const { probation } = life;
  const fields = tenure === null ? noTenure : tenureFields(tenure);
  return {
    seriesId,
    modelVersion: fields.modelVersion,
    naiveErrors: fields.naiveErrors,
    levels: fields.levels,
    horizon: fields.horizon,
    newestSlot: fields.newestSlot,
    scoredSlots: fields.scoredSlots,
    sums: fields.sums,
    learntSteps: fields.learntSteps,
    calibration: fields.calibration,
    phase: symbolByPhase[life.phase],
    phaseSince: life.sinceMs,
    restsUntil: life.restsUntilMs,
    driftSince: life.driftSinceMs,
    requestId: life.requestId,
    probation: probation && { predecessorMase: probation.predecessorMase, since: probation.sinceMs },
    verdict: life.verdict,
  };
}

type TenureFields = Pick<
  LiveStateRecord,
  | "modelVersion"
  | "naiveErrors"
  | "levels"
  | "horizon"
  | "newestSlot"
  | "scoredSlots"
  | "sums"
  | "learntSteps"
  | "calibration"
>;

const empty = Buffer.alloc(0);

const noTenure: TenureFields = {
  ...{ modelVersion: "", naiveErrors: [], levels: [], horizon: 0, newestSlot: 0, scoredSlots: 0 },
  ...{ sums: empty, learntSteps: 0, calibration: empty },
};

function tenureFields({ frame, rolling, calibrator }: Tenure): TenureFields {
  const { sums, scoredSlots, rule } = rolling;
  const { numbers, bytes } = sumsOut.of(sums.length + frame.channels + 1);
  numbers.set(sums);
  for (let c = 0; c < frame.channels; c++) numbers[sums.length + c] = frame.base[c];
  numbers[sums.length + frame.channels] = frame.errorCap;
  const calibration = calibrationOut.of(calibrator?.state.length ?? 0);
  if (calibrator !== null) calibration.numbers.set(calibrator.state);
  return {
    modelVersion: frame.version,
    naiveErrors: frame.naiveErrors,
    levels: rule.levels,
    horizon: frame.horizon,
    newestSlot: scoredSlots === 0 ? 0 : rolling.newestSlot,
    scoredSlots,
    sums: bytes,
    learntSteps: calibrator?.learntSteps ?? 0,
    calibration: calibration.bytes,
  };
}
