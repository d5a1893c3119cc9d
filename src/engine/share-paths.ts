// How many of a forecast's sample paths each member of a model gets: its share, but one at least.

import type { ForecastNetModel } from "../models/forecastnet/model.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import { nameOf } from "./task-checks.ts";

/** The counts sum to `paths`; those who are owed most are rounded up, earlier members first. */
export function sharePaths(model: ForecastNetModel, paths: number): readonly number[] {
  const { members } = model;
  if (members.length === 1) return [paths];
  if (members.length > paths) {
    throw new ForecastnetError(
      "CONFIG_INVALID",
      `${nameOf(model)}: paths is ${paths}; expected are ${members.length} or more, one for each member`,
    );
  }
  const total = members.reduce((sum, { share }) => sum + share, 0);
  const owed = members.map(({ share }) => (paths * share) / total);
  const counts = owed.map((value) => Math.max(1, Math.floor(value)));
  let left = paths - counts.reduce((sum, count) => sum + count, 0);
  for (; left > 0; left--) counts[indexOfMost(counts, (count, m) => owed[m] - count)]++;
  // Members raised to their one path are paid for by those with most to spare.
  for (; left < 0; left++)
    counts[indexOfMost(counts, (count, m) => (count > 1 ? count - owed[m] : -paths))]--;
  return counts;
}

/** The first of those with the highest measure. */
function indexOfMost(counts: readonly number[], measure: (count: number, m: number) => number): number {
  const measures = counts.map(measure);
  return measures.indexOf(Math.max(...measures));
}
