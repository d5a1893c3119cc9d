// Of the many forecasts of a series, those that a report shows: the best, one of middling quality, and the worst.

export interface ShownForecast {
  readonly originMs: number;
  readonly timesMs: readonly number[];
  readonly levels: readonly number[];
  readonly quantiles: readonly (readonly number[])[];
  /** In naive errors. */
  readonly crps: number;
}

/** Candidates for the one of middling quality. Every n-th forecast is one, with n doubled whenever there are as many. */
const mostCandidates = 32;

export class ShownForecasts {
  #best: ShownForecast | null = null;
  #worst: ShownForecast | null = null;
  #candidates: ShownForecast[] = [];
  #every = 1;
  #seen = 0;

  add(forecast: ShownForecast): void {
    if (this.#best === null || forecast.crps < this.#best.crps) this.#best = forecast;
    if (this.#worst === null || forecast.crps > this.#worst.crps) this.#worst = forecast;
    if (this.#seen++ % this.#every !== 0) return;
    this.#candidates.push(forecast);
    if (this.#candidates.length < mostCandidates) return;
    this.#candidates = this.#candidates.filter((_, i) => i % 2 === 0);
    this.#every *= 2;
  }

  /** Best, middle, worst; fewer where there were fewer. */
  chosen(): readonly ShownForecast[] {
    const sorted = this.#candidates.toSorted((one, other) => one.crps - other.crps);
    const middle = sorted[Math.floor(sorted.length / 2)];
    const all = [this.#best, middle, this.#worst].filter((one) => one !== null && one !== undefined);
    return [...new Map(all.map((one) => [one.originMs, one])).values()];
  }
}
