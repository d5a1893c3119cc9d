// Reads the models and series of a fleet from the models topic and the state topic, once. Keeps facts, not weights. A
// record that cannot be read is reported for its own series and affects no other.

import type { LiveScores } from "../../domain.ts";
import { avroCodec } from "../../log/codec/avro.ts";
import { readModelKey } from "../../log/codec/model-keys.ts";
import { type ModelFacts, modelRecordCodec } from "../../log/codec/model-record.ts";
import type { LiveStateRecord, ModelOrderRecord } from "../../log/codec/schemas.generated.ts";
import type { Log, StoredBatch } from "../../log/log.ts";
import { cohortName, decidingPartition, isCohortKey } from "../../models/cohort.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import { readState, storedScores } from "../../score/score-records.ts";

const orderCodec = avroCodec("ModelOrder");

interface ModelWithSize extends ModelFacts {
  readonly weightBytes: number;
}

/**
 * The part of a series' live state that the commands show. Sums and calibration are dropped at once: those of a large
 * fleet would not fit into memory.
 */
export interface LiveFacts
  extends Pick<
    LiveStateRecord,
    "modelVersion" | "phase" | "phaseSince" | "driftSince" | "requestId" | "probation" | "verdict"
  > {
  /** Null until forecasts have matured. */
  readonly scores: LiveScores | null;
}

export interface ModelEntry {
  readonly modelKey: string;
  /** The partition in which the owner receives orders. */
  readonly partition: number;
  readonly model: ModelWithSize | null;
  readonly live: LiveFacts | null;
  /** The pending order; null when there is none. */
  readonly order: Pick<ModelOrderRecord, "id" | "kind" | "askedAt"> | null;
  /** Why a record of it cannot be read. */
  readonly problem: string | null;
}

export interface FleetModels {
  readonly entryByKey: ReadonlyMap<string, ModelEntry>;
  /** The stored record of the model whose bytes were asked for; null when there is none. */
  readonly stored: Buffer | null;
}

/** `bytesOf` names the model whose bytes are kept. */
export async function readModels(
  log: Log,
  topics: { readonly models: string; readonly state: string },
  bytesOf: string | null,
  signal: AbortSignal,
): Promise<FleetModels> {
  const models = new ModelsReader(bytesOf);
  const states = new LiveReader();
  for await (const batch of log.read(topics.models, signal)) models.take(batch);
  for await (const batch of log.read(topics.state, signal)) states.take(batch);
  const entryByKey = new Map<string, ModelEntry>();
  for (const modelKey of new Set([...states.seriesById.keys(), ...models.placesByKey.keys()])) {
    const entry = joinEntry(modelKey, models, states);
    if (entry !== null) entryByKey.set(modelKey, entry);
  }
  const home = bytesOf === null ? undefined : entryByKey.get(bytesOf)?.partition;
  return { entryByKey, stored: models.storedAt(home) };
}

function joinEntry(modelKey: string, models: ModelsReader, states: LiveReader): ModelEntry | null {
  const series = states.seriesById.get(modelKey);
  const places = models.placesByKey.get(modelKey) ?? new Map<number, StoredModel>();
  const serving = [...places.keys()].filter((at) => places.get(at)?.model !== null);
  // A model belongs to the partition of its state. Without state, it belongs to the partition it serves in; a cohort's
  // model is in all partitions and belongs to the partition that decides about it.
  const home = isCohortKey(modelKey) ? decidingPartition(cohortName(modelKey), serving.length) : -1;
  const [lowest = null] = serving.sort((a, b) => a - b);
  const partition = series?.partition ?? (serving.includes(home) ? home : lowest);
  if (partition === null) return null;
  const place = places.get(partition);
  const found = place?.model ?? null;
  const model = typeof found === "string" ? null : found;
  const live = typeof series?.live === "string" ? null : (series?.live ?? null);
  const problem = [found, series?.live].find((part) => typeof part === "string") ?? null;
  return { modelKey, partition, model, live, order: place?.order ?? null, problem: problem as string | null };
}

