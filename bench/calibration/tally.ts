// Scores of stated quantiles over many steps, summed: coverage and width of the central intervals, CRPS, error of the
// median.

import { pinballOf } from "../../src/models/scores.ts";
import { levels } from "./raw-forecasts.ts";

const at = (level: number) => levels.indexOf(level);
const [low80, high80, low95, high95, median] = [0.1, 0.9, 0.025, 0.975, 0.5].map(at);

export class Tally {
  #steps = 0;
  #inside80 = 0;
  #inside95 = 0;
  #width80 = 0;
  #width95 = 0;
  #pinball = 0;
  #absolute = 0;

  /** `quantiles` at all levels, ascending. */
  add(actual: number, quantiles: Float32Array): void {
    this.#steps++;
    if (actual >= quantiles[low80] && actual <= quantiles[high80]) this.#inside80++;
    if (actual >= quantiles[low95] && actual <= quantiles[high95]) this.#inside95++;
    this.#width80 += quantiles[high80] - quantiles[low80];
    this.#width95 += quantiles[high95] - quantiles[low95];
    for (let l = 0; l < levels.length; l++) this.#pinball += pinballOf(levels[l], actual, quantiles[l]);
    this.#absolute += Math.abs(actual - quantiles[median]);
  }

  get steps(): number {
    return this.#steps;
  }

  /** Percent. */
  get coverage80(): number {
    return (100 * this.#inside80) / this.#steps;
  }

  /** Percent. */
  get coverage95(): number {
    return (100 * this.#inside95) / this.#steps;
  }

  get width80(): number {
    return this.#width80 / this.#steps;
  }

  get width95(): number {
    return this.#width95 / this.#steps;
  }

  get crps(): number {
    return (2 * this.#pinball) / this.#steps / levels.length;
  }

  get absoluteError(): number {
    return this.#absolute / this.#steps;
  }
}
