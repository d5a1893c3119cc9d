// Quantiles of the normal distribution and of Student's t, and the tail of the normal distribution.

/** Rational approximation by P. J. Acklam; relative error below 1.2e-9. */
const A = [
  -3.969683028665376e1, 2.209460984245205e2, -2.759285104469687e2, 1.38357751867269e2, -3.066479806614716e1,
  2.506628277459239,
];
const B = [
  -5.447609879822406e1, 1.615858368580409e2, -1.556989798598866e2, 6.680131188771972e1, -1.328068155288572e1,
];
const C = [
  -7.784894002430293e-3, -3.223964580411365e-1, -2.400758277161838, -2.549732539343734, 4.374664141464968,
  2.938163982698783,
];
const D = [7.784695709041462e-3, 3.224671290700398e-1, 2.445134137142996, 3.754408661907416];
const TAIL = 0.02425;

/** The value a standard normal stays below with probability `level`, 0 < level < 1. */
export function normalQuantile(level: number): number {
  if (level > 0.5) return -normalQuantile(1 - level);
  if (level < TAIL) {
    const q = Math.sqrt(-2 * Math.log(level));
    return polynomial(C, q) / (polynomial(D, q) * q + 1);
  }
  const q = level - 0.5;
  const r = q * q;
  return (polynomial(A, r) * q) / (polynomial(B, r) * r + 1);
}

/**
 * The same for Student's t. Exact for one and two degrees of freedom; otherwise the expansion of Abramowitz
 * and Stegun 26.7.5, within 1 % at three degrees for levels from 0.01 to 0.99 and closer beyond.
 */
export function studentQuantile(level: number, freedom: number): number {
  if (freedom === 1) return Math.tan(Math.PI * (level - 0.5));
  if (freedom === 2) return (2 * level - 1) * Math.sqrt(1 / (2 * level * (1 - level)));
  const z = normalQuantile(level);
  const z2 = z * z;
  const g1 = (z2 + 1) / 4;
  const g2 = ((5 * z2 + 16) * z2 + 3) / 96;
  const g3 = (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
  const g4 = ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / 92160;
  return z * (1 + (g1 + (g2 + (g3 + g4 / freedom) / freedom) / freedom) / freedom);
}

/**
 * The probability that a standard normal exceeds `z`, for z ≥ 0: the continued fraction of Laplace beyond 2, the series of the error
 * function before.
 */
export function normalTail(z: number): number {
  const density = Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI);
  if (z > 2) {
    let fraction = 0;
    for (let k = 60; k > 0; k--) fraction = k / (z + fraction);
    return density / (z + fraction);
  }
  let [term, sum] = [z, z];
  for (let k = 1; Math.abs(term) > 1e-17; k++) {
    term *= (z * z) / (2 * k + 1);
    sum += term;
  }
  return 0.5 - density * sum;
}

/** Highest power first. */
function polynomial(coefficients: readonly number[], x: number): number {
  let sum = 0;
  for (const coefficient of coefficients) sum = sum * x + coefficient;
  return sum;
}
