// The live scores of one series: the scoring period of the model version that serves, and the phase of the series
// between two models (its life). Receives every observed slot and every forecast in their order and nothing else, so
// its state does not depend on how the input was divided into batches.

import type {
  Forecast,
  LiveScores,
  Placement,
  Quantile,
  RawForecast,
  SeriesSettings,
  ServingFacts,
  Window,
} from "../domain.ts";
import { type Life, lineOf, newLife, type Phase } from "../models/life.ts";
import { errorCapOf, meanOf, naiveErrorOf } from "../models/scores.ts";
import type { CountedSeries } from "../runtime/fleet-quality.ts";
import type { PendingRow } from "./pending-forecasts.ts";
import {
  liveKey,
  pendingKey,
  type ScoreRecord,
  writeAdded,
  writePending,
  writeState,
} from "./score-records.ts";
import { ScoringPeriod, type Scratch, SLOTS_PER_STATE } from "./scoring-period.ts";

/** The same for all series of a score store. */
export interface ScoringRules {
  readonly scratch: Scratch;
  /** Numbers of the store's series. */
  readonly seriesByPhase: Record<Phase, number>;
  /** Age in slots at which a score weighs 1/e. */
  readonly rollingSteps: (settings: SeriesSettings) => number;
  readonly calibration: { readonly enabled: boolean; readonly publishRaw: boolean };
}

/** The stored past of a series. */
export interface ObservedPast {
  readonly newestSlot: number;
  /** Null where nothing was observed. */
  valuesAt(slot: number): readonly number[] | null;
}

export function periodRules({ rollingSteps, calibration }: ScoringRules, settings: SeriesSettings) {
  return {
    lateSlots: settings.gapMax,
    rollingSteps: rollingSteps(settings),
    isCalibrated: calibration.enabled,
  };
}

const METHOD = "adaptive-conformal";
const none: readonly never[] = [];

export class SeriesScores implements CountedSeries {
  readonly seriesId: string;
  countedPlace = -1;
  readonly #rules: ScoringRules;
  /** The store's set of series to write; every change adds this one. */
  readonly #changed: Set<SeriesScores>;
  #period: ScoringPeriod | null = null;
  #life: Life = newLife;
  /** Rows on the state topic that hold forecasts made before this period; deleted by the next `takeRecords`. */
  #staleRows: readonly number[] = none;
  /** True when the stored state cannot be brought up to date from what else is stored. */
  #isStateDue = false;
  /** The newest slot scored in the stored state. */
  #storedSlot = Number.NEGATIVE_INFINITY;
  /** The record of the newest pending forecast. */
  #newest: { readonly row: number; readonly value: Buffer } | null = null;

  constructor(seriesId: string, rules: ScoringRules, changed: Set<SeriesScores>) {
    this.seriesId = seriesId;
    this.#rules = rules;
    this.#changed = changed;
  }

  get life(): Life {
    return this.#life;
  }

  /** Stored with the next batch: the lifecycle sets it, the score stage writes it. */
  set life(life: Life) {
    this.#moveTo(life);
    this.#storeState();
  }

  /** Null before the first forecast. */
  get period(): ScoringPeriod | null {
    return this.#period;
  }

  /** The line of versions (`lineOf`) whose forecasts are scored; null before the first forecast. */
  get version(): string | null {
    return this.#period?.frame.version ?? null;
  }

  /** What errors are divided by; null before the first forecast. */
  get naiveErrors(): readonly number[] | null {
    return this.#period?.frame.naiveErrors ?? null;
  }

  /** Slots scored since the version began to serve. */
  get scoredSlots(): number {
    return this.#period?.rolling.scoredSlots ?? 0;
  }

  /** Scores of the current version; null until one of its forecasts has matured by a step. */
  scores(): LiveScores | null {
    return this.#period?.scores() ?? null;
  }

