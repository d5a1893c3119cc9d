// What one lane holds: the series of its partition, their models, how their forecasts have done, and the lifecycle where
// decisions about models wait. Restored from its topics before the first batch, forgotten when the partition goes.

import { type ModelRefusal, ModelStore, restoreModels } from "./forecast/model-store.ts";
import type { Attempt } from "./isolate-failures.ts";
import { PartitionLifecycle } from "./lifecycle/partition-lifecycle.ts";
import type { PartitionView, SeriesTimes } from "./lifecycle/partition-view.ts";
import { avroCodec } from "./log/codec/avro.ts";
import { readModelKey } from "./log/codec/model-keys.ts";
import { modelRecordCodec } from "./log/codec/model-record.ts";
import type { ModelRecord, StateBlockRecord } from "./log/codec/schemas.generated.ts";
import type { OwnedPartition } from "./log/log.ts";
import { newestByKey, readTable } from "./log/newest-by-key.ts";
import { isCohortKey } from "./models/cohort.ts";
import type { Families } from "./models/families.ts";
import { moveLife } from "./models/life.ts";
import { naiveSeasonOf } from "./models/season.ts";
import { ForecastnetError } from "./runtime/errors.ts";
import type { Logger } from "./runtime/logging.ts";
import type { Metrics } from "./runtime/metric-groups.ts";
import { restoreScores, type ScoreCounts, ScoreStore, type ScoreStoreParts } from "./score/score-store.ts";
import type { Series } from "./window/series.ts";
import { noteStoredTimes, restoreStore, SeriesStore } from "./window/series-store.ts";

