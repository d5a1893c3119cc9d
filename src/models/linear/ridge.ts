// Ridge regression from sums: rows are added once, and the sums give the fit for any penalty.
//
// Legend: p inputs, m outputs, n rows; x̄, ȳ means over the rows.
//   G = Σ(x − x̄)(x − x̄)ᵀ/n,  C = Σ(x − x̄)(y − ȳ)ᵀ/n,  B = (G + λ·s·I)⁻¹C with s = trace(G)/p

export class RidgeSums {
  readonly inputs: number;
  readonly outputs: number;
  #rows = 0;
  /** Σxxᵀ, the lower triangle, row-major. */
  readonly #xx: Float64Array;
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

  add(x: Float32Array, y: Float32Array): void {
    const { inputs, outputs } = this;
    this.#rows++;
    for (let i = 0; i < inputs; i++) {
      const xi = x[i];
      this.#x[i] += xi;
      for (let j = 0, at = i * inputs; j <= i; j++) this.#xx[at + j] += xi * x[j];
      for (let o = 0, at = i * outputs; o < outputs; o++) this.#xy[at + o] += xi * y[o];
    }
    for (let o = 0; o < outputs; o++) this.#y[o] += y[o];
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
    const g = new Float64Array(p * p);
    const b = new Float64Array(p * m);
    let trace = 0;
    for (let i = 0; i < p; i++) {
      for (let j = 0; j <= i; j++) {
        g[i * p + j] = this.#xx[i * p + j] / n - (this.#x[i] / n) * (this.#x[j] / n);
      }
      for (let o = 0; o < m; o++)
        b[i * m + o] = this.#xy[i * m + o] / n - (this.#x[i] / n) * (this.#y[o] / n);
      trace += g[i * p + i];
    }
    // A flat series has trace 0; any penalty above zero then gives B = 0.
    const ridge = penalty * Math.max(trace / p, 1e-12);
    for (let i = 0; i < p; i++) g[i * p + i] += ridge;
    factorise(g, p);
    substitute(g, b, p, m);
    return b;
  }
}

/** Cholesky in place: the lower triangle becomes L with G = L·Lᵀ. */
function factorise(g: Float64Array, p: number): void {
  for (let i = 0; i < p; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = g[i * p + j];
      for (let k = 0; k < j; k++) sum -= g[i * p + k] * g[j * p + k];
      // Where inputs are copies of one another, rounding can leave a pivot at zero or below.
      g[i * p + j] = i === j ? Math.sqrt(Math.max(sum, 1e-12)) : sum / g[j * p + j];
    }
  }
}

/** Solves L·Lᵀ·B = C in place of C. */
function substitute(l: Float64Array, b: Float64Array, p: number, m: number): void {
  for (let i = 0; i < p; i++) {
    for (let k = 0; k < i; k++) subtractRow(b, m, i, k, l[i * p + k]);
    scaleRow(b, m, i, 1 / l[i * p + i]);
  }
  for (let i = p - 1; i >= 0; i--) {
    for (let k = i + 1; k < p; k++) subtractRow(b, m, i, k, l[k * p + i]);
    scaleRow(b, m, i, 1 / l[i * p + i]);
  }
}

function subtractRow(b: Float64Array, m: number, row: number, other: number, factor: number): void {
  for (let o = 0; o < m; o++) b[row * m + o] -= factor * b[other * m + o];
}

function scaleRow(b: Float64Array, m: number, row: number, factor: number): void {
  for (let o = 0; o < m; o++) b[row * m + o] *= factor;
}
