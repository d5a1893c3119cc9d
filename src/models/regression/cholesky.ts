// Solves (G + ridge·I)·B = C by Cholesky factorisation. The loops compute two by four products at a time: independent sums keep
// the processor busy, where one long sum would wait for each addition.
//
// Legend: G [p][p], of which the lower triangle is read; C and B [output][p]; L the factor, G = L·Lᵀ.

/** Smallest square of a pivot: where inputs are copies of one another, rounding can leave a pivot at zero or below. */
const leastPivot = 1e-12;

/** L and Lᵀ: back substitution then reads along rows. Kept, because each is too large to be collected cheaply. */
let lower = new Float64Array(0);
let upper = new Float64Array(0);

/** Of G, the first p·p numbers count. Replaces C by B. */
export function solveRidge(
  gram: Float64Array,
  p: number,
  ridge: number,
  outputs: Float64Array,
  count: number,
): void {
  factorise(gram, p, ridge);
  let o = 0;
  for (; o + 4 <= count; o += 4) {
    forwardFour(lower, outputs, o * p, p);
    backwardFour(upper, outputs, o * p, p);
  }
  for (; o < count; o++) {
    const row = outputs.subarray(o * p, (o + 1) * p);
    for (let i = 0; i < p; i++) row[i] = (row[i] - dot(lower, i * p, row, 0, i)) / lower[i * p + i];
    for (let i = p - 1; i >= 0; i--) {
      const known = dot(upper, i * p + i + 1, row, i + 1, p - i - 1);
      row[i] = (row[i] - known) / upper[i * p + i];
    }
  }
}

function factorise(gram: Float64Array, p: number, ridge: number): void {
  if (lower.length < p * p) {
    lower = new Float64Array(p * p);
    upper = new Float64Array(p * p);
  }
  const l = lower;
  const u = upper;
  for (let i = 0; i < p; i++) {
    for (let j = 0; j < i; j++) l[i * p + j] = gram[i * p + j];
    l[i * p + i] = gram[i * p + i] + ridge;
  }
  for (let i = 0; i < p; i += 2) {
    if (i + 1 < p) reducePair(l, p, i);
    finishRow(l, p, i, i + 1 < p ? i - (i % 4) : 0);
    if (i + 1 < p) finishRow(l, p, i + 1, i - (i % 4));
  }
  for (let i = 0; i < p; i++) {
    for (let j = 0; j <= i; j++) u[j * p + i] = l[i * p + j];
  }
}

export function dot(a: Float64Array, aAt: number, b: Float64Array, bAt: number, count: number): number {
  let s0 = 0;
  let s1 = 0;
  let s2 = 0;
  let s3 = 0;
  let k = 0;
  for (; k + 4 <= count; k += 4) {
    s0 += a[aAt + k] * b[bAt + k];
    s1 += a[aAt + k + 1] * b[bAt + k + 1];
    s2 += a[aAt + k + 2] * b[bAt + k + 2];
    s3 += a[aAt + k + 3] * b[bAt + k + 3];
  }
  for (; k < count; k++) s0 += a[aAt + k] * b[bAt + k];
  return s0 + s1 + (s2 + s3);
}

/** Rows i and i + 1 of the factor, as far as whole blocks of four columns reach. */
function reducePair(l: Float64Array, p: number, i: number): void {
  const one = i * p;
  const two = one + p;
  for (let j = 0; j + 4 <= i; j += 4) {
    const a = j * p;
    const b = a + p;
    const c = b + p;
    const d = c + p;
    let s0 = 0;
    let s1 = 0;
    let s2 = 0;
    let s3 = 0;
    let t0 = 0;
    let t1 = 0;
    let t2 = 0;
    let t3 = 0;
    for (let k = 0; k < j; k++) {
      const x = l[one + k];
      const y = l[two + k];
      const la = l[a + k];
      const lb = l[b + k];
      const lc = l[c + k];
      const ld = l[d + k];
      s0 += x * la;
      s1 += x * lb;
      s2 += x * lc;
      s3 += x * ld;
      t0 += y * la;
      t1 += y * lb;
      t2 += y * lc;
      t3 += y * ld;
    }
    finishFour(l, p, one, j, s0, s1, s2, s3);
    finishFour(l, p, two, j, t0, t1, t2, t3);
  }
}

/** Columns j … j + 3 of the row at `row`, given their products with all columns before j. */
function finishFour(
  l: Float64Array,
  p: number,
  row: number,
  j: number,
  s0: number,
  s1: number,
  s2: number,
  s3: number,
): void {
  const a = j * p + j;
  const b = a + p;
  const c = b + p;
  const d = c + p;
  const v0 = (l[row + j] - s0) / l[a];
  const v1 = (l[row + j + 1] - s1 - v0 * l[b]) / l[b + 1];
  const v2 = (l[row + j + 2] - s2 - v0 * l[c] - v1 * l[c + 1]) / l[c + 2];
  const v3 = (l[row + j + 3] - s3 - v0 * l[d] - v1 * l[d + 1] - v2 * l[d + 2]) / l[d + 3];
  l[row + j] = v0;
  l[row + j + 1] = v1;
  l[row + j + 2] = v2;
  l[row + j + 3] = v3;
}

/** The columns of row i from `from` on, one by one. */
function finishRow(l: Float64Array, p: number, i: number, from: number): void {
  const row = i * p;
  for (let j = from; j < i; j++) l[row + j] = (l[row + j] - dot(l, row, l, j * p, j)) / l[j * p + j];
  l[row + i] = Math.sqrt(Math.max(l[row + i] - dot(l, row, l, row, i), leastPivot));
}

/** Solves L·y = c for four outputs in place. */
function forwardFour(l: Float64Array, c: Float64Array, at: number, p: number): void {
  const a = at;
  const b = a + p;
  const d = b + p;
  const e = d + p;
  for (let i = 0; i < p; i++) {
    const row = i * p;
    let s0 = c[a + i];
    let s1 = c[b + i];
    let s2 = c[d + i];
    let s3 = c[e + i];
    for (let k = 0; k < i; k++) {
      const x = l[row + k];
      s0 -= x * c[a + k];
      s1 -= x * c[b + k];
      s2 -= x * c[d + k];
      s3 -= x * c[e + k];
    }
    const inverse = 1 / l[row + i];
    c[a + i] = s0 * inverse;
    c[b + i] = s1 * inverse;
    c[d + i] = s2 * inverse;
    c[e + i] = s3 * inverse;
  }
}

/** Solves Lᵀ·x = y for four outputs in place. */
function backwardFour(u: Float64Array, c: Float64Array, at: number, p: number): void {
  const a = at;
  const b = a + p;
  const d = b + p;
  const e = d + p;
  for (let i = p - 1; i >= 0; i--) {
    const row = i * p;
    let s0 = c[a + i];
    let s1 = c[b + i];
    let s2 = c[d + i];
    let s3 = c[e + i];
    for (let k = i + 1; k < p; k++) {
      const x = u[row + k];
      s0 -= x * c[a + k];
      s1 -= x * c[b + k];
      s2 -= x * c[d + k];
      s3 -= x * c[e + k];
    }
    const inverse = 1 / u[row + i];
    c[a + i] = s0 * inverse;
    c[b + i] = s1 * inverse;
    c[d + i] = s2 * inverse;
    c[e + i] = s3 * inverse;
  }
}
