// The paper's synthetic series: its convolutional form with linear outputs must forecast it almost perfectly. A file of
// its own, because it takes a minute. Seeds 1 to 3 gave 0.0058, 0.0061, 0.0044.

import { tryForm } from "./support/synthetic-trial.ts";

// Small batches: what this net needs is many steps, and the arithmetic of a step grows with its rows.
tryForm("cFN2", 0.01, { seed: 1, rate: 2e-3, batchSize: 8, maxEpochs: 20 });
