// How good the forecasts of a partition's series are, counted for the metrics: a histogram of each score, the worst series, and
// the series that the configuration names. Kept up to date as scores change: a series remembers the values by which it was
// last counted, and only the difference is applied. So a scrape costs the same for a thousand series and a hundred thousand.

import { MaxTree } from "./max-tree.ts";
import type { Distribution, FleetQuality, NamedScore } from "./metric-groups.ts";
import { metricTable } from "./metric-table.ts";

/** A series whose scores are counted. */
export interface CountedSeries {
  readonly seriesId: string;
  /** Where its counted values are stored; −1 while it is not counted. Set by `QualityCounts`. */
  countedPlace: number;
  /** Writes MASE, CRPS over the naive error, and the coverage of each interval. False while there are too few scores. */
  writeQuality(target: Float64Array): boolean;
}

const maseAt = 0;
const coverageAt = 2;

export class QualityCounts implements FleetQuality {
  readonly mase = new Counts(metricTable.seriesMase.buckets);
  readonly scaledCrps = new Counts(metricTable.seriesCrps.buckets);
  readonly coverage: readonly { readonly stated: number; readonly counts: Counts }[];
  readonly #isNamed: (seriesId: string) => boolean;
  /** One per score, in the order of `writeQuality`. */
  readonly #counts: readonly Counts[];
  readonly #scratch: Float64Array;
  readonly #worst = new MaxTree();
  readonly #named = new Set<CountedSeries>();
  /** By place; null where it is free. */
  readonly #seriesAt: (CountedSeries | null)[] = [];
  readonly #freePlaces: number[] = [];
  /** [place][score], and the number of its bucket. */
  #values = new Float64Array(0);
  #buckets = new Uint8Array(0);

  /** `stated`: the probability of each central interval. `isNamed`: true for series that are shown by name. */
  constructor(stated: readonly number[], isNamed: (seriesId: string) => boolean = () => false) {
    this.coverage = stated.map((one) => ({
      stated: one,
      counts: new Counts(metricTable.seriesCoverage.buckets),
    }));
    this.#counts = [this.mase, this.scaledCrps, ...this.coverage.map(({ counts }) => counts)];
    this.#scratch = new Float64Array(coverageAt + stated.length);
    this.#isNamed = isNamed;
  }

  /** Counts the series by its present scores. */
  update(series: CountedSeries): void {
    const values = this.#scratch;
    if (!series.writeQuality(values)) {
      this.remove(series);
      return;
    }
    if (series.countedPlace < 0) this.#include(series);
    const place = series.countedPlace;
    const from = place * values.length;
    for (let i = 0; i < values.length; i++) {
      const value = values[i];
      this.#buckets[from + i] = this.#counts[i].move(this.#buckets[from + i], this.#values[from + i], value);
      this.#values[from + i] = value;
    }
    this.#worst.set(place, values[maseAt]);
  }

  /** Does nothing for a series that is not counted. */
  remove(series: CountedSeries): void {
    const place = series.countedPlace;
    if (place < 0) return;
    const from = place * this.#counts.length;
    for (const [i, counts] of this.#counts.entries())
      counts.remove(this.#buckets[from + i], this.#values[from + i]);
    this.#worst.remove(place);
    this.#named.delete(series);
    this.#seriesAt[place] = null;
    this.#freePlaces.push(place);
    series.countedPlace = -1;
  }

  worst(most: number): readonly NamedScore[] {
    return this.#worst.largest(most).map((place) => this.#scoreAt(place));
  }

  named(most: number): readonly NamedScore[] {
    const scores: NamedScore[] = [];
    for (const { countedPlace } of this.#named) {
      if (scores.length >= most) break;
      scores.push(this.#scoreAt(countedPlace));
    }
    return scores;
  }

  #scoreAt(place: number): NamedScore {
    const seriesId = this.#seriesAt[place]?.seriesId ?? "";
    return { seriesId, mase: this.#values[place * this.#counts.length + maseAt] };
  }

  #include(series: CountedSeries): void {
    const place = this.#freePlaces.pop() ?? this.#seriesAt.length;
    const from = place * this.#counts.length;
    this.#seriesAt[place] = series;
    series.countedPlace = place;
    if (from >= this.#values.length) this.#grow();
    for (const [i, counts] of this.#counts.entries()) {
      this.#values[from + i] = this.#scratch[i];
      this.#buckets[from + i] = counts.add(this.#scratch[i]);
    }
    if (this.#isNamed(series.seriesId)) this.#named.add(series);
  }

  #grow(): void {
    const length = Math.max(16 * this.#counts.length, 2 * this.#values.length);
    const values = new Float64Array(length);
    const buckets = new Uint8Array(length);
    values.set(this.#values);
    buckets.set(this.#buckets);
    this.#values = values;
    this.#buckets = buckets;
  }
}

/** Numbers by bucket, and their sum. */
class Counts implements Distribution {
  readonly bounds: readonly number[];
  /** One per bound, and one for what lies above the last. */
  readonly counts: Uint32Array;
  #sum = 0;
  /** What rounding has taken from the sum (Neumaier): a million changes must not leave an error behind. */
  #lost = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Uint32Array(bounds.length + 1);
  }

  get sum(): number {
    return this.#sum + this.#lost;
  }

  /** Returns the bucket. */
  add(value: number): number {
    const bucket = this.#bucketOf(value, 0);
    this.counts[bucket]++;
    this.#addToSum(value);
    return bucket;
  }

  remove(bucket: number, value: number): void {
    this.counts[bucket]--;
    this.#addToSum(-value);
  }

  /** Returns the new bucket. */
  move(bucket: number, was: number, is: number): number {
    if (was === is) return bucket;
    const next = this.#bucketOf(is, bucket);
    if (next !== bucket) {
      this.counts[bucket]--;
      this.counts[next]++;
    }
    this.#addToSum(-was);
    this.#addToSum(is);
    return next;
  }

  /** A rolling score rarely moves far: the search starts where it was. */
  #bucketOf(value: number, start: number): number {
    const { bounds } = this;
    let bucket = start;
    while (bucket > 0 && value <= bounds[bucket - 1]) bucket--;
    while (bucket < bounds.length && value > bounds[bucket]) bucket++;
    return bucket;
  }

  #addToSum(value: number): void {
    const sum = this.#sum + value;
    this.#lost += Math.abs(this.#sum) >= Math.abs(value) ? this.#sum - sum + value : value - sum + this.#sum;
    this.#sum = sum;
  }
}
