// What calibrated intervals have to reach: coverage of 80 % and 95 % within 2 points on average over the series and
// within 4 on each.

import type { Tally } from "./tally.ts";

export const meanBar = 2;
export const eachBar = 4;

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
