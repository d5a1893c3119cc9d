// What the figures are held against. A bar that is missed is printed as missed; nothing fails.

import { decimals, median, type Section, spread } from "../rig/report.ts";

export interface Bar {
  readonly what: string;
  /** One value a round. */
  readonly values: readonly number[];
  /** Either way round: "at least" or "at most". */
  readonly atLeast?: number;
  readonly atMost?: number;
}

export function isMet({ values, atLeast, atMost }: Bar): boolean {
  const value = median(values);
  return value >= (atLeast ?? Number.NEGATIVE_INFINITY) && value <= (atMost ?? Number.POSITIVE_INFINITY);
}

export function barsSection(bars: readonly Bar[]): Section {
  const missed = bars.filter((bar) => bar.values.length > 0 && !isMet(bar)).length;
  const open = bars.filter((bar) => bar.values.length === 0).length;
  return {
    title: "Bars",
    method: "The medians of this run against what was asked for; ratios are taken within each round.",
    columns: ["", "measured", "bar", ""],
    rows: bars.map((bar) => {
      const asked = bar.atLeast === undefined ? `at most ${bar.atMost} ×` : `at least ${bar.atLeast} ×`;
      if (bar.values.length === 0) return [bar.what, "not run", asked, ""];
      return [bar.what, spread(bar.values, decimals(2)), asked, isMet(bar) ? "met" : "MISSED"];
    }),
    outcome: `${bars.length - missed - open} met, ${missed} missed, ${open} not run.`,
  };
}
