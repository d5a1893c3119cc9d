// Sums of products over all windows of a history. Every linear regression on windows of one length follows from them, in any
// frame and with any penalty.
//
// Legend: C channels; p = L·C inputs of a window and m = τ·C outputs, the steps after it; a row is z = [window, outputs], p + m
// consecutive numbers of a history; n rows. Neighbouring rows share all but one step, so with i' = i + C, j' = j + C
//   Σ z_i'·z_j' = Σ z_i·z_j − (z_i·z_j of the first row) + (z_i'·z_j' of the last row)
// and the sums take O(n·p·C + p²) operations instead of O(n·p²).

import type { AffineMap, MapShape } from "./affine-map.ts";
import { dot, solveRidge } from "./cholesky.ts";

/** What a window is taken relative to before it enters the regression, and its outputs with it. */
export type Level = "none" | "last" | "mean";

export class WindowSums {
  readonly shape: MapShape;
  readonly inputs: number;
  readonly outputs: number;
  #rows = 0;
  /** Σ z_i·z_j for inputs i and all j ≥ i: [i][j]. */
  readonly #products: Float64Array;
  /** Σ z_j */
  readonly #totals: Float64Array;

  constructor(shape: MapShape) {
    this.shape = shape;
    this.inputs = shape.length * shape.channels;
    this.outputs = shape.horizon * shape.channels;
    this.#products = new Float64Array(this.inputs * (this.inputs + this.outputs));
    this.#totals = new Float64Array(this.inputs + this.outputs);
  }

  get rows(): number {
    return this.#rows;
  }

  /** Adds all rows between steps `from` and `to` of a history. Rows with a missing value are left out. */
  add(values: Float64Array, from: number, to: number): void {
    const { channels, length, horizon } = this.shape;
    let start = from;
    for (let step = from; step <= to; step++) {
      if (step < to && isKnown(values, step, channels)) continue;
      if (step - start >= length + horizon) this.#addRun(values, start, step - start - length - horizon + 1);
      start = step + 1;
    }
  }

  /** `count` rows, the first of which begins at step `start`. */
  #addRun(values: Float64Array, start: number, count: number): void {
    const { inputs, outputs } = this;
    const { channels: C } = this.shape;
    const width = inputs + outputs;
    const first = start * C;
    const last = first + (count - 1) * C;
    const isFirst = this.#rows === 0;
    const run = isFirst ? this.#products : new Float64Array(inputs * width);
    for (let i = 0; i < C; i++) {
      for (let j = i; j < width; j++) {
        let sum = 0;
        for (let r = 0, at = first; r < count; r++, at += C) sum += values[at + i] * values[at + j];
        run[i * width + j] = sum;
      }
    }
    for (let i = C; i < inputs; i++) {
      const left = values[first + i - C];
      const entered = values[last + i];
      for (let j = i; j < width; j++) {
        run[i * width + j] =
          run[(i - C) * width + j - C] - left * values[first + j - C] + entered * values[last + j];
      }
    }
    for (let i = 0; i < run.length && !isFirst; i++) this.#products[i] += run[i];
    for (let j = 0; j < width; j++) {
      let sum = 0;
      for (let r = 0, at = first + j; r < count; r++, at += C) sum += values[at];
      this.#totals[j] += sum;
    }
    this.#rows += count;
  }

  /** Σ z_i·z_j, where one of the two is an input. */
  product(i: number, j: number): number {
    const width = this.inputs + this.outputs;
    return i <= j ? this.#products[i * width + j] : this.#products[j * width + i];
  }

  /** Σ z_i·z_j by j, which must not be below i. */
  productsFrom(i: number): Float64Array {
    const width = this.inputs + this.outputs;
    return this.#products.subarray(i * width, (i + 1) * width);
  }

  total(j: number): number {
    return this.#totals[j];
  }
}

/**
 * The regression of the outputs on the inputs, both relative to the level of the window.
 *
 * Legend: a_c the level of channel c; x, y the inputs and outputs less the level of their channel. With a constant,
 *   G = Σ(x − x̄)(x − x̄)ᵀ/n,  K = Σ(y − ȳ)(x − x̄)ᵀ/n,  W = K·(G + λ·s·I)⁻¹ with s = trace(G)/p,  constant = ȳ − W·x̄
 * and without one x̄ = ȳ = 0.
 */
export class Regression {
  readonly #sums: WindowSums;
  readonly #level: Level;
  /** G, the lower triangle. */
  readonly #gram: Float64Array;
  /** K, [output][input]. */
  readonly #cross: Float64Array;
  /** Of inputs and outputs. */
  readonly #means: Float64Array;
  #scale = 0;

  constructor(sums: WindowSums, level: Level, hasConstant: boolean) {
    const { inputs: p, outputs: m } = sums;
    this.#sums = sums;
    this.#level = level;
    this.#gram = new Float64Array(p * p);
    this.#cross = new Float64Array(m * p);
    this.#means = new Float64Array(p + m);
    this.#fill(hasConstant);
  }

