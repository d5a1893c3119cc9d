// The live scores of all series of one partition, and which of them changed since they were last stored. First the
// store, then `restoreScores`, which fills it when a partition is taken over, after the window stage has taken its
// blocks. Reads and writes no topic: callers do.

import { setImmediate } from "node:timers/promises";
import type { SeriesSettings } from "../domain.ts";
import type { Phase } from "../models/life.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import { QualityCounts } from "../runtime/fleet-quality.ts";
import { createScoreRule } from "./rolling-scores.ts";
import {
  readPending,
  readState,
  readStateKey,
  type ScoreRecord,
  type StateKey,
  type StoredPending,
  type StoredState,
} from "./score-records.ts";
import { ScoringPeriod, Scratch } from "./scoring-period.ts";
import { type ScoringRules, SeriesScores } from "./series-scores.ts";

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
    return scores.keys();
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
        lateSlots: settings.gapMax,
        rollingSteps: this.#rules.rollingSteps(settings),
        naiveErrors,
        base,
        errorCap,
        isCalibrated: this.#rules.calibration.enabled,
      },
      this.#rules.scratch,
    );
    period.rolling.load({ sums, newestSlot, scoredSlots });
    // Another length when calibration was off, or worked otherwise, when the state was stored: then it restarts.
    if (period.calibrator?.canLoad(calibration.length)) period.calibrator.load(calibration, learntSteps);
    scores.resume(life, period);
    this.quality.update(scores);
    return true;
  }

  /** Restores one pending forecast, after all states. Returns false, and deletes it, when it fits no period. */
  restorePending({ record, quantiles }: StoredPending, row: number): boolean {
    const { seriesId, originSlot, modelVersion, channels, horizon, levels } = record;
    const scores = this.of(seriesId);
    const { period } = scores;
    const isFit =
      period !== null &&
      period.frame.channels === channels &&
      period.frame.horizon === horizon &&
      this.#hasLevels(levels) &&
      row < period.pending.mostRows;
    if (!isFit) {
      scores.deleteRow(row);
      return false;
    }
    period.pending.load(row, originSlot, modelVersion === period.frame.version ? null : modelVersion);
    const outputs = channels * horizon;
    const noBase = new Array<number>(channels).fill(0); // Stored quantiles are relative to the base already.
    const stated = levels.map((_, l) => ({ values: quantiles.subarray(l * outputs, (l + 1) * outputs) }));
    period.pending.write(row, stated, noBase);
    return true;
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

interface RestoreScoresOptions {
  /** Describes the place of a key, for errors. */
  readonly where: (key: string) => string;
  /** True for a series whose grid changed, so that it lost its history. */
  readonly isRestarted: (seriesId: string) => boolean;
}

/** Records read between two turns of the event loop: other lanes and the group's heartbeat must not wait for them. */
const RECORDS_PER_TURN = 500;

/** Takes all records out of `valueByKey`, and frees their bytes one by one. */
export async function restoreScores(
  scoreStore: ScoreStore,
  valueByKey: Map<string, Buffer>,
  { where, isRestarted }: RestoreScoresOptions,
): Promise<RestoredScores> {
  const stored = { series: 0, forecasts: 0 };
  const dropped = { series: 0, forecasts: 0 };
  let read = 0;
  // States first: a pending forecast belongs to the period in the state of its series.
  for (const kind of ["live", "pending"] as const) {
    const counted = kind === "live" ? "series" : "forecasts";
    for (const [key, value] of valueByKey) {
      const parsed = readStateKey(key);
      if (parsed === null) throw corrupt(where(key), "the key is neither of live scores nor of a forecast");
      if (parsed.kind !== kind) continue;
      valueByKey.delete(key);
      const isGridNew = isRestarted(parsed.seriesId);
      const isFit = restoreRecord(scoreStore, { ...parsed, place: where(key), isGridNew }, value);
      stored[counted]++;
      if (!isFit && !isGridNew) dropped[counted]++;
      if (++read % RECORDS_PER_TURN === 0) await setImmediate();
    }
  }
  return { stored, dropped };
}

function restoreRecord(
  scoreStore: ScoreStore,
  key: StateKey & { readonly place: string; readonly isGridNew: boolean },
  value: Buffer,
): boolean {
  const { place, isGridNew } = key;
  if (key.kind === "live") {
    const state = readState(value, place);
    checkSeries(state.record, key);
    return scoreStore.restoreState(state, !isGridNew);
  }
  const pending = readPending(value, place);
  checkSeries(pending.record, key);
  return scoreStore.restorePending(pending, key.row);
}

function checkSeries(
  record: { readonly seriesId: string },
  key: { readonly seriesId: string; readonly place: string },
): void {
  if (record.seriesId !== key.seriesId)
    throw corrupt(key.place, `the record is of series ${record.seriesId}`);
}

function corrupt(place: string, why: string): ForecastnetError {
  return new ForecastnetError("STATE_CORRUPT", `${place}: ${why}`);
}
