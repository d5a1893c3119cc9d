// The tables of `bench:calibration`, one for each part of the replays, printed and written to docs/calibration.md.

import type { Section } from "../rig/report.ts";
import { crpsBar, crpsRatio, missedBars } from "./bars.ts";
import type { Replayed } from "./replay.ts";
import type { Tally } from "./tally.ts";

export type Tier = "cold" | "model";

export interface Outcome {
  readonly name: string;
  readonly tier: Tier;
  readonly shift: number;
  readonly raw: Replayed;
  readonly calibrated: Replayed;
}

type Part = "before" | "after";

const columns = [
  "series",
  "tier",
  "80 %: raw",
  "calibrated",
  "95 %: raw",
  "calibrated",
  "width of 80 %",
  "width of 95 %",
  "CRPS",
  "MAE",
];

/** Before the shift once, since it is the same whatever comes; then the second half without a shift and with each. */
export function calibrationSections(outcomes: readonly Outcome[]): Section[] {
  const shifts = [...new Set(outcomes.map(({ shift }) => shift))];
  const unshifted = outcomes.filter(({ shift }) => shift === 0);
  return [
    section("Before the shift", unshifted, "before"),
    ...shifts.map((shift) =>
      section(
        shift === 0
          ? "The second half without a shift"
          : `After a shift of ${shift > 0 ? "+" : "−"}${Math.abs(shift)} standard deviations`,
        outcomes.filter((outcome) => outcome.shift === shift),
        "after",
      ),
    ),
  ];
}

function section(title: string, outcomes: readonly Outcome[], part: Part): Section {
  const tiers: readonly Tier[] = ["cold", "model"];
  const rows = tiers.flatMap((tier) => {
    const own = outcomes.filter((outcome) => outcome.tier === tier);
    return [...own.map((outcome) => rowOf(outcome.name, [outcome], part)), rowOf("mean", own, part)];
  });
  const missed = tiers.flatMap((tier) => {
    const own = outcomes.filter((outcome) => outcome.tier === tier);
    return missedBars(own.map(({ name, calibrated }) => ({ name, tally: calibrated[part] }))).map(
      (words) => `${tier}: ${words}`,
    );
  });
  return {
    title,
    method: "Coverage in percent. Width, CRPS and MAE of the median: calibrated ÷ raw.",
    columns,
    rows,
    outcome: [
      missed.length === 0
        ? "All bars of coverage are met."
        : `Bars of coverage missed: ${missed.join("; ")}.`,
      ...(outcomes.some(({ shift }) => shift !== 0) ? [] : [crpsWords(outcomes, part)]),
    ].join(" "),
  };
}

/** Whether the bar of the CRPS is met, for each tier. It applies only where nothing shifts. */
function crpsWords(outcomes: readonly Outcome[], part: Part): string {
  const words = [...new Set(outcomes.map(({ tier }) => tier))].map((tier) => {
    const own = outcomes.filter((outcome) => outcome.tier === tier);
    const ratio = crpsRatio(
      own.map(({ raw, calibrated }) => ({ raw: raw[part], calibrated: calibrated[part] })),
    );
    return `${tier} ${ratio.toFixed(3)}, ${ratio <= crpsBar ? "met" : "missed"}`;
  });
  return `CRPS, calibrated ÷ raw, on average at most ${crpsBar}: ${words.join("; ")}.`;
}

/** Means of coverages, geometric means of ratios. */
function rowOf(name: string, outcomes: readonly Outcome[], part: Part): string[] {
  const mean = (of: (outcome: Outcome) => number) =>
    outcomes.reduce((sum, outcome) => sum + of(outcome), 0) / outcomes.length;
  const coverage = (which: "raw" | "calibrated", of: (tally: Tally) => number) =>
    mean((outcome) => of(outcome[which][part])).toFixed(1);
  const ratio = (of: (tally: Tally) => number) =>
    Math.exp(mean(({ raw, calibrated }) => Math.log(of(calibrated[part]) / of(raw[part])))).toFixed(2);
  return [
    name,
    outcomes[0].tier,
    coverage("raw", (tally) => tally.coverage80),
    coverage("calibrated", (tally) => tally.coverage80),
    coverage("raw", (tally) => tally.coverage95),
    coverage("calibrated", (tally) => tally.coverage95),
    ratio((tally) => tally.width80),
    ratio((tally) => tally.width95),
    ratio((tally) => tally.crps),
    ratio((tally) => tally.absoluteError),
  ];
}