/** What one partition of the models topic holds under one key. A string says why the model cannot be read. */
interface StoredModel {
  model: ModelWithSize | string | null;
  order: ModelEntry["order"];
}

class ModelsReader {
  readonly placesByKey = new Map<string, Map<number, StoredModel>>();
  readonly #bytesOf: string | null;
  readonly #storedByPartition = new Map<number, Buffer | null>();

  constructor(bytesOf: string | null) {
    this.#bytesOf = bytesOf;
  }

  take({ partition, records }: StoredBatch): void {
    for (const { key, value } of records) {
      if (key === null) continue;
      const { modelKey, part } = readModelKey(key.toString());
      if (part === "outcome") continue;
      const place = this.#placeOf(modelKey, partition);
      if (part === "order") place.order = value === null ? null : orderIn(value);
      else {
        place.model = value === null ? null : readable(() => modelIn(value, modelKey));
        if (modelKey === this.#bytesOf) this.#storedByPartition.set(partition, value);
      }
    }
  }

  storedAt(partition: number | undefined): Buffer | null {
    return partition === undefined ? null : (this.#storedByPartition.get(partition) ?? null);
  }

  #placeOf(modelKey: string, partition: number): StoredModel {
    const places = this.placesByKey.get(modelKey) ?? new Map<number, StoredModel>();
    const place = places.get(partition) ?? { model: null, order: null };
    this.placesByKey.set(modelKey, places.set(partition, place));
    return place;
  }
}

interface SeriesState {
  readonly partition: number;
  /** Timestamp of the newest record. */
  readonly newestMs: number;
  readonly live: LiveFacts | string | null;
}

class LiveReader {
  readonly seriesById = new Map<string, SeriesState>();

  take({ partition, records }: StoredBatch): void {
    for (const { key, value, timestampMs } of records) {
      const name = key?.toString() ?? "";
      const cut = name.lastIndexOf("#");
      if (cut <= 0) continue; // No series has an empty id; the log stores its positions under such a key.
      const seriesId = name.slice(0, cut);
      const place = this.seriesById.get(seriesId);
      const isElsewhere = place !== undefined && place.partition !== partition;
      if (value === null) {
        // Blocks and live state are deleted only when the series is forgotten; a pending forecast also when it expires.
        if (!isElsewhere && !/#f\d+$/.test(name)) this.seriesById.delete(seriesId);
        continue;
      }
      // A series that producers now send to another partition leaves its old state behind.
      if (isElsewhere && place.newestMs > timestampMs) continue;
      const live =
        name.slice(cut) === "#live"
          ? readable(() => readLiveFacts(value))
          : isElsewhere
            ? null
            : (place?.live ?? null);
      this.seriesById.set(seriesId, { partition, newestMs: timestampMs, live });
    }
  }
}

function modelIn(value: Buffer, modelKey: string): ModelWithSize | string {
  const { weights, previous: _, ...facts } = modelRecordCodec.decode(value);
  if (facts.modelKey !== modelKey) return `the record holds the model of ${facts.modelKey}`;
  return { ...facts, weightBytes: weights.length };
}

/** Throws STATE_CORRUPT when the bytes are no live state that this release can read. */
export function readLiveFacts(value: Buffer): LiveFacts {
  const stored = readState(value, "live state");
  const { modelVersion, phase, phaseSince, driftSince, requestId, probation, verdict } = stored.record;
  const scores = storedScores(stored);
  return { modelVersion, phase, phaseSince, driftSince, requestId, probation, verdict, scores };
}

/** The worker discards an order that it cannot read, so such an order is not pending. */
function orderIn(value: Buffer): ModelEntry["order"] {
  const found = readable(() => orderCodec.decode(value));
  return typeof found === "string" ? null : { id: found.id, kind: found.kind, askedAt: found.askedAt };
}

function readable<T>(read: () => T): T | string {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ForecastnetError)) throw error;
    return error.message;
  }
}
