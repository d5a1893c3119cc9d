// The path of an observation, on one screen:
//
//   owned partition ─► source ─► window ─► forecast ─► encode ─► buffer ─► one transaction per batch
//                                  ▲
//                     restored from the state topic, before the first batch
//
// One lane per owned partition; a lane lives as long as the ownership and takes nothing with it when it ends.

import type { Outgoing, SeriesSettings } from "./domain.ts";
import type { Forecaster } from "./forecast/cold-forecaster.ts";
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
  readonly forecaster: Forecaster;
  readonly sink: SinkParts;
  /** Null when no topic needs one. */
  readonly registry: SchemaRegistry | null;
  readonly stateTopic: string;
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
  isRestored: boolean;
  bufferedBatches: number;
}

export function createLaneView(partition: number, { settingsOf }: PipelineParts): LaneView {
  return { partition, store: new SeriesStore(settingsOf), isRestored: false, bufferedBatches: 0 };
}

const stateCodec = avroCodec("StateBlock");

/** Works through one owned partition until it is lost or the worker stops. */
export async function runLane(owned: OwnedPartition, parts: PipelineParts, view: LaneView): Promise<void> {
  await restoreLane(owned, parts, view);
  const observations = toObservations(owned, parts.source);
  const windows = toWindows(observations, view.store, windowDeps(parts));
  const forecasts = toForecasts(windows, parts.forecaster, parts.metrics.forecast);
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
  const { clock, logger, metrics, stateTopic } = parts;
  const startedMs = clock.nowMs();
  const decode = (value: Buffer, key: string) =>
    decodeBlock(value, `${key} in partition ${owned.partition} of ${stateTopic}`);
  const restored = await restoreStore(view.store, owned.restore(stateTopic), decode);
  const tookMs = clock.nowMs() - startedMs;
  view.isRestored = true;
  metrics.restored(restored.blocks, tookMs / 1000);
  for (const change of restored.startedAnew) {
    metrics.window.resetSeries("interval");
    logger.warn(change, "series starts anew, its configured interval changed");
  }
  const { blocks, series } = restored;
  logger.info({ partition: owned.partition, series, blocks, tookMs }, "partition restored");
}

function decodeBlock(value: Buffer, place: string): StateBlockRecord {
  try {
    return stateCodec.decode(value);
  } catch (error) {
    throw new ForecastnetError("STATE_CORRUPT", `${place}: ${(error as Error).message}`, { cause: error });
  }
}

function windowDeps({
  source,
  stateTopic,
  levels,
  metrics,
  logger,
}: PipelineParts): WindowStageDeps<Arrival> {
  return {
    levels,
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
