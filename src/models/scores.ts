// How good a forecast was. Errors are divided by the one-step naive error over the past before the forecast, a
// fixed number, so that scores of different series and of different days can be compared.

/** The mean |x_t − x_(t−1)| over values[from … to − 1], pairs with a missing value left out; null when it says nothing. */
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

export function meanOf(numbers: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < numbers.length; i++) sum += numbers[i];
  return sum / numbers.length;
}

/** The pinball loss of a quantile: asymmetric, least in expectation when the quantile is true. */
export function pinballOf(level: number, actual: number, quantile: number): number {
  const error = actual - quantile;
  return Math.max(level * error, (level - 1) * error);
}

/** Where a distribution is scored when nobody asks for other levels. */
export const scoreLevels: readonly number[] = Array.from({ length: 19 }, (_, i) => (i + 1) / 20);

/** Sums of scores over steps, and what they come to. */
export class ScoreSheet {
  readonly #levels: readonly number[];
  readonly #low: number;
  readonly #median: number;
  readonly #high: number;
  #absolute = 0;
  #pinball = 0;
  #inside80 = 0;
  #steps = 0;

  /** Levels ascending; .1, .5 and .9 must be among them. */
  constructor(levels: readonly number[]) {
    this.#levels = levels;
    this.#median = indexOf(levels, 0.5);
    this.#low = indexOf(levels, 0.1);
    this.#high = indexOf(levels, 0.9);
  }

  /** Scores one step: all quantiles as distribution, and the median as point unless another is given. */
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
