// What one output costs, and its slopes.
//
//   Gaussian: log σ + (y − μ)² / (2σ²), the negative log-likelihood without its constant ½ log 2π
//   linear:   (y − μ)²

/** σ is null for linear outputs. */
export function lossOf(y: number, μ: number, σ: number | null): number {
  return σ === null ? (y - μ) ** 2 : Math.log(σ) + (y - μ) ** 2 / (2 * σ ** 2);
}

export function slopeByMean(y: number, μ: number, σ: number | null): number {
  return σ === null ? 2 * (μ - y) : (μ - y) / σ ** 2;
}

export function slopeByDeviation(y: number, μ: number, σ: number): number {
  return 1 / σ - (y - μ) ** 2 / σ ** 3;
}
