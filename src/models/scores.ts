// Scores of forecasts. Errors are divided by the one-step naive error of the past, a fixed number, so that scores of
// different series and days can be compared.

/** Mean |x_t − x_(t−1)| over values[from … to − 1], without pairs that have a NaN; null when it is zero or undefined. */
export function naiveErrorOf(values: Float64Array, from: number, to: number): number | null {
  let sum = 0;
  let count = 0;
  for (let t = from + 1; t < to; t++) {
    const difference = Math.abs(values[t] - values[t - 1]);
    if (Number.isNaN(difference)) continue;
    sum += difference;
    count++;
  }
  return sum > 0 ? sum / count : null;
}

/** A smaller MASE counts as this one: a flat series validates without error, and every error exceeds a multiple of 0. */
export const leastMase = 0.02;
const errorCapRatio = 5;

/** Most that the mean error of one slot adds to the capped MASE, in naive errors. */
export function errorCapOf(validationMase: number): number {
  return errorCapRatio * Math.max(validationMase, leastMase);
}

export function meanOf(numbers: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < numbers.length; i++) sum += numbers[i];
  return sum / numbers.length;
}

/** Pinball loss: its expectation is least for the true quantile. */
export function pinballOf(level: number, actual: number, quantile: number): number {
  const error = actual - quantile;
  return Math.max(level * error, (level - 1) * error);
}

/** The usual levels for scoring a distribution. */
export const scoreLevels: readonly number[] = Array.from({ length: 19 }, (_, i) => (i + 1) / 20);

/** The index of the level nearest to the wanted one. */
export function nearestLevel(levels: readonly number[], wanted: number): number {
  return levels.reduce(
    (best, level, l) => (Math.abs(level - wanted) < Math.abs(levels[best] - wanted) ? l : best),
    0,
  );
}

/** Adds up scores over steps. */
export class ScoreSheet {
  readonly #levels: readonly number[];
  readonly #low: number;
  readonly #median: number;
  readonly #high: number;
  #absolute = 0;
  #pinball = 0;
  #inside80 = 0;
  #steps = 0;

  /** Levels ascend and include .1, .5 and .9. */
  constructor(levels: readonly number[]) {
    this.#levels = levels;
    this.#median = indexOf(levels, 0.5);
    this.#low = indexOf(levels, 0.1);
    this.#high = indexOf(levels, 0.9);
  }

  /** Scores one step. The point forecast is the median unless given. */
  add(actual: number, quantiles: ArrayLike<number>, point = quantiles[this.#median]): void {
    this.#absolute += Math.abs(actual - point);
    for (let l = 0; l < this.#levels.length; l++) {
      this.#pinball += pinballOf(this.#levels[l], actual, quantiles[l]) / this.#levels.length;
    }
    if (actual >= quantiles[this.#low] && actual <= quantiles[this.#high]) this.#inside80++;
    this.#steps++;
  }

  get steps(): number {
    return this.#steps;
  }

  /** Mean absolute error of the median, over the naive error. */
  mase(naiveError: number): number {
    return this.#absolute / this.#steps / naiveError;
  }

  /** Twice the mean pinball loss: the continuous ranked probability score by its quantiles, over the naive error. */
  crps(naiveError: number): number {
    return (2 * this.#pinball) / this.#steps / naiveError;
  }

  get coverage80(): number {
    return this.#inside80 / this.#steps;
  }
}

function indexOf(levels: readonly number[], level: number): number {
  const index = levels.findIndex((one) => Math.abs(one - level) < 1e-9);
  if (index < 0) throw new RangeError(`level ${level} is not among ${levels.join(", ")}`);
  return index;
}
