// All models and series of a fleet, as the models topic and the state topic tell of them, read once. Holds facts, not
// weights. What cannot be read is told of its own series and costs no other.

import { avroCodec } from "../../log/codec/avro.ts";
import type { ModelOrderRecord, ModelRecord } from "../../log/codec/schemas.generated.ts";
import type { Log, StoredBatch } from "../../log/log.ts";
import { cohortName, isCohortKey } from "../../models/cohort.ts";
import { homeOf } from "../../retrain/cohort-home.ts";
import { readModelKey } from "../../retrain/requests/model-keys.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import { type LiveFacts, readLiveFacts } from "./live-facts.ts";

const recordCodec = avroCodec("ModelRecord");
const orderCodec = avroCodec("ModelOrder");

export type RecordFacts = Omit<ModelRecord, "weights" | "previous">;

export interface ModelFacts extends RecordFacts {
  readonly weightBytes: number;
}

export interface Entry {
  readonly modelKey: string;
  /** Where its owner hears of orders. */
  readonly partition: number;
  readonly model: ModelFacts | null;
  readonly live: LiveFacts | null;
  /** Asked for by hand and not carried out yet. */
  readonly order: Pick<ModelOrderRecord, "id" | "kind" | "askedAt"> | null;
  /** What of it cannot be read, in words. */
  readonly problem: string | null;
}

export interface Inventory {
  readonly entryByKey: ReadonlyMap<string, Entry>;
  /** The record of the key asked for, as it lies on the models topic. */
  readonly stored: Buffer | null;
}

export interface InventoryTopics {
  readonly models: string;
  readonly state: string;
}

/** `keptKey` names the model whose bytes are wanted. */
export async function readInventory(
  log: Log,
  topics: InventoryTopics,
  keptKey: string | null,
  signal: AbortSignal,
): Promise<Inventory> {
  const models = new ModelsRead(keptKey);
  const states = new StatesRead();
  for await (const batch of log.read(topics.models, signal)) models.take(batch);
  for await (const batch of log.read(topics.state, signal)) states.take(batch);
  const entryByKey = new Map<string, Entry>();
  for (const modelKey of new Set([...states.seriesById.keys(), ...models.placesByKey.keys()])) {
    const entry = joinEntry(modelKey, models, states);
    if (entry !== null) entryByKey.set(modelKey, entry);
  }
  const home = keptKey === null ? undefined : entryByKey.get(keptKey)?.partition;
  return { entryByKey, stored: models.storedAt(home) };
}

function joinEntry(modelKey: string, models: ModelsRead, states: StatesRead): Entry | null {
  const series = states.seriesById.get(modelKey);
  const places = models.placesByKey.get(modelKey) ?? new Map<number, Place>();
  const serving = [...places.keys()].filter((at) => places.get(at)?.model !== null);
  // A model lives where its state is. Without any, it is where it serves; a cohort's, which lies in all partitions, at home.
  const home = isCohortKey(modelKey) ? homeOf(cohortName(modelKey), serving.length) : -1;
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

/** What lies under one key of the models topic in one partition; text says why it cannot be read. */
interface Place {
  model: ModelFacts | string | null;
  order: Entry["order"];
}

class ModelsRead {
  readonly placesByKey = new Map<string, Map<number, Place>>();
  readonly #keptKey: string | null;
  readonly #storedByPartition = new Map<number, Buffer | null>();

  constructor(keptKey: string | null) {
    this.#keptKey = keptKey;
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
        if (modelKey === this.#keptKey) this.#storedByPartition.set(partition, value);
      }
    }
  }

  storedAt(partition: number | undefined): Buffer | null {
    return partition === undefined ? null : (this.#storedByPartition.get(partition) ?? null);
  }

  #placeOf(modelKey: string, partition: number): Place {
    const places = this.placesByKey.get(modelKey) ?? new Map<number, Place>();
    const place = places.get(partition) ?? { model: null, order: null };
    this.placesByKey.set(modelKey, places.set(partition, place));
    return place;
  }
}

interface SeriesPlace {
  partition: number;
  newestMs: number;
  live: LiveFacts | string | null;
}

class StatesRead {
  readonly seriesById = new Map<string, SeriesPlace>();

  take({ partition, records }: StoredBatch): void {
    for (const { key, value, timestampMs } of records) {
      const name = key?.toString() ?? "";
      const cut = name.lastIndexOf("#");
      if (cut < 0) continue;
      const seriesId = name.slice(0, cut);
      const place = this.seriesById.get(seriesId);
      const isElsewhere = place !== undefined && place.partition !== partition;
      // A series that producers have sent elsewhere leaves its old state behind.
      if (isElsewhere && place.newestMs > timestampMs) continue;
      const live = name.slice(cut) === "#live" ? liveIn(value) : isElsewhere ? null : (place?.live ?? null);
      this.seriesById.set(seriesId, { partition, newestMs: timestampMs, live });
    }
  }
}

function liveIn(value: Buffer | null): LiveFacts | string | null {
  return value === null ? null : readable(() => readLiveFacts(value));
}

function modelIn(value: Buffer, modelKey: string): ModelFacts | string {
  const { weights, previous: _, ...facts } = recordCodec.decode(value);
  if (facts.modelKey !== modelKey) return `its record holds the model of ${facts.modelKey}`;
  return { ...facts, weightBytes: weights.length };
}

/** An order that cannot be read is none: its worker dismisses it. */
function orderIn(value: Buffer): Entry["order"] {
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
