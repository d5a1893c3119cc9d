// A series' live state and kept forecasts from their stored records, as `live-records.ts` writes them. A record that
// contradicts itself is corrupt; one that only fits other settings is for the caller to pass over.

import type { LiveScores } from "../../domain.ts";
import { avroCodec } from "../../log/codec/avro.ts";
import type { KeptForecastRecord, LiveStateRecord, PhaseSymbol } from "../../log/codec/schemas.generated.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import type { LifeFacts } from "../life.ts";
import { RollingScores } from "./rolling-scores.ts";
import { createScoreRule } from "./step-scores.ts";

const stateCodec = avroCodec("LiveState");
const keptCodec = avroCodec("KeptForecast");

export interface StoredState {
  readonly record: LiveStateRecord;
  readonly life: LifeFacts;
  /** Of the tally. */
  readonly sums: Float64Array;
  readonly base: readonly number[];
  readonly errorCap: number;
  readonly calibration: Float32Array;
}

/** Null until forecasts have matured. */
export function storedScores({ record, sums }: StoredState): LiveScores | null {
  if (record.scoredSlots === 0) return null;
  // How fast scores fade matters only to those that are still to come.
  const rolling = new RollingScores(createScoreRule(record.levels), 1);
  rolling.load({ sums, newestSlot: record.newestSlot, scoredSlots: record.scoredSlots });
  return rolling.scores();
}

/** Throws STATE_CORRUPT, as `readKept` does. */
export function readState(value: Buffer, place: string): StoredState {
  const record = decode(() => stateCodec.decode(value), place);
  const { levels, naiveErrors } = record;
  const channels = naiveErrors.length;
  const tallyLength = levels.length === 0 ? 0 : createScoreRule(levels).tallyLength;
  const length = levels.length === 0 ? 0 : tallyLength + channels + 1;
  checkState(record, length, place);
  const numbers = new Float64Array(length);
  Buffer.from(numbers.buffer).set(record.sums);
  const calibration = new Float32Array(record.calibration.length / 4);
  Buffer.from(calibration.buffer).set(record.calibration);
  return {
    ...{ record, life: lifeOf(record), calibration },
    sums: numbers.subarray(0, tallyLength),
    base: Array.from(numbers.subarray(tallyLength, tallyLength + channels)),
    errorCap: numbers[length - 1] ?? Number.POSITIVE_INFINITY,
  };
}

function checkState(
  { sums, calibration, naiveErrors }: LiveStateRecord,
  length: number,
  place: string,
): void {
  if (sums.length !== 8 * length || calibration.length % 4 !== 0) {
    const found = `${sums.length} bytes of sums, ${calibration.length} of calibration`;
    throw corrupt(place, found, `${length} sums of 8 bytes and a calibration in 4 bytes a number`);
  }
  if (!naiveErrors.every((error) => error > 0 && Number.isFinite(error)))
    throw corrupt(place, `naive errors ${naiveErrors.join(", ")}`, "positive numbers");
}

export interface StoredKept {
  readonly record: KeptForecastRecord;
  /** Level after level. */
  readonly quantiles: Float32Array;
}

export function readKept(value: Buffer, place: string): StoredKept {
  const record = decode(() => keptCodec.decode(value), place);
  const numbers = record.levels.length * record.channels * record.horizon;
  if (record.quantiles.length !== 4 * numbers || numbers === 0)
    throw corrupt(place, `${record.quantiles.length} bytes of quantiles`, `${numbers} numbers of 4 bytes`);
  const quantiles = new Float32Array(numbers);
  Buffer.from(quantiles.buffer).set(record.quantiles);
  return { record, quantiles };
}

function lifeOf(record: LiveStateRecord): LifeFacts {
  const { probation, requestId, verdict } = record;
  return {
    phase: record.phase.toLowerCase() as Lowercase<PhaseSymbol>,
    sinceMs: record.phaseSince,
    restsUntilMs: record.restsUntil,
    driftSinceMs: record.driftSince,
    requestId,
    probation: probation && { predecessorMase: probation.predecessorMase, sinceMs: probation.since },
    verdict,
  };
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
