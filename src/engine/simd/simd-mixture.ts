// Mean, standard deviation and quantiles of Gaussian mixtures: a faster version of models/forecastnet/mixture.ts that
// computes quantiles in the kernel. Moments are in double precision. The kernel gets each mixture in units of its
// standard deviation around its mean, so that single precision suffices at any level of the series.

import {
  type MixtureSummary,
  type Mixtures,
  type Summarise,
  summariseMoments,
} from "../../models/forecastnet/mixture.ts";
import { normalQuantile } from "../../models/normal.ts";
import { Heap, instantiateKernel, type Kernel } from "./kernel.ts";
import { NUMBER } from "./program.ts";

/** The least width of a component, as a share of the mixture's standard deviation. */
const NARROWEST = 1e-6;
/** Numbers per level in the kernel's table: tail, normal score, sign, quantile. */
const ENTRY = 4;
const QUANTILE = 3;

export function createSimdSummarise(module: WebAssembly.Module): Summarise {
  const solver = new MixtureSolver(instantiateKernel(module));
  return (mixtures, levels, into) => solver.summarise(mixtures, levels, into);
}

class MixtureSolver {
  readonly #kernel: Kernel;
  readonly #heap: Heap;
  /** Means, inverses and weights have room for `#room` components each, the table for `#tableRoom` levels. */
  #room = 0;
  #means = 0;
  #inverses = 0;
  #weights = 0;
  #tableRoom = 0;
  #table = 0;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
    this.#heap = new Heap(kernel.memory);
  }

  summarise(mixtures: Mixtures, levels: readonly number[], into: MixtureSummary): void {
    const scores = levels.map(normalQuantile);
    this.#makeRoom(Math.ceil(mixtures.components / 8) * 8, levels.length);
    const { floats } = this.#heap;
    this.#writeWeights(mixtures);
    const table = floats.subarray(this.#table / NUMBER, this.#table / NUMBER + ENTRY * levels.length);
    for (const [l, level] of levels.entries()) {
      table.set([Math.min(level, 1 - level), scores[l], level > 0.5 ? -1 : 1, scores[l]], ENTRY * l);
    }
    for (let row = 0; row < mixtures.rows; row++) {
      const isSame = summariseMoments(mixtures, row, into);
      const centre = into.mean[row];
      const spread = into.standardDeviation[row];
      // Equal components are one Gaussian, as at the first step, before any sample was fed back. Infinite or NaN
      // components have no quantiles to solve for.
      const isPlain = isSame || !(spread > 0 && spread < Number.POSITIVE_INFINITY);
      if (isPlain) for (let l = 0; l < levels.length; l++) table[ENTRY * l + QUANTILE] = scores[l];
      else this.#solve(mixtures, row, into, levels.length);
      let before = Number.NEGATIVE_INFINITY;
      for (let l = 0; l < levels.length; l++) {
        // The next row starts from these quantiles: successive steps of a forecast are similar.
        const q = isPlain ? scores[l] : table[ENTRY * l + QUANTILE];
        before = Math.max(before, centre + q * spread);
        into.quantiles[l][row] = before;
      }
    }
  }

  /** Padding has weight 0. */
  #writeWeights({ weight, components }: Mixtures): void {
    const { floats } = this.#heap;
    const at = this.#weights / NUMBER;
    for (let i = 0; i < components; i++) floats[at + i] = weight[i];
    for (let i = components; i % 8 !== 0; i++) floats[at + i] = 0;
  }

  #solve({ mean, deviation, components }: Mixtures, row: number, into: MixtureSummary, levels: number): void {
    const { floats } = this.#heap;
    const centre = into.mean[row];
    const unit = 1 / into.standardDeviation[row];
    const means = this.#means / NUMBER;
    const inverses = this.#inverses / NUMBER;
    const at = row * components;
    let narrowest = Number.POSITIVE_INFINITY;
    for (let i = 0; i < components; i++) {
      const width = Math.max(deviation[at + i] * unit, NARROWEST);
      if (width < narrowest) narrowest = width;
      floats[means + i] = (mean[at + i] - centre) * unit;
      floats[inverses + i] = 1 / width;
    }
    for (let i = components; i % 8 !== 0; i++) {
      floats[means + i] = 0;
      floats[inverses + i] = 0;
    }
    this.#kernel.mixtureQuantiles(
      this.#means,
      this.#inverses,
      this.#weights,
      components,
      narrowest,
      this.#table,
      levels,
    );
  }

  #makeRoom(components: number, levels: number): void {
    if (components > this.#room) {
      if (this.#room > 0) {
        this.#heap.release(this.#means);
        this.#heap.release(this.#inverses);
        this.#heap.release(this.#weights);
      }
      this.#means = this.#heap.reserve(components * NUMBER);
      this.#inverses = this.#heap.reserve(components * NUMBER);
      this.#weights = this.#heap.reserve(components * NUMBER);
      this.#room = components;
    }
    if (levels > this.#tableRoom) {
      if (this.#tableRoom > 0) this.#heap.release(this.#table);
      this.#table = this.#heap.reserve(levels * ENTRY * NUMBER);
      this.#tableRoom = levels;
    }
  }
}