  #fill(hasConstant: boolean): void {
    const { inputs: p, outputs: m, rows: n, shape } = this.#sums;
    const { channels: C } = shape;
    const { withAll, between, totals } = levelSums(this.#sums, this.#level);
    const width = p + m;
    const means = this.#means;
    for (let j = 0; j < width && hasConstant; j++) means[j] = (this.#sums.total(j) - totals[j % C]) / n;
    for (let i = 0; i < p; i++) {
      const c = i % C;
      const row = this.#sums.productsFrom(i);
      for (let j = i, d = c; j < width; j++, d = d + 1 === C ? 0 : d + 1) {
        const levels = withAll[c * width + j] + withAll[d * width + i] - between[c * C + d];
        const moment = (row[j] - levels) / n - means[i] * means[j];
        if (j < p) this.#gram[j * p + i] = moment;
        else this.#cross[(j - p) * p + i] = moment;
      }
      this.#scale += this.#gram[i * p + i] / p;
    }
  }

  /** The map of whole windows, with the level put back in. */
  solve(penalty: number): AffineMap {
    const { inputs: p, outputs: m } = this.#sums;
    const weights = this.#cross.slice();
    solveRidge(this.#gram, p, this.#ridge(penalty), weights, m);
    const constant = new Float64Array(m);
    for (let o = 0; o < m; o++) {
      constant[o] = this.#means[p + o] - dot(weights, o * p, this.#means, 0, p);
      this.#addLevel(weights, o);
    }
    return { weights, constant };
  }

  /**
   * As `solve`, but each step sees only the newest season of the window and, in older seasons, its own phase and the two beside
   * it. For a single channel.
   */
  solvePhases(penalty: number, season: number): AffineMap {
    const { inputs: p, outputs: m } = this.#sums;
    const weights = new Float64Array(m * p);
    const constant = new Float64Array(m);
    const most = season + 3 * Math.ceil(p / season);
    const gram = new Float64Array(most * most);
    for (let o = 0; o < m; o++) {
      const seen = phaseInputs(o, p, season);
      const q = seen.length;
      const solution = new Float64Array(q);
      for (let i = 0; i < q; i++) {
        for (let j = 0; j <= i; j++) gram[i * q + j] = this.#gram[seen[i] * p + seen[j]];
        solution[i] = this.#cross[o * p + seen[i]];
      }
      solveRidge(gram, q, this.#ridge(penalty), solution, 1);
      for (let i = 0; i < q; i++) weights[o * p + seen[i]] = solution[i];
      constant[o] = this.#means[p + o] - dot(weights, o * p, this.#means, 0, p);
      this.#addLevel(weights, o);
    }
    return { weights, constant };
  }

  /** A flat series has the scale 0; any penalty above zero then gives weights of 0. */
  #ridge(penalty: number): number {
    return penalty * Math.max(this.#scale, 1e-12);
  }

  /** a_d + Σ w·(x − a_c) as weights of x alone. */
  #addLevel(weights: Float64Array, output: number): void {
    if (this.#level === "none") return;
    const { inputs: p, shape } = this.#sums;
    const { channels: C, length: L } = shape;
    const row = output * p;
    for (let c = 0; c < C; c++) {
      let missing = output % C === c ? 1 : 0;
      for (let i = c; i < p; i += C) missing -= weights[row + i];
      if (this.#level === "last") weights[row + p - C + c] += missing;
      else for (let i = c; i < p; i += C) weights[row + i] += missing / L;
    }
  }
}

/** Inputs for step `ahead`, ascending. */
function phaseInputs(ahead: number, length: number, season: number): number[] {
  const newest = length - season;
  const seen: number[] = [];
  for (let t = (length + ahead) % season; t <= newest; t += season)
    for (let near = Math.max(0, t - 1); near <= t + 1 && near < newest; near++) seen.push(near);
  for (let t = newest; t < length; t++) seen.push(t);
  return seen;
}

interface LevelSums {
  /** Σ a_c·z_j, [channel][j]. */
  readonly withAll: Float64Array;
  /** Σ a_c·a_d, [channel][channel]. */
  readonly between: Float64Array;
  /** Σ a_c, [channel]. */
  readonly totals: Float64Array;
}

function levelSums(sums: WindowSums, level: Level): LevelSums {
  const { inputs: p, outputs: m } = sums;
  const { channels: C, length: L } = sums.shape;
  const width = p + m;
  const withAll = new Float64Array(C * width);
  const between = new Float64Array(C * C);
  const totals = new Float64Array(C);
  const stepsSeen =
    level === "none" ? [] : level === "last" ? [L - 1] : Array.from({ length: L }, (_, t) => t);
  const share = 1 / stepsSeen.length;
  for (let c = 0; c < C; c++) {
    for (const t of stepsSeen) {
      totals[c] += share * sums.total(t * C + c);
      for (let j = 0; j < width; j++) withAll[c * width + j] += share * sums.product(t * C + c, j);
    }
    for (let d = 0; d < C; d++) {
      for (const t of stepsSeen) between[c * C + d] += share * withAll[c * width + t * C + d];
    }
  }
  return { withAll, between, totals };
}

function isKnown(values: Float64Array, step: number, channels: number): boolean {
  for (let c = 0; c < channels; c++) if (!Number.isFinite(values[step * channels + c])) return false;
  return true;
}
