// The normal distribution function and density from a table, for sums over thousands of components per forecast.
//
// Between grid points x₀, with d = x − x₀ and |d| ≤ h/2:
//   Φ(x) = Φ(x₀) + φ(x₀)·(d − x₀·d²/2 + (x₀² − 1)·d³/6)        error below 6e-12
//   φ(x) = φ(x₀)·(1 − x₀·d + (x₀² − 1)·d²/2)                   relative error below 1e-6 where φ matters

/** Grid points per unit; a power of two, so that they are exact. */
export const PER_UNIT = 128;
/** Beyond ± this, Φ is 0 or 1 to the last digit that sums can hold. */
export const REACH = 8.25;
/** Index of x₀ = 0. */
export const MIDDLE = REACH * PER_UNIT + 1;

const SIZE = 2 * MIDDLE + 1;
export const cdfTable = new Float64Array(SIZE);
export const pdfTable = new Float64Array(SIZE);
fillTables();

function fillTables(): void {
  let cdf = 0.5;
  for (let i = 0; i <= MIDDLE; i++) {
    const x = i / PER_UNIT;
    const pdf = Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);
    pdfTable[MIDDLE + i] = pdfTable[MIDDLE - i] = pdf;
    cdfTable[MIDDLE + i] = cdf;
    cdfTable[MIDDLE - i] = 1 - cdf;
    cdf += pdf * massToNext(x);
  }
}

/** (Φ(x + h) − Φ(x)) / φ(x) by Taylor's series, whose coefficients are Hermite polynomials: He_n+1 = x·He_n − n·He_n−1. */
function massToNext(x: number): number {
  const h = 1 / PER_UNIT;
  let [before, hermite] = [0, 1];
  let factor = h;
  let mass = 0;
  for (let n = 0; n < 10; n++) {
    mass += factor * hermite;
    [before, hermite] = [hermite, x * hermite - n * before];
    factor *= -h / (n + 2);
  }
  return mass;
}

/** Φ(x), to 6e-12. */
export function normalCdf(x: number): number {
  if (x >= REACH) return 1;
  if (x <= -REACH) return 0;
  const k = Math.round(x * PER_UNIT) + MIDDLE;
  const x0 = (k - MIDDLE) / PER_UNIT;
  const d = x - x0;
  return cdfTable[k] + pdfTable[k] * d * (1 + d * (d * ((x0 * x0 - 1) / 6) - x0 / 2));
}
