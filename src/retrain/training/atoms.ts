// A forecast as a few equally likely values ("atoms"), the quantiles at the middles of equal slices: easy to pool, to
// weight and to score.
//
// Legend: X, X′ drawn from the forecast, y what came.
//   CRPS = E|X − y| − ½E|X − X′|, and for a mixture with weights w of forecasts i:
//   CRPS(w) = Σ w_i·a_i − ½ Σ w_i·w_j·B_ij with a_i = E|X_i − y|, B_ij = E|X_i − X_j|

/** Atoms per forecast and step. */
export const atomCount = 24;

export const atomLevels: readonly number[] = Array.from(
  { length: atomCount },
  (_, i) => (i + 0.5) / atomCount,
);

/** Forecasts of one candidate at the origins where all are compared, and what came. */
export interface JudgedForecasts {
  /** [point][atom], a point being one step and target after one origin. */
  readonly atoms: Float64Array;
  /** [point] */
  readonly actual: Float64Array;
}

/** The mean pinball loss at the atoms' levels, twice: CRPS. */
export function crpsOf({ atoms, actual }: JudgedForecasts): number {
  let sum = 0;
  for (let p = 0; p < actual.length; p++) {
    for (let k = 0; k < atomCount; k++) {
      const error = actual[p] - atoms[p * atomCount + k];
      sum += Math.max(atomLevels[k] * error, (atomLevels[k] - 1) * error);
    }
  }
  return (2 * sum) / (actual.length * atomCount);
}

/** a: the mean distance of a forecast to what came. */
export function distanceToActual({ atoms, actual }: JudgedForecasts): number {
  let sum = 0;
  for (let p = 0; p < actual.length; p++) {
    for (let k = 0; k < atomCount; k++) sum += Math.abs(atoms[p * atomCount + k] - actual[p]);
  }
  return sum / atoms.length;
}

/** B: the mean distance between two forecasts. Every second atom is enough, and a quarter of the work. */
export function distanceBetween(one: JudgedForecasts, other: JudgedForecasts): number {
  let sum = 0;
  const used = atomCount / 2;
  for (let at = 0; at < one.atoms.length; at += atomCount) {
    for (let k = 0; k < atomCount; k += 2) {
      // The even atoms of one and the odd atoms of the other lean neither way.
      const x = one.atoms[at + k];
      for (let j = 1; j < atomCount; j += 2) sum += Math.abs(x - other.atoms[at + j]);
    }
  }
  return sum / (one.actual.length * used * used);
}
