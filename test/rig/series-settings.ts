// The settings of a series in tests: hourly, every step forecast, short gaps filled, never forgotten.

import type { SeriesSettings } from "../../src/domain.ts";

type Shape = Pick<SeriesSettings, "horizon" | "season" | "history">;

export function seriesSettings(settings: Shape & Partial<SeriesSettings>): SeriesSettings {
  return {
    interval: "PT1H",
    every: 1,
    gapPolicy: "linear",
    gapMax: 3,
    offsetMs: 0,
    cohort: "",
    family: "forecastnet",
    form: "auto",
    driftRatio: 1.5,
    driftBound: 0,
    forgetAfter: "never",
    ...settings,
  };
}
