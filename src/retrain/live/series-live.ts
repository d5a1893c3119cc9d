// One series as the future judges it: the tenure of the version in force, and where the series stands between two
// models. It hears of every slot that is observed and of every forecast that is made, in their order, and of nothing
// else, so that its state does not depend on how the input was cut into batches.

import type {
  Calibration,
  Forecast,
  LiveScores,
  Placement,
  Quantile,
  SeriesSettings,
  Window,
} from "../../domain.ts";
import { meanOf, naiveErrorOf } from "../../models/scores.ts";
import type { SeriesQuality } from "../../runtime/metric-groups.ts";
import type { ServingFacts } from "../decision.ts";
import { errorCapOf } from "../drift.ts";
import { type LifeFacts, unborn } from "../life.ts";
import { writeKept } from "./kept-record.ts";
import type { Scratch } from "./scratch.ts";
import { Tenure } from "./tenure.ts";

/** What holds for all series of a book. */
export interface LiveRules {
  readonly scratch: Scratch;
  /** A score counts for 1/e when it is so many steps old. */
  readonly rollingSteps: (settings: SeriesSettings) => number;
  readonly calibration: { readonly enabled: boolean; readonly publishRaw: boolean };
}

/** A kept forecast that is written already. */
interface WrittenForecast {
  readonly place: number;
  readonly value: Buffer | null;
}

export interface LiveChanges {
  readonly isStateChanged: boolean;
  /** Whose forecasts are to be stored, or to be deleted. */
  readonly places: readonly number[];
  readonly newest: WrittenForecast | null;
}

const METHOD = "adaptive-conformal";
const none: readonly never[] = [];

export class SeriesLive {
  readonly seriesId: string;
  readonly #rules: LiveRules;
  /** Whoever stores the series looks here for what changed. */
  readonly #changed: Set<SeriesLive>;
  #tenure: Tenure | null = null;
  #life: LifeFacts = unborn;
  /** Places on the topic whose forecasts are no longer kept, of before the tenure. */
  #orphans: readonly number[] = none;
  #isStateChanged = false;
  #newest: WrittenForecast | null = null;

  constructor(seriesId: string, rules: LiveRules, changed: Set<SeriesLive>) {
    this.seriesId = seriesId;
    this.#rules = rules;
    this.#changed = changed;
  }

  get life(): LifeFacts {
    return this.#life;
  }

  set life(life: LifeFacts) {
    this.#life = life;
    this.#markState();
  }

  /** Null before the first forecast. */
  get tenure(): Tenure | null {
    return this.#tenure;
  }

  /** The version whose forecasts are scored; null before the first forecast. */
  get version(): string | null {
    return this.#tenure?.frame.version ?? null;
  }

  /** Slots scored since the version began to serve. */
  get scoredSlots(): number {
    return this.#tenure?.rolling.scoredSlots ?? 0;
  }

  /** Of the version in force; null until a forecast of it has matured by a step. */
  scores(): LiveScores | null {
    return this.#tenure?.scores() ?? null;
  }

  /** As metrics tell it; null until a horizon of slots has been scored. */
  quality(): SeriesQuality | null {
    const tenure = this.#tenure;
    if (tenure === null || this.scoredSlots < tenure.frame.horizon) return null;
    const scores = tenure.scores();
    if (scores === null) return null;
    const { seriesId } = this;
    const { mase, crps, coverage } = scores;
    return { seriesId, mase, scaledCrps: crps / meanOf(tenure.frame.naiveErrors), coverage };
  }

