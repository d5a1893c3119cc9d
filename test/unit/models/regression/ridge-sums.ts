// Ridge regression on rows one by one, which any regression on windows must agree with: rows are added once, and the sums give the fit for any penalty.
//
// Legend: p inputs, m outputs, n rows; x̄, ȳ means over the rows.
//   G = Σ(x − x̄)(x − x̄)ᵀ/n,  C = Σ(x − x̄)(y − ȳ)ᵀ/n,  B = (G + λ·s·I)⁻¹C with s = trace(G)/p

import { solveRidge } from "../../../../src/models/regression/cholesky.ts";

/** Rows added at a time: each sum is then read and written once for four products. */
const block = 4;

export class RidgeSums {
  readonly inputs: number;
  readonly outputs: number;
  #rows = 0;
  /** Σxxᵀ, the lower triangle, row-major. */
  readonly #xx: Float64Array;
  /** Σyxᵀ, [output][input]. */
  readonly #xy: Float64Array;
  readonly #x: Float64Array;
  readonly #y: Float64Array;

  constructor(inputs: number, outputs: number) {
    this.inputs = inputs;
    this.outputs = outputs;
    this.#xx = new Float64Array(inputs * inputs);
    this.#xy = new Float64Array(inputs * outputs);
    this.#x = new Float64Array(inputs);
    this.#y = new Float64Array(outputs);
  }

  get rows(): number {
    return this.#rows;
  }

  /** Adds rows `from` … `to` − 1 of row-major inputs and outputs. */
  add(x: Float32Array, y: Float32Array, from: number, to: number): void {
    let row = from;
    for (; row + block <= to; row += block) this.#addFour(x, y, row);
    for (; row < to; row++) this.#addOne(x, y, row);
    this.#rows += to - from;
  }

  #addFour(x: Float32Array, y: Float32Array, row: number): void {
    const { inputs: p, outputs: m } = this;
    const [a, b, c, d] = [row * p, (row + 1) * p, (row + 2) * p, (row + 3) * p];
    for (let i = 0; i < p; i++) {
      const [xa, xb, xc, xd] = [x[a + i], x[b + i], x[c + i], x[d + i]];
      this.#x[i] += xa + xb + xc + xd;
      for (let j = 0, at = i * p; j <= i; j++)
        this.#xx[at + j] += xa * x[a + j] + xb * x[b + j] + xc * x[c + j] + xd * x[d + j];
    }
    for (let o = 0; o < m; o++) {
      const at = row * m + o;
      const [ya, yb, yc, yd] = [y[at], y[at + m], y[at + 2 * m], y[at + 3 * m]];
      this.#y[o] += ya + yb + yc + yd;
      for (let i = 0, sum = o * p; i < p; i++)
        this.#xy[sum + i] += ya * x[a + i] + yb * x[b + i] + yc * x[c + i] + yd * x[d + i];
    }
  }

  #addOne(x: Float32Array, y: Float32Array, row: number): void {
    const { inputs: p, outputs: m } = this;
    for (let i = 0; i < p; i++) {
      const xi = x[row * p + i];
      this.#x[i] += xi;
      for (let j = 0, at = i * p; j <= i; j++) this.#xx[at + j] += xi * x[row * p + j];
    }
    for (let o = 0; o < m; o++) {
      const yo = y[row * m + o];
      this.#y[o] += yo;
      for (let i = 0, sum = o * p; i < p; i++) this.#xy[sum + i] += yo * x[row * p + i];
    }
  }

  /** The constant that goes with a map: ȳ − x̄·B. */
  constantOf(map: Float64Array): Float64Array {
    const { inputs, outputs } = this;
    const constant = this.#y.map((sum) => sum / this.#rows);
    for (let i = 0; i < inputs; i++) {
      const mean = this.#x[i] / this.#rows;
      for (let o = 0; o < outputs; o++) constant[o] -= mean * map[i * outputs + o];
    }
    return constant;
  }

  /** B for a penalty λ, [input][output]. */
  solve(penalty: number): Float64Array {
    const { inputs: p, outputs: m } = this;
    const n = this.#rows;
    const gram = new Float64Array(p * p);
    const cross = new Float64Array(m * p);
    let trace = 0;
    for (let i = 0; i < p; i++) {
      const mean = this.#x[i] / n;
      for (let j = 0; j <= i; j++) gram[i * p + j] = this.#xx[i * p + j] / n - mean * (this.#x[j] / n);
      for (let o = 0; o < m; o++) cross[o * p + i] = this.#xy[o * p + i] / n - mean * (this.#y[o] / n);
      trace += gram[i * p + i];
    }
    // A flat series has trace 0; any penalty above zero then gives B = 0.
    solveRidge(gram, p, penalty * Math.max(trace / p, 1e-12), cross, m);
    const b = new Float64Array(p * m);
    for (let o = 0; o < m; o++) for (let i = 0; i < p; i++) b[i * m + o] = cross[o * p + i];
    return b;
  }
}
