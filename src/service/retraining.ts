// Opens the retraining loop of one worker: its trainer, its schedule, and the inventories behind the HTTP API. The only place
// where configuration and retraining meet.

import type { History } from "../domain.ts";
import type { ExecutorSetup } from "../engine/threads/protocol.ts";
import type { LaneParts } from "../lane.ts";
import type { PartitionLifecycle } from "../lifecycle/partition-lifecycle.ts";
import { Retrainer } from "../lifecycle/retrainer.ts";
import { avroCodec } from "../log/codec/avro.ts";
import type { Log } from "../log/log.ts";
import type { Families } from "../models/families.ts";
import type { Engine } from "../models/forecastnet/engine.ts";
import type { PipelineParts } from "../pipeline.ts";
import type { AppConfig } from "../runtime/config/schema.ts";
import type { ModelTrainer } from "../training/training-task.ts";
import { openTrainingThreads } from "../training/training-threads.ts";
import { SeriesStore } from "../window/series-store.ts";
import { isBlockKey, seriesOfKey, toStateBlock } from "../window/state-blocks.ts";
import { createModelInventory, type ModelInventory } from "./model-inventory.ts";
import type { Surroundings } from "./pipeline-parts.ts";
import { createSeriesInventory, type SeriesInventory } from "./series-api.ts";

export interface Retraining {
  readonly retrainer: Retrainer;
  readonly models: ModelInventory;
  readonly series: SeriesInventory;
  stop(): Promise<void>;
}

interface RetrainingParts extends Surroundings {
  readonly log: Log;
  readonly engine: Engine;
  readonly pipeline: PipelineParts;
  /** Of the owned and restored partitions. */
  readonly lifecycles: () => readonly PartitionLifecycle[];
  /** Opens what trains models; by default threads of this process. */
  readonly openTrainer?: (families: Families) => Promise<ModelTrainer>;
}

/** How often the retrainer checks what is due. */
const pulseMs = 1_000;

export function openRetraining(parts: RetrainingParts): Retraining {
  const { config, log, engine, pipeline, lifecycles, clock, random, logger, metrics } = parts;
  const { openTrainer = () => openThreads(config, engine) } = parts;
  const trainer = config.retrain.where === "worker" ? whenAsked(() => openTrainer(pipeline.families)) : null;
  const retrainer = new Retrainer({
    lifecycles,
    families: pipeline.families,
    trainer,
    settings: config.retrain,
    clock,
    random,
    logger,
    metrics: metrics.retrain,
    cohorts: cohortsOf(config),
    gather: (cohort, signal) => gatherCohort(cohort, { log, pipeline, signal }),
  });
  const stopPulse = clock.every(pulseMs, () => retrainer.check());
  return {
    retrainer,
    models: createModelInventory(lifecycles, pipeline.families, clock),
    series: createSeriesInventory(lifecycles, clock),
    stop: async () => {
      stopPulse();
      await retrainer.stop();
      await trainer?.close();
    },
  };
}

export function cohortsOf({ series }: AppConfig): readonly string[] {
  const named = [series.cohort, ...series.overrides.map(({ cohort = "" }) => cohort)];
  return [...new Set(named)].filter((name) => name !== "");
}

function openThreads({ retrain, engine: { memoryMb } }: AppConfig, engine: Engine): Promise<ModelTrainer> {
  const { name: kind } = engine.description;
  const setup: ExecutorSetup = kind === "tensorflow" ? { kind, memoryMb } : { kind };
  return openTrainingThreads({ setup, threads: retrain.threads });
}

/** Opens the trainer with the first training: many workers serve for long before that, and threads take memory. */
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

interface GatherParts {
  readonly log: Log;
  readonly pipeline: Pick<LaneParts, "stateTopic" | "settingsOf">;
  readonly signal: AbortSignal;
}

const stateCodec = avroCodec("StateBlock");

async function gatherCohort(cohort: string, parts: GatherParts): Promise<readonly History[]> {
  const { log, pipeline, signal } = parts;
  const { stateTopic, settingsOf } = pipeline;
  const isMember = (key: string) => isBlockKey(key) && settingsOf(seriesOfKey(key)).cohort === cohort;
  const valueByKey = new Map<string, Buffer>();
  for await (const { records } of log.read(stateTopic, signal)) {
    for (const { key, value } of records) {
      const name = key?.toString() ?? "";
      if (!isMember(name)) continue;
      if (value === null) valueByKey.delete(name);
      else valueByKey.set(name, value);
    }
  }
  return historiesOf(valueByKey, settingsOf);
}

function historiesOf(
  valueByKey: ReadonlyMap<string, Buffer>,
  settingsOf: LaneParts["settingsOf"],
): readonly History[] {
  const store = new SeriesStore(settingsOf);
  store.restore([...valueByKey].map(([key, value]) => toStateBlock(key, stateCodec.decode(value))));
  return [...store.ids()].flatMap((seriesId) => store.get(seriesId)?.history() ?? []);
}
