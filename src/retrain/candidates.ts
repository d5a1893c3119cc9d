// The nets that are tried for a series: how much of the past they see, and in what frame. All have the paper's dense
// cells and Gaussian outputs, and beyond the paper a linear shortcut, which is what carries them past linear models.

import { type ForecastNetSpec, type Framing, specOf } from "../models/forecastnet/spec.ts";

/** What is to be forecast. */
export interface Task {
  readonly horizon: number;
  readonly season: number;
  readonly channels: number;
  readonly targets: readonly number[];
}

const framings: readonly Framing[] = [
  { level: "none", scale: "none", season: null },
  { level: "last", scale: "none", season: null },
  { level: "mean", scale: "deviation", season: null },
  { level: "last", scale: "deviation", season: null },
];

/** Seasons of the past that a net sees: one, the paper's two, and enough for a week of days. */
const seasonsSeen = [1, 2, 4, 8];

/** Those that `steps` of history are long enough to train and to judge. */
export function candidatesFor(
  { horizon, season, channels, targets }: Task,
  steps: number,
): ForecastNetSpec[] {
  // The first fold trains on 0.6 of the history; a longer window needs more rows to learn from.
  const rows = (seasons: number) => 0.6 * steps - seasons * season - horizon;
  const lengths = seasonsSeen
    .filter((seasons) => rows(seasons) >= (seasons === 1 ? 2 : 4) * season)
    .map((seasons) => seasons * season);
  return lengths.flatMap((inputLength) =>
    framings.map((framing) =>
      specOf("FN", horizon, { inputLength, channels, targets, loss: "crps", shortcut: "linear", framing }),
    ),
  );
}
