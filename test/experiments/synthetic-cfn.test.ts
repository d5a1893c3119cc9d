// The paper's synthetic series: its convolutional form with Gaussian outputs must forecast it almost perfectly. Other
// seeds (1 to 3) gave SEEDS_CFN.

import { tryForm } from "./support/synthetic-trial.ts";

// A quarter of cFN2's rate: without noise σ goes to zero, the likelihood's gradient grows as 1/σ, and at 1e-3 or more
// one seed in three lost a cell whose rectifiers never came back (MASE 0.3).
tryForm("cFN", 0.03, { seed: 1, rate: 5e-4, batchSize: 8, maxEpochs: 14 });
