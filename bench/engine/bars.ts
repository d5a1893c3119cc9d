// The bars that the figures are compared with. A missed bar is printed as missed; the bench does not fail.

import { decimals, median, type Section, spread } from "../rig/report.ts";

export interface Bar {
  readonly what: string;
  /** One value per round. */
  readonly values: readonly number[];
  /** One of the two is set. */
  readonly atLeast?: number;
  readonly atMost?: number;
}

function isMet({ values, atLeast, atMost }: Bar): boolean {
  const value = median(values);
  return value >= (atLeast ?? Number.NEGATIVE_INFINITY) && value <= (atMost ?? Number.POSITIVE_INFINITY);
}

export function barsSection(bars: readonly Bar[]): Section {
  const missed = bars.filter((bar) => bar.values.length > 0 && !isMet(bar)).length;
  const open = bars.filter((bar) => bar.values.length === 0).length;
  return {
    title: "Bars",
    method: "The medians of this run, compared with the bars. Ratios are computed within each round.",
    columns: ["", "measured", "bar", ""],
    rows: bars.map((bar) => {
      const limit = bar.atLeast === undefined ? `at most ${bar.atMost} ×` : `at least ${bar.atLeast} ×`;
      if (bar.values.length === 0) return [bar.what, "not run", limit, "–"];
      return [bar.what, spread(bar.values, decimals(2)), limit, isMet(bar) ? "met" : "MISSED"];
    }),
    outcome: `${bars.length - missed - open} met, ${missed} missed, ${open} not run.`,
  };
}
