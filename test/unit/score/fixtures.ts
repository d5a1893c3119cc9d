// Score stores, windows and forecasts for the tests of live scoring: small, with every number chosen by the test.

import type { Placement, RawForecast, SeriesSettings, ServingFacts, Window } from "../../../src/domain.ts";
import { ScoreStore, type ScoreStoreParts } from "../../../src/score/score-store.ts";

export const settings: SeriesSettings = {
  interval: "PT1H",
  offsetMs: 0,
  horizon: 3,
  season: 4,
  history: 100,
  every: 1,
  gapPolicy: "linear",
  gapMax: 2,
  cohort: "",
  family: "forecastnet",
  form: "auto",
  driftRatio: 1.5,
  driftBound: 0,
  forgetAfter: "never",
};

export const levels = [0.1, 0.5, 0.9];

export function scoreStoreOf(changes: Partial<ScoreStoreParts> = {}): ScoreStore {
  return new ScoreStore({
    levels,
    settingsOf: () => settings,
    rollingSteps: () => 10,
    calibration: { enabled: false, publishRaw: false },
    ...changes,
  });
}

/** The window at a slot; its values end with `last`, one number per channel. */
export function windowAt(
  originSlot: number,
  last: readonly number[] = [0],
  changes: Partial<Window> = {},
): Window {
  return {
    seriesId: "s",
    settings,
    interval: "PT1H",
    originMs: originSlot,
    originSlot,
    originStep: originSlot,
    placedBefore: 0,
    stepTimesMs: [],
    channels: last.length,
    values: Float64Array.from([...last.map((value) => value - 1), ...last]),
    freshSteps: 2,
    filledShare: 0,
    skippedOrigins: 0,
    seasonalErrors: null,
    ...changes,
  };
}

/** A forecast whose quantiles at each level are one number for all channels and steps, or given in full. */
export function forecastOf(
  window: Window,
  quantiles: readonly (number | readonly number[])[],
  modelVersion = "v1",
): RawForecast {
  const { seriesId, originMs, channels } = window;
  const { horizon } = window.settings;
  const full = (given: number | readonly number[]) =>
    typeof given === "number" ? new Array<number>(channels * horizon).fill(given) : given;
  const given =
    quantiles.length === levels.length ? levels : quantiles.map((_, l) => (l + 1) / (quantiles.length + 1));
  return {
    id: `${seriesId}@${originMs}/${modelVersion}`,
    window,
    mean: [],
    standardDeviation: [],
    quantiles: quantiles.map((values, l) => ({ level: given[l], values: full(values) })),
    tier: modelVersion.startsWith("v") ? "model" : "cold",
    method: "forecastnet",
    modelKey: seriesId,
    modelVersion,
  };
}

/** A forecast at a slot of a series at zero, with one number per level. */
export function forecastAt(
  slot: number,
  quantiles: readonly (number | readonly number[])[],
  modelVersion = "v1",
): RawForecast {
  return forecastOf(windowAt(slot), quantiles, modelVersion);
}

export function placementAt(
  slot: number,
  values: readonly number[],
  replaced: readonly number[] | null = null,
): Placement {
  return { seriesId: "s", slot, timeMs: slot, values, replaced };
}

export function servingOf(version: string, naiveErrors: readonly number[] = [1]): ServingFacts {
  return {
    modelKey: "s",
    version,
    naiveErrors,
    validationMase: 1,
    trainedAtMs: 0,
    trainedToMs: 0,
  };
}
