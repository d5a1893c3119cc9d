// What calibrated intervals have to reach: coverage of 80 % and 95 % within 2 points on average over the series and
// within 4 on each; and where nothing shifts, a CRPS of at most 1.02 times the raw one on average.

import type { Tally } from "./tally.ts";

export const meanBar = 2;
export const eachBar = 4;
/** CRPS calibrated ÷ raw, geometric mean over the series. */
export const crpsBar = 1.02;

export interface NamedTally {
  readonly name: string;
  readonly tally: Tally;
}

/** The bars that are missed, in words; empty when all are met. */
export function missedBars(tallies: readonly NamedTally[]): string[] {
  const excesses = [
    { interval: "80 %", of: ({ tally }: NamedTally) => tally.coverage80 - 80 },
    { interval: "95 %", of: ({ tally }: NamedTally) => tally.coverage95 - 95 },
  ];
  return excesses.flatMap(({ interval, of }) => {
    const mean = tallies.reduce((sum, one) => sum + of(one), 0) / tallies.length;
    const missed = tallies
      .filter((one) => Math.abs(of(one)) > eachBar)
      .map((one) => ({ ...one, by: of(one) }));
    return [
      ...(Math.abs(mean) > meanBar ? [`${interval} on average by ${mean.toFixed(2)}`] : []),
      ...missed.map(({ name, by }) => `${interval} on ${name} by ${by.toFixed(2)}`),
    ];
  });
}

/** Geometric mean of the CRPS of calibrated forecasts relative to that of the raw ones. */
export function crpsRatio(pairs: readonly { readonly raw: Tally; readonly calibrated: Tally }[]): number {
  const logs = pairs.map(({ raw, calibrated }) => Math.log(calibrated.crps / raw.crps));
  return Math.exp(logs.reduce((sum, log) => sum + log, 0) / logs.length);
}
