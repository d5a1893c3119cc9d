// The path of an observation, on one screen:
//
//   owned partition ─► source ─► decisions ─► window ─► forecast ─► score ─► encode ─► buffer ─► one transaction
//                                    ▲          ▲          ▲          ▲                          per batch
//                                    │     series, models and live scores, restored from their topics
//                         retraining, beside the path
//
// One lane per owned partition; a lane lives as long as the ownership and takes nothing with it when it ends. A batch
// that fails because of one record is handled around it, in isolate-failures.ts: the lane begins anew without it.

import type { Batch, Outgoing } from "./domain.ts";
import { Forecaster, toForecasts } from "./forecast/to-forecasts.ts";
import { WorkFailed } from "./isolate-failures.ts";
import { followModels, type Lane, type LaneParts, logSeasons, restoreLane } from "./lane.ts";
import { applyDecisions } from "./lifecycle/apply-decisions.ts";
import { avroCodec } from "./log/codec/avro.ts";
import { servingFacts } from "./log/codec/model-record.ts";
import type { SchemaRegistry } from "./log/codec/registry.ts";
import { toDeadLetter } from "./log/dead-letter.ts";
import { ahead } from "./runtime/ahead.ts";
import { type ScoreStageParts, toScored } from "./score/to-scored.ts";
import { encodeForecasts, type SinkParts, settleBatches } from "./sink/write-forecasts.ts";
import { type Arrival, type SourceParts, toObservations } from "./source/to-observations.ts";
import { isOtherSeason } from "./window/findings.ts";
import { blockKey } from "./window/state-blocks.ts";
import { toWindows, type WindowStageDeps } from "./window/to-windows.ts";

export interface PipelineParts extends LaneParts {
  readonly source: SourceParts;
  readonly sink: SinkParts;
  /** Null when no topic needs one. */
  readonly registry: SchemaRegistry | null;
  /** Sample paths behind a model's forecast. */
  readonly paths: number;
  readonly levels: readonly number[];
  readonly bufferedBatches: number;
  /** Of each input topic, as found at the start. */
  readonly partitionsByInput: ReadonlyMap<string, number>;
}

const stateCodec = avroCodec("StateBlock");

/** Works through one owned partition until it is lost or the worker stops. Throws WorkFailed when a batch fails. */
export async function runLane(lane: Lane, parts: PipelineParts): Promise<void> {
  try {
    const modelsFrom = await restoreLane(lane, parts);
    const working = work(lane, parts).catch((error: unknown) => Promise.reject(new WorkFailed(error)));
    await Promise.all([working, followModels(lane, parts.topics.models, modelsFrom)]);
  } finally {
    lane.models.clear();
  }
}

async function work(lane: Lane, parts: PipelineParts): Promise<void> {
  const { owned, store, models, scoreStore, lifecycle } = lane;
  const { metrics } = parts;
  const observations = toObservations(owned, parts.source, (seriesId) => owned.quarantineOf(seriesId));
  const decided = applyDecisions(observations, lifecycle, () => emptyBatch(lane));
  const windows = toWindows(decided, store, windowDeps(lane, parts));
  const forecaster = new Forecaster({ ...parts, models, metrics: metrics.models });
  const forecasts = toForecasts(windows, forecaster, metrics.forecast);
  const records = toScored(forecasts, scoreStore, scoreParts(lane, parts), (partition) =>
    encodeForecasts(partition, parts.sink),
  );
  const computed = ahead(records, {
    depth: parts.bufferedBatches,
    // Under light load the records that arrive during a commit are better off together in the next one.
    isWorthwhile: (batch) => batch.isFull,
    onDepth: (waiting) => {
      lane.bufferedBatches = waiting;
    },
  });
  await settleBatches(computed, parts.sink);
}

/** Carries decisions about models where no input comes. */
function emptyBatch({ owned }: Lane): Batch<Arrival> {
  return {
    partition: owned.partition,
    ...{ items: [], records: [], placements: [], isBehind: false, isFull: false },
    ...{ arrivedMs: null, eventMs: null },
    settle: (records) => owned.write(records),
  };
}

function scoreParts({ models }: Lane, { stateTopic, metrics }: PipelineParts): ScoreStageParts {
  return {
    stateTopic,
    servingOf: (seriesId) => {
      const serving = models.of(seriesId);
      return serving === undefined ? null : servingFacts(serving);
    },
    metrics: metrics.live,
  };
}

function windowDeps({ models }: Lane, parts: PipelineParts): WindowStageDeps<Arrival> {
  const { source, stateTopic, levels, metrics, logger } = parts;
  return {
    levels,
    modelStepsOf: (seriesId) => models.modelStepsOf(seriesId),
    metrics: metrics.window,
    encodeBlock: (block, partition): Outgoing => ({
      topic: stateTopic,
      partition,
      key: Buffer.from(blockKey(block)),
      value: stateCodec.encode(block),
    }),
    reject: ({ place }, refusal) => toDeadLetter(place, refusal, source.deadLetters),
    intervalFound: ({ seriesId, interval, offsetMs }) =>
      logger.info({ seriesId, interval: interval?.iso, offsetMs }, "interval found"),
    findingsChanged: (series, before) => {
      const { seriesId, findings } = series;
      if (isOtherSeason(findings, before)) logSeasons(logger, series);
      if (findings.isNonNegative !== before.isNonNegative)
        logger.info({ seriesId }, `lower bound ${findings.isNonNegative ? "found" : "lifted"}`);
    },
  };
}
