// What one lane holds: the series of its partition, their models, how their forecasts have done, and the desk where
// decisions about models wait. Restored from its topics before the first batch, forgotten when the partition goes.

import type { Engine } from "./engine/engine.ts";
import { ModelStore, type Refusal } from "./forecast/model-store.ts";
import { restoreModels } from "./forecast/restore-models.ts";
import { avroCodec } from "./log/codec/avro.ts";
import type { ModelRecord, StateBlockRecord } from "./log/codec/schemas.generated.ts";
import type { OwnedPartition } from "./log/log.ts";
import { newestByKey, readTable } from "./log/newest-by-key.ts";
import { isCohortKey } from "./models/cohort.ts";
import { LaneDesk, type LaneDeskParts, type SeriesTimes } from "./retrain/lane-desk.ts";
import { moveLife } from "./retrain/life.ts";
import { LiveBook, type LiveBookParts } from "./retrain/live/live-book.ts";
import { restoreBook } from "./retrain/live/restore-book.ts";
import { readModelKey } from "./retrain/requests/model-keys.ts";
import { ForecastnetError } from "./runtime/errors.ts";
import type { Logger } from "./runtime/logging.ts";
import type { Metrics } from "./runtime/metric-groups.ts";
import { restoreStore } from "./window/restore-store.ts";
import { SeriesStore } from "./window/series-store.ts";

export interface LaneParts
  extends Pick<LaneDeskParts, "partitions" | "settingsOf" | "rulesOf" | "clock" | "topics"> {
  readonly engine: Engine;
  readonly stateTopic: string;
  readonly live: LiveBookParts;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export interface Lane {
  readonly owned: OwnedPartition;
  readonly store: SeriesStore;
  readonly models: ModelStore;
  readonly book: LiveBook;
  readonly desk: LaneDesk;
  isRestored: boolean;
  bufferedBatches: number;
}

const stateCodec = avroCodec("StateBlock");
const modelCodec = avroCodec("ModelRecord");

export function createLane(owned: OwnedPartition, parts: LaneParts): Lane {
  const { settingsOf, engine, live, topics } = parts;
  const store = new SeriesStore(settingsOf);
  const models = new ModelStore({ settingsOf, release: (model) => engine.release(model) });
  const book = new LiveBook(live);
  const desk = new LaneDesk({
    ...parts,
    ...{ partition: owned.partition, lost: owned.lost, book, shelf: models, metrics: parts.metrics.retrain },
    timesOf: (seriesId) => timesOf(store, seriesId),
    historyOf: (seriesId) => store.get(seriesId)?.history() ?? null,
    readRecord: (modelKey) => readRecord(owned, topics.models, modelKey),
  });
  return { owned, store, models, book, desk, isRestored: false, bufferedBatches: 0 };
}

/** Brings back what the last owner committed. Returns where the models topic goes on. */
export async function restoreLane(lane: Lane, parts: LaneParts): Promise<number> {
  const { owned, store, models, book, desk } = lane;
  const { clock, logger, metrics, stateTopic, topics } = parts;
  const startedMs = clock.nowMs();
  const [state, modelTable] = await Promise.all([
    newestByKey(owned.restore(stateTopic)),
    readTable(owned.restore(topics.models)),
  ]);
  const where = (key: string) => `${key} in partition ${owned.partition} of ${stateTopic}`;
  const restored = restoreStore(store, state, (value, key) => decodeBlock(value, where(key)));
  const anew = new Set(restored.startedAnew.map(({ seriesId }) => seriesId));
  await restoreBook(book, state, { where, isAnew: (seriesId) => anew.has(seriesId) });
  const waiting = takeWaiting(modelTable.valueByKey);
  const refusals = await restoreModels(models, modelTable.valueByKey);
  desk.hear(waiting);
  reconcileLives(lane, clock.nowMs());
  letPredecessorsGo(lane);
  const tookMs = clock.nowMs() - startedMs;
  lane.isRestored = true;
  metrics.restored(restored.blocks, tookMs / 1000);
  for (const change of restored.startedAnew) {
    metrics.window.resetSeries("interval");
    logger.warn(change, "series starts anew, its configured interval changed");
  }
  tellRefusals(owned.partition, refusals, parts);
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
  for await (const records of lane.owned.tail(topic, fromOffset)) lane.desk.hear(records);
}

/** A model may have been laid on the topic by hand, or no longer fit what is configured: the series' life follows. */
function reconcileLives({ models, book }: Lane, nowMs: number): void {
  const championless = [...book].filter(({ seriesId }) => models.get(seriesId) === undefined);
  for (const live of championless) {
    const { phase } = live.life;
    if (phase === "champion" || phase === "drifting")
      live.life = moveLife(live.life, "cold", nowMs, { driftSinceMs: null, probation: null });
  }
  for (const modelKey of models.keys()) {
    if (isCohortKey(modelKey)) continue;
    const live = book.of(modelKey);
    if (live.life.phase === "cold") live.life = moveLife(live.life, "champion", nowMs);
  }
}

/** Only a model on probation may have to make room for its predecessor at any time. */
function letPredecessorsGo({ models, book }: Lane): void {
  for (const modelKey of [...models.keys()]) {
    if ((book.get(modelKey)?.life.probation ?? null) === null) models.forgetPrevious(modelKey);
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

async function readRecord(
  owned: OwnedPartition,
  topic: string,
  modelKey: string,
): Promise<ModelRecord | null> {
  let found: Buffer | null = null;
  for await (const records of owned.restore(topic)) {
    for (const { key, value } of records) if (key?.toString() === modelKey) found = value;
  }
  return found === null ? null : modelCodec.decode(found);
}

function decodeBlock(value: Buffer, place: string): StateBlockRecord {
  try {
    return stateCodec.decode(value);
  } catch (error) {
    throw new ForecastnetError("STATE_CORRUPT", `${place}: ${(error as Error).message}`, { cause: error });
  }
}

/** One line per reason: a changed horizon may refuse the models of a whole fleet. */
function tellRefusals(partition: number, refusals: readonly Refusal[], { metrics, logger }: LaneParts): void {
  for (const reason of new Set(refusals.map((refusal) => refusal.reason))) {
    const alike = refusals.filter((refusal) => refusal.reason === reason);
    metrics.models.refused(reason, alike.length);
    const [{ modelKey, detail }] = alike;
    logger.warn({ partition, reason, models: alike.length, modelKey, detail }, "models cannot serve");
  }
}
