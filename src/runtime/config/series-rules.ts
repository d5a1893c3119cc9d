// The settings of each series. Every override whose pattern matches applies, in order, so a later one wins. Series with
// the same matches share one frozen object: memory grows with the overrides, not with the series.

import type { Bounds, DerivedSettings, SeriesSettings } from "../../domain.ts";
import { compileGlob } from "../glob.ts";
import type { AppConfig, GivenSeries } from "./schema.ts";

const defaultHistoryHorizons = 60;

/** Prefix of the series that `forecastnet probe` sends. They are forgotten soon, whatever is configured. */
export const probePrefix = "forecastnet-probe-";
const probeForgetAfter = "PT10M";

export function isProbe(seriesId: string): boolean {
  return seriesId.startsWith(probePrefix);
}

export function seriesRules(series: AppConfig["series"]): (seriesId: string) => SeriesSettings {
  const { overrides, ...defaults } = series;
  const patterns = overrides.map(({ match }) => compileGlob(match));
  const settingsByMatches = new Map<string, SeriesSettings>();

  const build = (seriesId: string): SeriesSettings => {
    const merged: { -readonly [K in keyof GivenSeries]: GivenSeries[K] } = { ...defaults };
    for (const [index, { match: _, ...changes }] of overrides.entries()) {
      if (patterns[index].test(seriesId)) Object.assign(merged, changes);
    }
    if (isProbe(seriesId)) merged.forgetAfter = probeForgetAfter;
    return Object.freeze(makeFit(resolveSettings(merged)));
  };

  return (seriesId) => {
    let matches = isProbe(seriesId) ? "probe," : "";
    for (let index = 0; index < patterns.length; index++) {
      if (patterns[index].test(seriesId)) matches += `${index},`;
    }
    let settings = settingsByMatches.get(matches);
    if (settings === undefined) {
      settings = build(seriesId);
      settingsByMatches.set(matches, settings);
    }
    return settings;
  };
}

/** Replaces each 0 and each word by the value it stands for until more is known about a series. */
export function resolveSettings({ season, min, max, ...given }: GivenSeries): SeriesSettings {
  const isSeasonDerived = season === "auto";
  const derived: DerivedSettings = {
    season: isSeasonDerived,
    history: isSeasonDerived && given.history === 0,
    min: min === "auto" && (max === "none" || max >= 0),
  };
  const bounds = boundsOf(min, max);
  return {
    ...given,
    season: isSeasonDerived ? given.horizon : season || given.horizon,
    history: given.history || defaultHistoryHorizons * given.horizon,
    ...(bounds === null ? {} : { bounds }),
    ...(Object.values(derived).includes(true) ? { derived } : {}),
  };
}

/** Null for none, and for bounds that contradict each other. */
function boundsOf(min: GivenSeries["min"], max: GivenSeries["max"]): Bounds | null {
  if (typeof min === "string" && typeof max === "string") return null;
  const bounds = {
    min: typeof min === "string" ? Number.NEGATIVE_INFINITY : min,
    max: typeof max === "string" ? Number.POSITIVE_INFINITY : max,
  };
  return bounds.min <= bounds.max ? bounds : null;
}

/** Two windows of 2τ each and two seasons: less leaves no errors of a baseline to measure. */
export function minimumHistory(horizon: number, season: number): number {
  return Math.max(4 * horizon, 2 * season);
}

/**
 * The check at start tries each override alone. Several overrides that match one series may still contradict each other.
 * The history then grows as needed, and bounds that leave no value are dropped, because a series id must not be able to stop a worker.
 */
function makeFit(settings: SeriesSettings): SeriesSettings {
  const history = Math.max(settings.history, minimumHistory(settings.horizon, settings.season));
  return { ...settings, history, gapMax: Math.min(settings.gapMax, history - 1) };
}
