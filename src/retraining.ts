// Opens the loop beside the path for one worker: who trains, who judges, what people see of it. The only place where
// configuration and retraining meet.

import { gatherCohort } from "./cohort-histories.ts";
import type { Engine } from "./engine/engine.ts";
import type { ExecutorSetup } from "./engine/threads/protocol.ts";
import type { Log } from "./log/log.ts";
import type { PipelineParts } from "./pipeline.ts";
import type { Surroundings } from "./pipeline-parts.ts";
import type { LaneDesk } from "./retrain/lane-desk.ts";
import type { ModelDesk } from "./retrain/model-desk.ts";
import { Retrainer } from "./retrain/retrainer.ts";
import { openTrainingThreads } from "./retrain/training/training-threads.ts";
import type { ModelTrainer } from "./retrain/training-task.ts";
import { createModelDesk } from "./retrain/worker-desk.ts";
import type { AppConfig } from "./runtime/config/schema.ts";

export interface Retraining {
  readonly retrainer: Retrainer;
  readonly desk: ModelDesk;
  stop(): Promise<void>;
}

export interface RetrainingParts extends Surroundings {
  readonly log: Log;
  readonly engine: Engine;
  readonly pipeline: PipelineParts;
  /** Those of the partitions that are owned and restored. */
  readonly desks: () => readonly LaneDesk[];
  /** Whoever trains; by default threads of this process. */
  readonly openTrainer?: () => Promise<ModelTrainer>;
}

/** How often it is asked whether the schedule has come to its next turn. */
const pulseMs = 1_000;

export function openRetraining(parts: RetrainingParts): Retraining {
  const { config, log, engine, pipeline, desks, clock, logger, metrics } = parts;
  const openTrainer = parts.openTrainer ?? (() => openThreads(config, engine));
  const trainer = config.retrain.where === "worker" ? whenAsked(openTrainer) : null;
  const retrainer = new Retrainer({
    ...{ desks, engine, trainer, settings: config.retrain, clock, logger, metrics: metrics.retrain },
    cohorts: cohortsOf(config),
    gather: (cohort, signal) => gatherCohort(cohort, { log, pipeline, signal }),
    random: Math.random,
  });
  const pulse = setInterval(() => retrainer.poke(), pulseMs).unref();
  return {
    retrainer,
    desk: createModelDesk(desks, clock),
    stop: async () => {
      clearInterval(pulse);
      await retrainer.stop();
      await trainer?.close();
    },
  };
}

function cohortsOf({ series }: AppConfig): readonly string[] {
  const named = [series.cohort, ...series.overrides.map(({ cohort = "" }) => cohort)];
  return [...new Set(named)].filter((name) => name !== "");
}

function openThreads({ retrain, engine: { memoryMb } }: AppConfig, engine: Engine): Promise<ModelTrainer> {
  const { name: kind } = engine.description;
  const setup: ExecutorSetup = kind === "tensorflow" ? { kind, memoryMb } : { kind };
  return openTrainingThreads({ setup, threads: retrain.threads });
}

/** Many workers serve long before they train: threads and their memory come with the first training. */
function whenAsked(open: () => Promise<ModelTrainer>): ModelTrainer {
  let opened: Promise<ModelTrainer> | null = null;
  return {
    train: async (tasks, signal) => {
      opened ??= open();
      return (await opened).train(tasks, signal);
    },
    close: async () => {
      await (await opened)?.close();
    },
  };
}
