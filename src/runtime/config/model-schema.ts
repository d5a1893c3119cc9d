// The settings of all that happens to a model beside forecasting: calibration, drift, training, the gate.

import { boolean, cron, integer, number, oneOf } from "./formats.ts";
import { setting } from "./setting.ts";

export const modelSchema = {
  calibration: {
    enabled: setting(
      "Correct the quantiles of every series and step so that they hold what they state.",
      boolean,
      true,
    ),
    publishRaw: setting("Put the quantiles before correction into every forecast, too.", boolean, false),
  },
  retrain: {
    where: setting(
      "Who trains: threads of the worker, separate trainer processes, or nobody (off; models then come by import only).",
      oneOf("worker", "trainers", "off"),
      "worker",
    ),
    schedule: setting("When models are looked at and trainings begun.", cron, "*/5 * * * *"),
    jitterMs: setting(
      "A training begins up to this long after the schedule names it, so that a fleet does not train at once.",
      integer(0, 24 * 3_600_000),
      30_000,
    ),
    perCycle: setting(
      "Trainings begun per turn of the schedule and worker, at most.",
      integer(1, 100_000),
      32,
    ),
    inFlight: setting("Trainings under way at once per worker, at most.", integer(1, 10_000), 4),
    threads: setting(
      "Threads of the worker that train, at the lowest priority of the machine.",
      integer(1, 256),
      1,
    ),
    effort: setting(
      "How many nets are tried for a model: quick a few, thorough all.",
      oneOf("quick", "normal", "thorough"),
      "normal",
    ),
    members: setting("Nets that make up a model, at most.", integer(1, 16), 4),
    minHistory: setting(
      "Steps a series must have before its first training; 0 means 12 seasons or horizons, whichever is longer, at most the history kept.",
      integer(0, 10_000_000),
      0,
    ),
    maxAgeHours: setting(
      "A model older than this is trained again; 0 means never.",
      integer(0, 100_000),
      168,
    ),
    cooldownSteps: setting(
      "Steps of a series between the end of one training and the next; 0 means 4 × horizon.",
      integer(0, 1_000_000),
      0,
    ),
    timeoutMs: setting(
      "A training asked of trainers that has no answer after this long is given up.",
      integer(1_000, 7 * 24 * 3_600_000),
      3_600_000,
    ),
    rollingSteps: setting(
      "How far back rolling scores look: a score counts for 1/e after this many steps; 0 means 4 × horizon, but at least 36.",
      integer(0, 1_000_000),
      0,
    ),
    evidenceSteps: setting(
      "Steps that must have been scored before a model can be called stale; 0 means 4 × horizon, but at least 36.",
      integer(0, 1_000_000),
      0,
    ),
    release: setting(
      "A stale model is fit again when its rolling MASE falls below this share of the threshold.",
      number(0.1, 1),
      0.8,
    ),
    coverageBand: setting(
      "A model is stale when the coverage of its 80 % interval (or the widest stated) is off by more than this; 1 for never.",
      number(0.01, 1),
      0.4,
    ),
    margin: setting(
      "By what share a challenger's MASE and CRPS must be better, together, to take over.",
      number(0, 0.9),
      0.02,
    ),
    tailSteps: setting(
      "Newest steps of a history that are kept from training and judged on; 0 means 3 × horizon, at most a quarter of the history.",
      integer(0, 1_000_000),
      0,
    ),
    probationSteps: setting(
      "Steps over which a promoted model must not do worse than its predecessor; 0 means 2 × horizon, but at least 36.",
      integer(0, 1_000_000),
      0,
    ),
    attempts: setting("Times a trainer begins a request before it is a dead letter.", integer(1, 100), 3),
  },
};
