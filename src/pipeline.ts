// The path of an observation, on one screen:
//
//   owned partition ─► source ─► window ─► forecast ─► encode ─► buffer ─► one transaction per batch
//                                  ▲          ▲
//                     series and models, restored from their topics before the first batch
//
// One lane per owned partition; a lane lives as long as the ownership and takes nothing with it when it ends.

import type { Outgoing, SeriesSettings } from "./domain.ts";
import type { Engine } from "./engine/engine.ts";
import { createModelForecaster } from "./forecast/model-forecaster.ts";
import { ModelStore, type Refusal } from "./forecast/model-store.ts";
import { restoreModels } from "./forecast/restore-models.ts";
import { toForecasts } from "./forecast/to-forecasts.ts";
import { avroCodec } from "./log/codec/avro.ts";
import type { SchemaRegistry } from "./log/codec/registry.ts";
import type { StateBlockRecord } from "./log/codec/schemas.generated.ts";
import { toDeadLetter } from "./log/dead-letter.ts";
import type { OwnedPartition } from "./log/log.ts";
import { ahead } from "./runtime/ahead.ts";
import type { Clock } from "./runtime/clock.ts";
import { ForecastnetError } from "./runtime/errors.ts";
import type { Logger } from "./runtime/logging.ts";
import type { Metrics } from "./runtime/metrics.ts";
import { encodeForecasts, type SinkParts, settleBatches } from "./sink/write-forecasts.ts";
import { type Arrival, type SourceParts, toObservations } from "./source/to-observations.ts";
import { restoreStore } from "./window/restore-store.ts";
import { SeriesStore } from "./window/series-store.ts";
import { blockKey } from "./window/state-blocks.ts";
import { toWindows, type WindowStageDeps } from "./window/to-windows.ts";

export interface PipelineParts {
  readonly source: SourceParts;
  readonly engine: Engine;
  /** Sample paths behind a model's forecast. */
  readonly paths: number;
  readonly sink: SinkParts;
  /** Null when no topic needs one. */
  readonly registry: SchemaRegistry | null;
  readonly stateTopic: string;
  readonly modelsTopic: string;
  readonly levels: readonly number[];
  readonly bufferedBatches: number;
  readonly settingsOf: (seriesId: string) => SeriesSettings;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** What a lane tells of itself while it runs. */
export interface LaneView {
  readonly partition: number;
  readonly store: SeriesStore;
  readonly models: ModelStore;
  isRestored: boolean;
  bufferedBatches: number;
}

export function createLaneView(partition: number, { settingsOf, engine }: PipelineParts): LaneView {
  const models = new ModelStore({ settingsOf, release: (model) => engine.release(model) });
  return { partition, store: new SeriesStore(settingsOf), models, isRestored: false, bufferedBatches: 0 };
}

const stateCodec = avroCodec("StateBlock");

/** Works through one owned partition until it is lost or the worker stops. */
export async function runLane(owned: OwnedPartition, parts: PipelineParts, view: LaneView): Promise<void> {
  try {
    await restoreLane(owned, parts, view);
    await work(owned, parts, view);
  } finally {
    view.models.clear();
  }
}

async function work(owned: OwnedPartition, parts: PipelineParts, view: LaneView): Promise<void> {
  const { models } = view;
  const { metrics } = parts;
  const observations = toObservations(owned, parts.source);
  const windows = toWindows(observations, view.store, windowDeps(parts, models));
  const forecaster = createModelForecaster({ ...parts, models, metrics: metrics.models });
  const forecasts = toForecasts(windows, forecaster, metrics.forecast);
  const records = encodeForecasts(forecasts, parts.sink);
  const computed = ahead(records, {
    depth: parts.bufferedBatches,
    // Under light load the records that arrive during a commit are better off together in the next one.
    isWorthwhile: (batch) => batch.isFull,
    onDepth: (waiting) => {
      view.bufferedBatches = waiting;
    },
  });
  await settleBatches(computed, parts.sink);
}

async function restoreLane(owned: OwnedPartition, parts: PipelineParts, view: LaneView): Promise<void> {
  const { clock, logger, metrics, stateTopic, modelsTopic } = parts;
  const startedMs = clock.nowMs();
  const decode = (value: Buffer, key: string) =>
    decodeBlock(value, `${key} in partition ${owned.partition} of ${stateTopic}`);
  const [restored, refusals] = await Promise.all([
    restoreStore(view.store, owned.restore(stateTopic), decode),
    restoreModels(view.models, owned.restore(modelsTopic)),
  ]);
  const tookMs = clock.nowMs() - startedMs;
  view.isRestored = true;
  metrics.restored(restored.blocks, tookMs / 1000);
  for (const change of restored.startedAnew) {
    metrics.window.resetSeries("interval");
    logger.warn(change, "series starts anew, its configured interval changed");
  }
  tellRefusals(owned.partition, refusals, parts);
  const { blocks, series } = restored;
  const models = view.models.size;
  logger.info({ partition: owned.partition, series, blocks, models, tookMs }, "partition restored");
}

/** One line per reason: a changed horizon may refuse the models of a whole fleet. */
function tellRefusals(
  partition: number,
  refusals: readonly Refusal[],
  { metrics, logger }: PipelineParts,
): void {
  for (const reason of new Set(refusals.map((refusal) => refusal.reason))) {
    const alike = refusals.filter((refusal) => refusal.reason === reason);
    metrics.models.refused(reason, alike.length);
    const [{ modelKey, detail }] = alike;
    logger.warn({ partition, reason, models: alike.length, modelKey, detail }, "models cannot serve");
  }
}

function decodeBlock(value: Buffer, place: string): StateBlockRecord {
  try {
    return stateCodec.decode(value);
  } catch (error) {
    throw new ForecastnetError("STATE_CORRUPT", `${place}: ${(error as Error).message}`, { cause: error });
  }
}

function windowDeps(
  { source, stateTopic, levels, metrics, logger }: PipelineParts,
  models: ModelStore,
): WindowStageDeps<Arrival> {
  return {
    levels,
    modelStepsOf: (seriesId) => models.modelStepsOf(seriesId),
    metrics: metrics.window,
    encodeBlock: (block: StateBlockRecord, partition): Outgoing => ({
      topic: stateTopic,
      partition,
      key: Buffer.from(blockKey(block)),
      value: stateCodec.encode(block),
    }),
    reject: ({ origin }, refusal) => {
      metrics.source.deadLetter(refusal.reason);
      return toDeadLetter(origin, refusal, source.deadLetters);
    },
    intervalFound: ({ seriesId, interval, offsetMs }) =>
      logger.info({ seriesId, interval: interval?.iso, offsetMs }, "interval found"),
  };
}