export interface LaneParts
  extends Pick<PartitionView, "partitions" | "settingsOf" | "rulesOf" | "clock" | "topics"> {
  readonly families: Families;
  readonly stateTopic: string;
  /** Most series that a partition may have. */
  readonly maxSeries: number;
  readonly live: ScoreStoreParts;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export interface Lane {
  readonly owned: Attempt;
  readonly store: SeriesStore;
  readonly models: ModelStore;
  readonly scoreStore: ScoreStore;
  readonly lifecycle: PartitionLifecycle;
  isRestored: boolean;
  bufferedBatches: number;
}

const stateCodec = avroCodec("StateBlock");

export function createLane(owned: Attempt, parts: LaneParts): Lane {
  const { families, live, topics, clock, logger, maxSeries } = parts;
  const store = new SeriesStore(parts.settingsOf, { clock, maxSeries });
  // The one place where the configuration of a series meets what was found out about it.
  const settingsOf = (seriesId: string) => store.settingsOf(seriesId);
  const models = new ModelStore({ settingsOf, families });
  const scoreStore = new ScoreStore({ ...live, settingsOf });
  const view: PartitionView = {
    ...parts,
    settingsOf,
    partition: owned.partition,
    lost: owned.lost,
    series: store,
    scoreStore,
    models,
    metrics: parts.metrics.retrain,
    unread: () => owned.lag,
    timesOf: (seriesId) => timesOf(store, seriesId),
    historyOf: (seriesId) => store.get(seriesId)?.history() ?? null,
    reconsiderSeasons: (seriesId) => {
      const series = store.get(seriesId);
      if (series?.reconsiderSeasons()) logSeasons(logger, series);
    },
    readRecord: (modelKey) => readRecord(owned, topics.models, modelKey),
  };
  const lifecycle = new PartitionLifecycle(view, families);
  return { owned, store, models, scoreStore, lifecycle, isRestored: false, bufferedBatches: 0 };
}

/** Brings back what the last owner committed. Returns where the models topic goes on. */
export async function restoreLane(lane: Lane, parts: LaneParts): Promise<number> {
  const { owned, store, models, scoreStore, lifecycle } = lane;
  const { clock, logger, metrics, stateTopic, topics } = parts;
  const startedMs = clock.nowMs();
  const storedMsById = new Map<string, number>();
  const [state, modelTable] = await Promise.all([
    newestByKey(noteStoredTimes(owned.restore(stateTopic), storedMsById)),
    readTable(owned.restore(topics.models)),
  ]);
  const where = (key: string) => `${key} in partition ${owned.partition} of ${stateTopic}`;
  const restored = await restoreStore(store, state, (value, key) => decodeBlock(value, where(key)));
  store.markSeen(storedMsById);
  const restarted = new Set(restored.restarted.map(({ seriesId }) => seriesId));
  const isRestarted = (seriesId: string) => restarted.has(seriesId);
  const pastOf = (seriesId: string) => store.get(seriesId)?.grid ?? null;
  const { dropped } = await restoreScores(scoreStore, state, { where, isRestarted, pastOf });
  const waiting = takeWaiting(modelTable.valueByKey);
  const refusals = await restoreModels(models, modelTable.valueByKey);
  lifecycle.receive(waiting);
  reconcileLives(lane, clock.nowMs());
  letPredecessorsGo(lane);
  const tookMs = clock.nowMs() - startedMs;
  lane.isRestored = true;
  metrics.restored(restored.blocks, tookMs / 1000);
  for (const change of restored.restarted) {
    metrics.window.resetSeries("interval");
    logger.warn({ ...change }, "series restarts, its configured interval changed");
  }
  logDroppedScores(owned.partition, dropped, parts);
  logRefusals(owned.partition, refusals, parts);
  const { blocks, series } = restored;
  logger.info(
    { partition: owned.partition, series, blocks, models: models.size, tookMs },
    "partition restored",
  );
  return modelTable.nextOffset;
}

/** Takes out what lies beside the models: it waits for a decision. */
function takeWaiting(valueByKey: Map<string, Buffer>): readonly { key: Buffer; value: Buffer }[] {
  const keys = [...valueByKey.keys()].filter((key) => readModelKey(key).part !== "champion");
  return keys.map((key) => {
    const value = valueByKey.get(key) as Buffer;
    valueByKey.delete(key);
    return { key: Buffer.from(key), value };
  });
}

/** Follows what others lay on the models topic for this partition, until it is lost. */
export async function followModels(lane: Lane, topic: string, fromOffset: number): Promise<void> {
  for await (const records of lane.owned.tail(topic, fromOffset)) lane.lifecycle.receive(records);
}

/** A model may have been laid on the topic by hand, or no longer fit what is configured: the series' life follows. */
function reconcileLives({ models, scoreStore }: Lane, nowMs: number): void {
  const championless = [...scoreStore].filter(({ seriesId }) => models.get(seriesId) === undefined);
  for (const live of championless) {
    const { phase } = live.life;
    if (phase === "champion" || phase === "drifting")
      live.life = moveLife(live.life, "cold", nowMs, { driftSinceMs: null, probation: null });
  }
  for (const modelKey of models.keys()) {
    if (isCohortKey(modelKey)) continue;
    const live = scoreStore.of(modelKey);
    if (live.life.phase === "cold") live.life = moveLife(live.life, "champion", nowMs);
  }
}

/** Only a model on probation may have to make room for its predecessor at any time. */
function letPredecessorsGo({ models, scoreStore }: Lane): void {
  for (const modelKey of [...models.keys()]) {
    if ((scoreStore.get(modelKey)?.life.probation ?? null) === null) models.forgetPrevious(modelKey);
  }
}

function timesOf(store: SeriesStore, seriesId: string): SeriesTimes | null {
  const series = store.get(seriesId);
  const { grid = null, interval = null, offsetMs = 0 } = series ?? {};
  if (grid === null || interval === null) return null;
  const { newestSlot } = grid;
  const newestMs = interval.timeOf(newestSlot, offsetMs);
  const stepMs = newestMs - interval.timeOf(newestSlot - 1, offsetMs);
  return { newestMs, stepMs, steps: newestSlot - grid.firstObservedSlot() + 1 };
}

/** Says which seasons a series has, as far as they are known. */
export function logSeasons(logger: Logger, { seriesId, findings, settings }: Series): void {
  const { seasons, decidedAt: steps } = findings;
  logger.info(
    { seriesId, seasons, season: settings.season, naiveSeason: naiveSeasonOf(settings), steps },
    seasons.length === 0 ? "no season found" : "season found",
  );
}

async function readRecord(
  owned: OwnedPartition,
  topic: string,
  modelKey: string,
): Promise<ModelRecord | null> {
  let found: Buffer | null = null;
  for await (const records of owned.restore(topic)) {
    for (const { key, value } of records) if (key?.toString() === modelKey) found = value;
  }
  return found === null ? null : modelRecordCodec.decode(found);
}

function decodeBlock(value: Buffer, place: string): StateBlockRecord {
  try {
    return stateCodec.decode(value);
  } catch (error) {
    throw new ForecastnetError("STATE_CORRUPT", `${place}: ${(error as Error).message}`, { cause: error });
  }
}

/** A change of the configured levels or horizon drops the live scores of a whole fleet. */
function logDroppedScores(partition: number, dropped: ScoreCounts, { metrics, logger }: LaneParts): void {
  if (dropped.series === 0 && dropped.forecasts === 0) return;
  metrics.live.dropped(dropped.series);
  logger.warn(
    { partition, ...dropped },
    "live scores dropped, they do not fit the configured levels or horizon",
  );
}

/** One line per reason: a changed horizon may refuse the models of a whole fleet. */
function logRefusals(
  partition: number,
  refusals: readonly ModelRefusal[],
  { metrics, logger }: LaneParts,
): void {
  for (const reason of new Set(refusals.map((refusal) => refusal.reason))) {
    const alike = refusals.filter((refusal) => refusal.reason === reason);
    metrics.models.refused(reason, alike.length);
    const [{ modelKey, detail }] = alike;
    logger.warn({ partition, reason, models: alike.length, modelKey, detail }, "models cannot serve");
  }
}
