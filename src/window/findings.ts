// What is found out about a series whose season or lower bound is configured as "auto", and the settings that follow. The
// findings depend on the grid alone and change at well-defined moments: with an observation, or when a training asks for
// it. They are stored with the series, so that a restored series continues with the same ones.
//
// A fleet has a hundred thousand series and few different findings: equal findings and equal settings are one object.

import type { SeriesSettings } from "../domain.ts";
import type { Interval } from "../models/interval.ts";
import { bestToRepeat, calendarSeasons, confirmSeasons, PERIODS_TO_DECIDE } from "../models/season.ts";
import type { Grid } from "./grid.ts";

export interface Findings {
  /** Seasons that the past confirms, ascending. */
  readonly seasons: readonly number[];
  /** What seasonal naive had best repeat; 0 for the shortest season. */
  readonly naiveSeason: number;
  /** Seasons were decided when the past had as many steps; 0 before the first decision. */
  readonly decidedAt: number;
  /** The past touches zero, and never crosses it. */
  readonly isNonNegative: boolean;
}

export const noFindings: Findings = Object.freeze({
  seasons: [],
  naiveSeason: 0,
  decidedAt: 0,
  isNonNegative: false,
});

const sharedByContent = new Map<string, Findings>([[JSON.stringify(noFindings), noFindings]]);

/** The one object with this content. */
export function sharedFindings({ seasons, naiveSeason, decidedAt, isNonNegative }: Findings): Findings {
  const findings = { seasons, naiveSeason, decidedAt, isNonNegative };
  const content = JSON.stringify(findings);
  const known = sharedByContent.get(content);
  if (known !== undefined) return known;
  sharedByContent.set(content, Object.freeze(findings));
  return findings;
}

/** True when something was decided about the seasons that was not known before. */
export function isOtherSeason(now: Findings, before: Findings): boolean {
  const isFirst = before.decidedAt === 0;
  return (
    String(now.seasons) !== String(before.seasons) || (!isFirst && now.naiveSeason !== before.naiveSeason)
  );
}

/** A stored history that is derived grows at most to this, the history of the default horizon. */
const MOST_DERIVED_STEPS = 1440;
/** Models are not built on a season that the history has fewer periods of. */
const PERIODS_TO_TRAIN = 6;

const settingsByContent = new WeakMap<SeriesSettings, Map<string, SeriesSettings>>();

/** The settings of a series on its grid. */
export function settingsOnGrid(
  given: SeriesSettings,
  interval: Interval,
  findings: Findings,
): SeriesSettings {
  const { derived, horizon } = given;
  if (derived === undefined) return given;
  const candidates = calendarSeasons(interval);
  const wanted = candidates.map((steps) => PERIODS_TO_DECIDE * steps);
  const history = derived.history
    ? Math.max(given.history, ...wanted.filter((steps) => steps <= MOST_DERIVED_STEPS))
    : given.history;
  const hasPeriods = (periods: number) => (steps: number) => periods * steps <= history;
  const season = derived.season
    ? (findings.seasons.find(hasPeriods(PERIODS_TO_TRAIN)) ?? candidates.find(hasPeriods(2)) ?? horizon)
    : given.season;
  const best =
    derived.season && hasPeriods(2)(findings.naiveSeason) ? findings.naiveSeason || season : season;
  const isBounded = derived.min && findings.isNonNegative;
  return shared(given, `${history}/${season}/${best}/${isBounded}`, () => ({
    ...given,
    history,
    season,
    ...(best === season ? {} : { naiveSeason: best }),
    ...(isBounded ? { bounds: { min: 0, max: given.bounds?.max ?? Number.POSITIVE_INFINITY } } : {}),
  }));
}

/** The same settings, with seasonal naive on the shortest season: for a window that is too short for another one. */
export function withShortestSeason(settings: SeriesSettings): SeriesSettings {
  const { naiveSeason, ...rest } = settings;
  return naiveSeason === undefined ? settings : shared(settings, "", () => rest);
}

function shared(given: SeriesSettings, content: string, build: () => SeriesSettings): SeriesSettings {
  let byContent = settingsByContent.get(given);
  if (byContent === undefined) {
    byContent = new Map();
    settingsByContent.set(given, byContent);
  }
  let settings = byContent.get(content);
  if (settings === undefined) {
    settings = Object.freeze(build());
    byContent.set(content, settings);
  }
  return settings;
}

/** Seasons are decided when the past has three periods of a candidate, and again at six and at twelve. */
const DECIDING_PERIODS = [PERIODS_TO_DECIDE, 2 * PERIODS_TO_DECIDE, 4 * PERIODS_TO_DECIDE];

/** The last of these lengths that a past of so many steps has reached; 0 before the first. */
export function decidingLength(interval: Interval, steps: number): number {
  let reached = 0;
  for (const season of calendarSeasons(interval)) {
    for (const periods of DECIDING_PERIODS) {
      if (periods * season <= steps) reached = Math.max(reached, periods * season);
    }
  }
  return reached;
}

/** A longer past says little more, and takes longer. */
const MOST_PERIODS = 12;

export interface GridPast {
  readonly grid: Grid;
  readonly interval: Interval;
  /** Steps up to the newest without a gap that is too long to fill. */
  readonly freshSteps: number;
  readonly horizon: number;
}

/**
 * The seasons that the grid shows now. Seasonal naive may repeat the shortest candidate, any season that is confirmed, or
 * the last steps as far as the horizon if that is shorter: a series that wanders is nearer to its last hours than to
 * the day before.
 */
export function findSeasons(past: GridPast): Pick<Findings, "seasons" | "naiveSeason"> {
  const { grid, interval, freshSteps, horizon } = past;
  const { newestSlot, channels } = grid;
  const stored = newestSlot - grid.firstObservedSlot() + 1;
  const candidates = calendarSeasons(interval).filter((season) => PERIODS_TO_DECIDE * season <= stored);
  if (candidates.length === 0) return noFindings;
  const steps = Math.min(stored, MOST_PERIODS * candidates[candidates.length - 1]);
  const values = new Float64Array(steps * channels);
  grid.copy(newestSlot - steps + 1, steps, values);
  const seasons = confirmSeasons({ values, channels }, candidates);
  const [shortest] = candidates;
  const repeatable = new Set([shortest, Math.min(horizon, shortest), ...seasons]);
  const usable = [...repeatable].filter((season) => 2 * season <= freshSteps);
  return { seasons, naiveSeason: usable.length === 0 ? 0 : bestToRepeat({ values, channels }, usable) };
}

/** Fewer observations are no evidence of a bound. */
const LEAST_OBSERVED = 24;
/** A series that only passes by has hardly any value that is exactly zero; a bounded one rests there. */
const LEAST_AT_ZERO = 3;
const LEAST_SHARE_AT_ZERO = 0.02;

/** True when every channel rests at zero again and again, and is never below it. */
export function restsAtZero(grid: Grid): boolean {
  const first = grid.firstObservedSlot();
  for (let c = 0; c < grid.channels; c++) {
    let observed = 0;
    let atZero = 0;
    for (let slot = grid.newestSlot; slot >= first; slot--) {
      const value = grid.at(slot, c);
      if (value < 0) return false;
      if (Number.isNaN(value)) continue;
      observed++;
      if (value === 0) atZero++;
    }
    if (observed < LEAST_OBSERVED || atZero < Math.max(LEAST_AT_ZERO, LEAST_SHARE_AT_ZERO * observed))
      return false;
  }
  return true;
}
