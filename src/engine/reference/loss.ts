// What one output costs, and its slopes, with z = (y − μ)/σ.
//
//   likelihood  log σ + z²/2, the negative log-likelihood without its constant ½ log 2π
//   crps        σ·(z·(2Φ(z) − 1) + 2φ(z) − 1/√π), the closed form for a Gaussian
//   squares     (y − μ)²

import { normalCdf } from "../../models/forecastnet/normal-table.ts";
import type { Loss } from "../../models/forecastnet/spec.ts";

interface OutputCost {
  /** σ is 1 where there is none. */
  readonly of: (y: number, μ: number, σ: number) => number;
  readonly slopeByMean: (y: number, μ: number, σ: number) => number;
  readonly slopeByDeviation: (y: number, μ: number, σ: number) => number;
}

const φ = (z: number) => Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI);

export const costs: Readonly<Record<Loss, OutputCost>> = {
  likelihood: {
    of: (y, μ, σ) => Math.log(σ) + (y - μ) ** 2 / (2 * σ ** 2),
    slopeByMean: (y, μ, σ) => (μ - y) / σ ** 2,
    slopeByDeviation: (y, μ, σ) => 1 / σ - (y - μ) ** 2 / σ ** 3,
  },
  crps: {
    of: (y, μ, σ) => {
      const z = (y - μ) / σ;
      return σ * (z * (2 * normalCdf(z) - 1) + 2 * φ(z) - 1 / Math.sqrt(Math.PI));
    },
    slopeByMean: (y, μ, σ) => 1 - 2 * normalCdf((y - μ) / σ),
    slopeByDeviation: (y, μ, σ) => 2 * φ((y - μ) / σ) - 1 / Math.sqrt(Math.PI),
  },
  squares: {
    of: (y, μ) => (y - μ) ** 2,
    slopeByMean: (y, μ) => 2 * (μ - y),
    slopeByDeviation: () => 0,
  },
};
