// The settings of a model's lifecycle: calibration, drift, training, the gate and probation.

import { boolean, cron, integer, number, oneOf, setting } from "./formats.ts";

export const modelSchema = {
  calibration: {
    enabled: setting(
      "Calibrate the quantiles of every series and step, so that intervals have the stated coverage.",
      boolean,
      true,
    ),
    publishRaw: setting("Also publish the uncalibrated quantiles in every forecast.", boolean, false),
  },
  retrain: {
    where: setting(
      "Where models are trained: in threads of the worker, in separate trainer processes, or nowhere (off: models then come by import only).",
      oneOf("worker", "trainers", "off"),
      "worker",
    ),
    schedule: setting("When models are evaluated and trainings are started.", cron, "*/5 * * * *"),
    jitterMs: setting(
      "Maximum random delay before a training starts, so that a fleet does not train all at once.",
      integer(0, 24 * 3_600_000),
      30_000,
    ),
    perCycle: setting(
      "Most trainings that a worker starts per scheduled evaluation.",
      integer(1, 1_000_000),
      5_000,
    ),
    cpuSecondsPerHour: setting(
      "Processor time that the trainings of a worker may take per hour, in seconds; 0 for no limit. Trainings by hand, of stale models and first models come first, then refreshed linear models, then nets where they promise most.",
      integer(0, 10_000_000),
      3_600,
    ),
    leastGain: setting(
      "With the family auto, nets are trained for a series only if they are expected to lower the error of its linear model by this share. The expectation is what nets have gained on similar series.",
      number(0, 1),
      0.01,
    ),
    inFlight: setting("Most concurrent trainings per worker.", integer(1, 10_000), 4),
    threads: setting(
      "Training threads of the worker. They run at the lowest priority of the machine.",
      integer(1, 256),
      1,
    ),
    effort: setting(
      "How many candidate nets a training tries: quick a few, thorough all.",
      oneOf("quick", "normal", "thorough"),
      "normal",
    ),
    members: setting("Most nets in a model.", integer(1, 16), 4),
    minHistory: setting(
      "Steps that a series needs before a training; 0 uses 8 seasons or 8 horizons for linear models and 12 for others, whichever of the two is longer, but at most the stored history.",
      integer(0, 10_000_000),
      0,
    ),
    maxAgeHours: setting(
      "A model older than this is retrained; 0 disables retraining by age.",
      integer(0, 100_000),
      168,
    ),
    cooldownSteps: setting(
      "Steps of a series between the end of one training and the start of the next; 0 uses 4 × horizon.",
      integer(0, 1_000_000),
      0,
    ),
    timeoutMs: setting(
      "A training request without an answer from a trainer after this long is abandoned.",
      integer(1_000, 7 * 24 * 3_600_000),
      3_600_000,
    ),
    rollingSteps: setting(
      "Time constant of rolling scores: the weight of a score falls to 1/e after this many steps; 0 uses 4 × horizon, but at least 36.",
      integer(0, 1_000_000),
      0,
    ),
    evidenceSteps: setting(
      "Steps that must be scored before a model can be found stale; 0 uses 4 × horizon, but at least 36.",
      integer(0, 1_000_000),
      0,
    ),
    release: setting(
      "A stale model has recovered when its rolling MASE falls below this share of the drift threshold.",
      number(0.1, 1),
      0.8,
    ),
    coverageBand: setting(
      "A model is stale when the coverage of its 80 % interval (without one, of its widest interval) is off by more than this; 1 disables the check.",
      number(0.01, 1),
      0.4,
    ),
    margin: setting(
      "Share by which a challenger's MASE and CRPS, taken together, must be better for a promotion.",
      number(0, 0.9),
      0.02,
    ),
    tailSteps: setting(
      "Newest steps of a history that training does not see and the gate judges on; 0 uses 3 × horizon, but at most a quarter of the history.",
      integer(0, 1_000_000),
      0,
    ),
    probationSteps: setting(
      "Steps over which a promoted model must not do worse than its predecessor; 0 uses 2 × horizon, but at least 36.",
      integer(0, 1_000_000),
      0,
    ),
    attempts: setting(
      "Times that trainers start a request before it becomes a dead letter.",
      integer(1, 100),
      3,
    ),
  },
};
