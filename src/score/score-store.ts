// The live scores of all series of one partition, and which of them changed since they were last stored. First the
// store, then `restoreScores`, which fills it when a partition is taken over, after the window stage has taken its
// blocks. Reads and writes no topic: callers do.

import { setImmediate } from "node:timers/promises";
import type { SeriesSettings } from "../domain.ts";
import type { KeptForecastRecord } from "../log/codec/schemas.generated.ts";
import type { Phase } from "../models/life.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import { QualityCounts } from "../runtime/fleet-quality.ts";
import { RowScratch, type RowShape, rowBytes } from "./cell-codes.ts";
import type { PendingRow } from "./pending-forecasts.ts";
import { createScoreRule } from "./rolling-scores.ts";
import { readPending, readState, readStateKey, type ScoreRecord, type StoredState } from "./score-records.ts";
import { ScoringPeriod, Scratch } from "./scoring-period.ts";
import { type ObservedPast, periodRules, type ScoringRules, SeriesScores } from "./series-scores.ts";

export interface ScoreStoreParts extends Omit<ScoringRules, "scratch" | "seriesByPhase"> {
  /** Levels of the quantiles that forecasts state, ascending. */
  readonly levels: readonly number[];
  readonly settingsOf: (seriesId: string) => SeriesSettings;
  /** True for series that the metrics show by name. Default: none. */
  readonly isNamed?: (seriesId: string) => boolean;
}

export class ScoreStore {
  /** As of the last `takeChanges`, or of the restore. */
  readonly quality: QualityCounts;
  readonly seriesByPhase: Record<Phase, number> = { cold: 0, training: 0, champion: 0, drifting: 0 };
  readonly #rules: ScoringRules;
  readonly #settingsOf: (seriesId: string) => SeriesSettings;
  readonly #scoresById = new Map<string, SeriesScores>();
  readonly #changed = new Set<SeriesScores>();

  constructor({ levels, settingsOf, rollingSteps, calibration, isNamed }: ScoreStoreParts) {
    const rule = createScoreRule(levels);
    const { seriesByPhase } = this;
    this.#rules = { scratch: new Scratch(rule), seriesByPhase, rollingSteps, calibration };
    this.quality = new QualityCounts(
      rule.intervals.map(({ stated }) => stated),
      isNamed,
    );
    this.#settingsOf = settingsOf;
  }

  get size(): number {
    return this.#scoresById.size;
  }

