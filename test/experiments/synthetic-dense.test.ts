// The paper's synthetic series, which has no noise: its dense forms must forecast it almost perfectly. Other seeds
// (1 to 3) gave FN2 SEEDS_FN2 and FN SEEDS_FN.

import { tryForm } from "./support/synthetic-trial.ts";

const lesson = { seed: 1, rate: 2e-3, batchSize: 32, maxEpochs: 200 };

tryForm("FN2", 0.01, lesson);
tryForm("FN", 0.03, lesson);