  /** The rolling MASE alone; null when `scores` is. */
  get mase(): number | null {
    return this.scoredSlots === 0 ? null : (this.#period?.rolling.mase ?? null);
  }

  /** The capped rolling MASE; null without scores, or when the model was validated on nothing. */
  get cappedMase(): number | null {
    if (this.#period === null || this.scoredSlots === 0) return null;
    const { frame, rolling } = this.#period;
    return frame.errorCap === Number.POSITIVE_INFINITY ? null : rolling.cappedMase;
  }

  /** For the metrics: MASE, CRPS over the naive error, coverages. False until as many slots as the horizon are scored. */
  writeQuality(target: Float64Array): boolean {
    const period = this.#period;
    if (period === null || this.scoredSlots < period.frame.horizon) return false;
    return period.rolling.writeMeans(target, meanOf(period.frame.naiveErrors));
  }

  /** Scores an observed slot in every pending forecast that covers it; returns their number. */
  score(placement: Placement): number {
    const period = this.#period;
    if (period === null) return 0;
    const { newestSlot } = period.rolling;
    const scored = period.score(placement);
    if (scored === 0) return 0;
    // Slots in their order can be scored again after a restart, others cannot.
    const isInOrder = placement.replaced === null && placement.slot > newestSlot;
    if (isInOrder) this.#storeStateBy(placement.slot);
    else this.#storeState();
    this.#changed.add(this);
    return scored;
  }

  /** Calibrates a forecast within the bounds of its series, adds its scores, and stores it until it can be scored. */
  publish(raw: RawForecast, serving: ServingFacts | null): Forecast {
    const { window, quantiles, modelVersion } = raw;
    const version = lineOf(currentVersion(raw, serving));
    let period = this.#period;
    if (period === null || period.frame.version !== version || period.frame.channels !== window.channels)
      period = this.#begin(version, window, serving);
    this.#changed.add(this);
    if (lineOf(modelVersion) !== version) {
      // The cold tier stood in for the model, which says nothing about the model's version.
      this.#addPending(period, window, quantiles, modelVersion);
      return { raw, quantiles, calibration: null, scores: null };
    }
    const scores = period.scores();
    const calibrated = period.calibrate(quantiles, window.settings.bounds);
    if (calibrated === null) {
      this.#addPending(period, window, quantiles, null);
      return { raw, quantiles, calibration: null, scores };
    }
    this.#addPending(period, window, calibrated, null);
    const calibration = {
      method: METHOD,
      scoredSteps: period.calibrator?.learntSteps ?? 0,
      rawQuantiles: this.#rules.calibration.publishRaw ? quantiles : none,
    };
    return { raw, quantiles: calibrated, calibration, scores };
  }

  /** Continues from stored facts. */
  resume(life: Life, period: ScoringPeriod | null): void {
    this.#moveTo(life);
    this.#period?.end();
    this.#period = period;
    this.#storedSlot = period?.rolling.newestSlot ?? Number.NEGATIVE_INFINITY;
  }

  /** Takes a forecast back from the row of the topic that holds it. Those of a series come in the order of their origins. */
  resumePending(forecast: PendingRow, row: number): void {
    const pending = this.#period?.pending;
    if (pending === undefined) throw new Error(`series "${this.seriesId}" has no period for a forecast`);
    pending.load(forecast);
    const place = pending.rowOf(forecast.originSlot);
    if (place === row) return;
    // Stored by a version, or under settings, that numbered rows otherwise: it moves with the next batch.
    this.deleteRow(row);
    pending.markChanged(place);
  }

  /**
   * Scores the slots up to `lastSlot` that were observed since the state was stored, in the forecasts resumed so far.
   * To be called before a forecast is resumed, up to its origin, as its place in memory may be that of a forecast that
   * was scored by then.
   */
  catchUp(past: ObservedPast, lastSlot: number): void {
    const period = this.#period;
    if (period === null) return;
    // Slots up to the newest forecast had their turn before it was resumed.
    const { newestOrigin } = period.pending;
    const from = Math.max(period.rolling.newestSlot, newestOrigin) + 1;
    const to = Math.min(lastSlot, past.newestSlot, newestOrigin + period.frame.horizon);
    for (let slot = from; slot <= to; slot++) {
      const values = past.valuesAt(slot);
      if (values !== null) period.score({ slot, values, replaced: null });
    }
  }

  /** Deletes a pending forecast from the state topic with the next `takeRecords`. */
  deleteRow(row: number): void {
    this.#staleRows = [...this.#staleRows, row];
    this.#changed.add(this);
  }

  /** Gives its memory to other series; returns all keys that it may have on the state topic. */
  end(): readonly string[] {
    const keys = this.keys();
    this.#period?.end();
    this.#period = null;
    return keys;
  }

  /** All keys that the series may have on the state topic. */
  keys(): readonly string[] {
    const rows = new Set([...this.#staleRows, ...(this.#period?.pending.filledRows() ?? none)]);
    return [liveKey(this.seriesId), ...[...rows].map((row) => pendingKey(this.seriesId, row))];
  }

  /** Appends the records that changed since the last call. */
  takeRecords(records: ScoreRecord[]): void {
    const { seriesId } = this;
    const period = this.#period;
    const newest = this.#newest;
    const changed = period?.pending.takeChanged() ?? none;
    for (const row of changed) {
      const value = newest?.row === row ? newest.value : period && writePending(period, row);
      // More forecasts were made than stay in memory: the state is stored with this batch, and needs only those.
      if (value !== null) records.push({ key: pendingKey(seriesId, row), value });
    }
    for (const row of this.#staleRows)
      if (!changed.includes(row)) records.push({ key: pendingKey(seriesId, row), value: null });
    if (this.#isStateDue) {
      records.push({ key: liveKey(seriesId), value: writeState(seriesId, period, this.#life) });
      this.#storedSlot = period?.rolling.newestSlot ?? Number.NEGATIVE_INFINITY;
    }
    this.#isStateDue = false;
    this.#staleRows = none;
    this.#newest = null;
  }

  /** Writes the record at once: at the end of the batch the forecast has left the processor's cache. */
  #addPending(
    period: ScoringPeriod,
    { originSlot }: Window,
    stated: readonly Quantile[],
    otherVersion: string | null,
  ): void {
    this.#storeStateBy(originSlot);
    const row = period.addPending(originSlot, stated, otherVersion);
    if (row >= 0) this.#newest = { row, value: writeAdded(period, originSlot, otherVersion) };
  }

  #begin(version: string, window: Window, given: ServingFacts | null): ScoringPeriod {
    const { settings, channels, values } = window;
    const serving = given !== null && lineOf(given.version) === version ? given : null;
    const validationMase = serving?.validationMase ?? null;
    for (const row of this.#period?.pending.filledRows() ?? none) this.deleteRow(row);
    this.#period?.end();
    this.#period = new ScoringPeriod(
      {
        version,
        channels,
        horizon: settings.horizon,
        naiveErrors: naiveErrorsOf(window, serving),
        base: Array.from({ length: channels }, (_, c) => values[values.length - channels + c]),
        errorCap: validationMase === null ? Number.POSITIVE_INFINITY : errorCapOf(validationMase),
      },
      periodRules(this.#rules, settings),
      this.#rules.scratch,
    );
    this.#storeState();
    return this.#period;
  }

  /** Stores the state before the forecasts of slots that it lacks make room for newer ones. */
  #storeStateBy(slot: number): void {
    const scoredSlot = this.#period?.rolling.newestSlot ?? Number.NEGATIVE_INFINITY;
    if (scoredSlot > this.#storedSlot && slot - this.#storedSlot >= SLOTS_PER_STATE) this.#storeState();
  }

  /** With the next `takeRecords`. */
  #storeState(): void {
    this.#isStateDue = true;
    this.#changed.add(this);
  }

  #moveTo(life: Life): void {
    const { seriesByPhase } = this.#rules;
    seriesByPhase[this.#life.phase]--;
    seriesByPhase[life.phase]++;
    this.#life = life;
  }
}

/** The version of the serving model, also when the cold tier stood in for it; without a model, the cold tier's. */
function currentVersion({ tier, modelVersion }: RawForecast, serving: ServingFacts | null): string {
  // A model forecast keeps its own version: another model may have been promoted since it was requested.
  return tier === "cold" && serving !== null ? serving.version : modelVersion;
}

/** Those of the model's training history; without a model, those of the window. Never zero. */
function naiveErrorsOf({ values, channels }: Window, serving: ServingFacts | null): number[] {
  const steps = values.length / channels;
  return Array.from({ length: channels }, (_, c) => {
    const given = serving?.naiveErrors[c] ?? 0;
    if (given > 0 && Number.isFinite(given)) return given;
    const channel = Float64Array.from({ length: steps }, (_, t) => values[t * channels + c]);
    return naiveErrorOf(channel, 0, steps) ?? 1;
  });
}
