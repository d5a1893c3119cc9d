// When one forecaster counts as better than another: by MASE and CRPS together, and in neither much worse.

import type { Judgement, Scores } from "./judge.ts";

/** The geometric mean of both ratios: below 1 when `one` is better. */
export function togetherRatio(one: Scores, other: Scores): number {
  const [mase, crps] = ratios(one, other);
  // Infinite against zero: better in one way, and worse beyond measure in the other.
  return mase === Number.POSITIVE_INFINITY || crps === Number.POSITIVE_INFINITY
    ? Number.POSITIVE_INFINITY
    : Math.sqrt(mase * crps);
}

export function isBetter(one: Scores, other: Scores, margin: number): boolean {
  const together = togetherRatio(one, other);
  return together < 1 && together <= 1 - margin && ratios(one, other).every((ratio) => ratio <= 1 + margin);
}

/** Whoever cannot forecast is beaten by anyone who can. */
export function beats(one: Judgement, other: Judgement, margin: number): boolean {
  return one.fitness === "fit" && (other.fitness === "unfit" || isBetter(one, other, margin));
}

/** "2 %" */
export function percent(share: number): string {
  return `${Number((100 * share).toFixed(1))} %`;
}

function ratios(one: Scores, other: Scores): readonly [number, number] {
  return [ratio(one.mase, other.mase), ratio(one.crps, other.crps)];
}

/** Two that make no error are equal. */
function ratio(one: number, other: number): number {
  return one === other ? 1 : one / other;
}