  /** Creates the scores of a series on first use. */
  of(seriesId: string): SeriesScores {
    let scores = this.#scoresById.get(seriesId);
    if (scores === undefined) {
      scores = new SeriesScores(seriesId, this.#rules, this.#changed);
      this.#scoresById.set(seriesId, scores);
      this.seriesByPhase[scores.life.phase]++;
    }
    return scores;
  }

  get(seriesId: string): SeriesScores | undefined {
    return this.#scoresById.get(seriesId);
  }

  ids(): IterableIterator<string> {
    return this.#scoresById.keys();
  }

  [Symbol.iterator](): IterableIterator<SeriesScores> {
    return this.#scoresById.values();
  }

  /** Drops the series. Returns its keys on the state topic. */
  forget(seriesId: string): readonly string[] {
    const scores = this.#scoresById.get(seriesId);
    if (scores === undefined) return [];
    this.#scoresById.delete(seriesId);
    this.#changed.delete(scores);
    this.seriesByPhase[scores.life.phase]--;
    this.quality.remove(scores);
    return scores.end();
  }

  /** The records that changed since the last call. */
  takeChanges(): ScoreRecord[] {
    const records: ScoreRecord[] = [];
    for (const scores of this.#changed) {
      scores.takeRecords(records);
      this.quality.update(scores);
    }
    this.#changed.clear();
    return records;
  }

  /**
   * Restores one series. Returns false when its stored scores do not fit the configured levels or horizon, or the grid
   * of the series: then only its life is restored.
   */
  restoreState(stored: StoredState, isSameGrid: boolean): boolean {
    const { record, life, sums, base, errorCap, calibration } = stored;
    const { seriesId, modelVersion, naiveErrors, horizon, newestSlot, scoredSlots, learntSteps } = record;
    const scores = this.of(seriesId);
    const settings = this.#settingsOf(seriesId);
    const hasPeriod = record.levels.length > 0;
    if (!hasPeriod || !isSameGrid || horizon !== settings.horizon || !this.#hasLevels(record.levels)) {
      scores.resume(life, null);
      return !hasPeriod;
    }
    const period = new ScoringPeriod(
      {
        version: modelVersion,
        channels: naiveErrors.length,
        horizon,
        naiveErrors,
        base,
        errorCap,
      },
      periodRules(this.#rules, settings),
      this.#rules.scratch,
    );
    period.rolling.load({ sums, newestSlot, scoredSlots });
    // Another length when calibration was off, or worked otherwise, when the state was stored: then it restarts.
    if (period.calibrator?.canLoad(calibration.length)) period.calibrator.load(calibration, learntSteps);
    scores.resume(life, period);
    return true;
  }

  /**
   * Restores the pending forecasts of one series, after its state, and scores what was observed since that was stored.
   * Returns the number of forecasts that fit no period; they are deleted.
   */
  restorePending(seriesId: string, stored: readonly StoredPending[], past: ObservedPast | null): number {
    const scores = this.of(seriesId);
    const { period } = scores;
    const fits: { readonly row: number; readonly forecast: PendingRow }[] = [];
    for (const { row, record } of stored) {
      const forecast = period === null ? null : toPendingRow(record, period);
      if (forecast === null) scores.deleteRow(row);
      else fits.push({ row, forecast });
    }
    fits.sort((a, b) => a.forecast.originSlot - b.forecast.originSlot);
    for (const { row, forecast } of fits) {
      if (past !== null) scores.catchUp(past, forecast.originSlot);
      scores.resumePending(forecast, row);
    }
    if (past !== null) scores.catchUp(past, past.newestSlot);
    this.quality.update(scores);
    return stored.length - fits.length;
  }

  #hasLevels(levels: readonly number[]): boolean {
    const configured = this.#rules.scratch.rule.levels;
    return levels.length === configured.length && levels.every((level, l) => level === configured[l]);
  }
}

/** Numbers of series and pending forecasts. */
export interface ScoreCounts {
  readonly series: number;
  readonly forecasts: number;
}

interface RestoredScores {
  /** All that the topic holds. */
  readonly stored: ScoreCounts;
  /** Dropped because they do not fit the configured levels or horizon. Those of a restarted series are not counted. */
  readonly dropped: ScoreCounts;
}

/** A record of a pending forecast, and the row in its key. */
interface StoredPending {
  readonly row: number;
  readonly record: KeptForecastRecord;
}

/** Null when the numbers of the record are not those of the period. */
function toPendingRow(record: KeptForecastRecord, { frame, rolling }: ScoringPeriod): PendingRow | null {
  const { originSlot, modelVersion, scales, codes, quantiles, cells } = record;
  const { channels, horizon } = frame;
  const { below: median, levels: given } = rolling.rule;
  const levels = given.length;
  const numbers = channels * horizon * levels;
  const otherVersion = modelVersion === "" || modelVersion === frame.version ? null : modelVersion;
  const shape = { horizon, channels, levels, median };
  if (cells.length > 0)
    return cells.length === rowBytes(shape) ? { originSlot, otherVersion, bytes: cells } : null;
  if (quantiles.length === 4 * numbers)
    return { originSlot, otherVersion, bytes: encodeAlone(copyOf(Float32Array, quantiles), shape) };
  if (codes.length !== 2 * numbers || scales.length !== 16 * channels) return null;
  const stated = fromCodes(copyOf(Uint16Array, codes), copyOf(Float64Array, scales), shape);
  return { originSlot, otherVersion, bytes: encodeAlone(stated, shape) };
}

/** What an earlier version stored as 16-bit codes, [step][channel][level], as [level][channel][step]. */
function fromCodes(codes: Uint16Array, scales: Float64Array, { horizon, channels, levels }: RowShape) {
  const stated = new Float64Array(codes.length);
  for (let h = 0, i = 0; h < horizon; h++) {
    for (let c = 0; c < channels; c++) {
      for (let l = 0; l < levels; l++, i++)
        stated[(l * channels + c) * horizon + h] = scales[2 * c] + scales[2 * c + 1] * codes[i];
    }
  }
  return stated;
}

/** The bytes of what an earlier version stored, [level][channel][step]. */
function encodeAlone(quantiles: Float32Array | Float64Array, shape: RowShape): Uint8Array {
  const outputs = shape.channels * shape.horizon;
  const stated = Array.from({ length: shape.levels }, (_, l) => ({
    values: quantiles.subarray(l * outputs, (l + 1) * outputs),
  }));
  const row = new RowScratch(shape);
  row.encode(stated, new Float64Array(shape.channels));
  return row.bytes;
}

/** The bytes of a record lie where they lie; typed arrays need them aligned. */
function copyOf<T extends Float32Array | Float64Array | Uint16Array>(
  ArrayOf: { new (length: number): T; readonly BYTES_PER_ELEMENT: number },
  bytes: Buffer,
): T {
  const numbers = new ArrayOf(bytes.length / ArrayOf.BYTES_PER_ELEMENT);
  Buffer.from(numbers.buffer).set(bytes);
  return numbers;
}

interface RestoreScoresOptions {
  /** Describes the place of a key, for errors. */
  readonly where: (key: string) => string;
  /** True for a series whose grid changed, so that it lost its history. */
  readonly isRestarted: (seriesId: string) => boolean;
  /** Null for a series without a past. */
  readonly pastOf: (seriesId: string) => ObservedPast | null;
}

/** Records read between two turns of the event loop: other lanes and the group's heartbeat must not wait for them. */
const RECORDS_PER_TURN = 500;
/** Keys looked at, likewise. */
const KEYS_PER_TURN = 20_000;

/** Takes all records out of `valueByKey`, and frees their bytes series by series. */
export async function restoreScores(
  scoreStore: ScoreStore,
  valueByKey: Map<string, Buffer>,
  { where, isRestarted, pastOf }: RestoreScoresOptions,
): Promise<RestoredScores> {
  const stored = { series: 0, forecasts: 0 };
  const dropped = { series: 0, forecasts: 0 };
  let read = 0;
  for (const [seriesId, keys] of await groupBySeries(valueByKey.keys(), where)) {
    const isGridNew = isRestarted(seriesId);
    // The state first: a pending forecast belongs to the period in the state of its series.
    if (keys.state !== null) {
      const state = readState(valueByKey.get(keys.state) as Buffer, where(keys.state));
      checkSeries(state.record, seriesId, where(keys.state));
      const isFit = scoreStore.restoreState(state, !isGridNew);
      stored.series++;
      if (!isFit && !isGridNew) dropped.series++;
      valueByKey.delete(keys.state);
    }
    const forecasts = keys.pending.map(({ key, row }) => {
      const record = readPending(valueByKey.get(key) as Buffer, where(key));
      valueByKey.delete(key);
      return { row, record };
    });
    stored.forecasts += forecasts.length;
    const unfit = scoreStore.restorePending(seriesId, forecasts, pastOf(seriesId));
    if (!isGridNew) dropped.forecasts += unfit;
    const before = read;
    read += 1 + forecasts.length;
    if (Math.floor(read / RECORDS_PER_TURN) > Math.floor(before / RECORDS_PER_TURN)) await setImmediate();
  }
  return { stored, dropped };
}

interface KeysOfSeries {
  state: string | null;
  readonly pending: { readonly key: string; readonly row: number }[];
}

async function groupBySeries(
  keys: Iterable<string>,
  where: (key: string) => string,
): Promise<Map<string, KeysOfSeries>> {
  const bySeries = new Map<string, KeysOfSeries>();
  let looked = 0;
  for (const key of keys) {
    if (++looked % KEYS_PER_TURN === 0) await setImmediate();
    const parsed = readStateKey(key);
    if (parsed === null) throw corrupt(where(key), "the key is neither of live scores nor of a forecast");
    let group = bySeries.get(parsed.seriesId);
    if (group === undefined) {
      group = { state: null, pending: [] };
      bySeries.set(parsed.seriesId, group);
    }
    if (parsed.kind === "live") group.state = key;
    else group.pending.push({ key, row: parsed.row });
  }
  return bySeries;
}

function checkSeries(record: { readonly seriesId: string }, seriesId: string, place: string): void {
  if (record.seriesId !== seriesId) throw corrupt(place, `the record is of series ${record.seriesId}`);
}

function corrupt(place: string, why: string): ForecastnetError {
  return new ForecastnetError("STATE_CORRUPT", `${place}: ${why}`);
}
