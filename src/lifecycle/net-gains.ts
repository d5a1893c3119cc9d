// What nets have gained over linear models, for series of a kind. Nets cost ten times as much, so they are trained first
// where such series have gained most, and not at all where they gain too little. Kept in memory: a new worker learns it again.

/** Expected where nothing is known. More than the two percent of the sample series (docs/accuracy.md), so that nets are tried. */
const usualGain = 0.05;
/** The expectation weighs as much as this many trainings. */
const usualWeight = 3;

interface Gains {
  sum: number;
  count: number;
}

export class NetGains {
  readonly #gainsByKind = new Map<string, Gains>();

  /** `gain`: share by which MASE and CRPS, taken together, were lower than those of the linear model, on steps unseen by both. */
  note(kind: string, gain: number): void {
    const gains = this.#gainsByKind.get(kind) ?? { sum: 0, count: 0 };
    gains.sum += gain;
    gains.count++;
    this.#gainsByKind.set(kind, gains);
  }

  expected(kind: string): number {
    const { sum, count } = this.#gainsByKind.get(kind) ?? { sum: 0, count: 0 };
    return (sum + usualWeight * usualGain) / (count + usualWeight);
  }
}

/** Shares of seasonal-naive's error that a linear model may leave: series of a kind are alike in that, too. */
const bounds = [0.6, 0.8, 0.95];

/** Series are of a kind when they have the same shape and their linear models leave a like share of seasonal-naive's error. */
export function kindOf(
  { horizon, season }: { readonly horizon: number; readonly season: number },
  { mase, baselineMase }: { readonly mase: number; readonly baselineMase: number },
): string {
  const left = baselineMase > 0 ? mase / baselineMase : 1;
  return `${horizon}/${season}/${bounds.filter((bound) => left > bound).length}`;
}
