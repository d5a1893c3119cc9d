// Series, windows and forecasts for the tests of live scoring: small, and every number chosen by the test.

import type { Forecast, Placement, SeriesSettings, Window } from "../../../../src/domain.ts";
import type { ServingFacts } from "../../../../src/retrain/decision.ts";
import { LiveBook, type LiveBookParts } from "../../../../src/retrain/live/live-book.ts";

export const settings: SeriesSettings = {
  ...{ interval: "PT1H", offsetMs: 0, horizon: 3, season: 4, history: 100, every: 1 },
  ...{ gapPolicy: "linear", gapMax: 2, cohort: "", form: "auto", driftRatio: 1.5, driftBound: 0 },
};

export const levels = [0.1, 0.5, 0.9];

export function bookOf(changes: Partial<LiveBookParts> = {}): LiveBook {
  return new LiveBook({
    ...{ levels, settingsOf: () => settings, rollingSteps: () => 10 },
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
    ...{ seriesId: "s", settings, interval: "PT1H", originMs: originSlot, originSlot, placedBefore: 0 },
    ...{ stepTimesMs: [], channels: last.length, freshSteps: 2, filledShare: 0, skippedOrigins: 0 },
    values: Float64Array.from([...last.map((value) => value - 1), ...last]),
    seasonalErrors: null,
    ...changes,
  };
}

/** A forecast whose quantiles at each level are one number for all channels and steps, or given in full. */
export function forecastOf(
  window: Window,
  quantiles: readonly (number | readonly number[])[],
  modelVersion = "v1",
): Forecast {
  const { seriesId, originMs, channels } = window;
  const { horizon } = window.settings;
  const full = (given: number | readonly number[]) =>
    typeof given === "number" ? new Array<number>(channels * horizon).fill(given) : given;
  const given =
    quantiles.length === levels.length ? levels : quantiles.map((_, l) => (l + 1) / (quantiles.length + 1));
  return {
    ...{
      id: `${seriesId}@${originMs}/${modelVersion}`,
      seriesId,
      originMs,
      interval: "PT1H",
      horizon,
      channels,
    },
    ...{
      stepTimesMs: [],
      mean: [],
      standardDeviation: [],
      tier: modelVersion.startsWith("v") ? "model" : "cold",
      method: "forecastnet",
      modelKey: seriesId,
    },
    quantiles: quantiles.map((values, l) => ({ level: given[l], values: full(values) })),
    ...{ modelVersion, filledShare: 0, freshSteps: 2, skippedOrigins: 0, calibration: null, scores: null },
  };
}

export function placementAt(
  slot: number,
  values: readonly number[],
  replaced: readonly number[] | null = null,
): Placement {
  return { seriesId: "s", slot, timeMs: slot, values, replaced };
}

export function servingOf(version: string, naiveErrors: readonly number[] = [1]): ServingFacts {
  return { modelKey: "s", version, naiveErrors, validationMase: 1, trainedAtMs: 0, trainedToMs: 0 };
}