  /** The rolling MASE in which one shock counts for little; null while there is none, or nothing to bound it by. */
  get cappedMase(): number | null {
    if (this.#tenure === null || this.scoredSlots === 0) return null;
    const { frame, rolling } = this.#tenure;
    return frame.errorCap === Number.POSITIVE_INFINITY ? null : rolling.cappedMase;
  }

  /** A slot was observed: every kept forecast that foresaw it is scored. Returns how many were. */
  place(placement: Placement): number {
    const scored = this.#tenure?.score(placement) ?? 0;
    if (scored > 0) this.#markState();
    return scored;
  }

  /** A forecast was made: it is calibrated, told its series' scores, and kept. Returns it as it is to be published. */
  publish(window: Window, forecast: Forecast, serving: ServingFacts | null): Forecast {
    const version = versionInForce(forecast, serving);
    let tenure = this.#tenure;
    if (tenure === null || tenure.frame.version !== version || tenure.frame.channels !== window.channels)
      tenure = this.#begin(version, window, serving);
    this.#changed.add(this);
    if (forecast.modelVersion !== version) {
      // The cold tier stood in for the model: that says nothing of the version in force.
      this.#keep(tenure, window, forecast.quantiles, forecast.modelVersion);
      return forecast;
    }
    const scores = tenure.scores();
    const corrected = tenure.correct(forecast.quantiles);
    this.#keep(tenure, window, corrected ?? forecast.quantiles, null);
    if (corrected === null)
      return scores === null ? forecast : withLive(forecast, forecast.quantiles, null, scores);
    const calibration = {
      method: METHOD,
      scoredSteps: tenure.calibrator?.learntSteps ?? 0,
      rawQuantiles: this.#rules.calibration.publishRaw ? forecast.quantiles : none,
    };
    return withLive(forecast, corrected, calibration, scores);
  }

  /** Puts back what was stored, instead of what there is. */
  resume(life: LifeFacts, tenure: Tenure | null): void {
    this.#life = life;
    this.#tenure = tenure;
  }

  /** What lies at this place of the topic is no longer kept. */
  abandon(place: number): void {
    this.#orphans = [...this.#orphans, place];
    this.#changed.add(this);
  }

  /** What is to be stored. */
  takeChanges(): LiveChanges {
    const isStateChanged = this.#isStateChanged;
    const newest = this.#newest;
    const kept = this.#tenure?.kept.takeChanged() ?? none;
    const places = this.#orphans.length === 0 ? kept : [...new Set([...this.#orphans, ...kept])];
    this.#isStateChanged = false;
    this.#orphans = none;
    this.#newest = null;
    return { isStateChanged, places, newest };
  }

  /** Writes it at once: at the end of the batch a fleet's forecasts are in no cache any more. */
  #keep(tenure: Tenure, { originSlot }: Window, stated: readonly Quantile[], stranger: string | null): void {
    const place = tenure.keep(originSlot, stated, stranger);
    if (place >= 0) this.#newest = { place, value: writeKept(this.seriesId, tenure, place) };
  }

  #begin(version: string, window: Window, given: ServingFacts | null): Tenure {
    const { settings, channels, values } = window;
    const serving = given?.version === version ? given : null;
    const validationMase = serving?.validationMase ?? null;
    for (const row of this.#tenure?.kept.filledRows() ?? none) this.abandon(row);
    this.#tenure = new Tenure(
      {
        ...{ version, channels, horizon: settings.horizon, lateSlots: settings.gapMax },
        rollingSteps: this.#rules.rollingSteps(settings),
        naiveErrors: naiveErrorsOf(window, serving),
        base: Array.from(values.subarray(values.length - channels)),
        errorCap: validationMase === null ? Number.POSITIVE_INFINITY : errorCapOf(validationMase),
        isCalibrated: this.#rules.calibration.enabled,
      },
      this.#rules.scratch,
    );
    this.#markState();
    return this.#tenure;
  }

  #markState(): void {
    this.#isStateChanged = true;
    this.#changed.add(this);
  }
}

/** Of the model that serves, also where the cold tier stood in for it; without a model the cold tier's own. */
function versionInForce({ tier, modelVersion }: Forecast, serving: ServingFacts | null): string {
  // A model that has taken over since the forecast was asked for did not make it.
  return tier === "cold" && serving !== null ? serving.version : modelVersion;
}

/** The model's own, which are of its training history; without a model those of the window. Never zero. */
function naiveErrorsOf({ values, channels }: Window, serving: ServingFacts | null): number[] {
  const steps = values.length / channels;
  return Array.from({ length: channels }, (_, c) => {
    const given = serving?.naiveErrors[c] ?? 0;
    if (given > 0 && Number.isFinite(given)) return given;
    const channel = Float64Array.from({ length: steps }, (_, t) => values[t * channels + c]);
    return naiveErrorOf(channel, 0, steps) ?? 1;
  });
}

/** Field by field, for speed: this runs for every forecast of a fleet, and spreading an object is slow. */
function withLive(
  forecast: Forecast,
  quantiles: readonly Quantile[],
  calibration: Calibration | null,
  scores: LiveScores | null,
): Forecast {
  return {
    id: forecast.id,
    seriesId: forecast.seriesId,
    originMs: forecast.originMs,
    interval: forecast.interval,
    horizon: forecast.horizon,
    channels: forecast.channels,
    stepTimesMs: forecast.stepTimesMs,
    mean: forecast.mean,
    standardDeviation: forecast.standardDeviation,
    quantiles,
    tier: forecast.tier,
    method: forecast.method,
    modelKey: forecast.modelKey,
    modelVersion: forecast.modelVersion,
    filledShare: forecast.filledShare,
    freshSteps: forecast.freshSteps,
    skippedOrigins: forecast.skippedOrigins,
    calibration,
    scores,
  };
}
