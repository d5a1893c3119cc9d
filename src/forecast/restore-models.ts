// Fills a store from the models topic when a partition is taken over. A record that cannot be read costs its own
// series the model, and nothing else.

import { setImmediate } from "node:timers/promises";
import { avroCodec } from "../log/codec/avro.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import type { ModelStore, Refusal } from "./model-store.ts";

const codec = avroCodec("ModelRecord");

/** Checking a model to its last number takes about a millisecond, and other lanes and the group's pulse must not wait. */
const MODELS_PER_TURN = 16;

export async function restoreModels(
  store: ModelStore,
  valueByKey: Map<string, Buffer>,
): Promise<readonly Refusal[]> {
  const refusals: Refusal[] = [];
  let read = 0;
  for (const [key, value] of valueByKey) {
    valueByKey.delete(key); // The bytes of a large fleet's models need not be held twice.
    const refusal = putStored(store, key, value);
    if (refusal !== null) refusals.push(refusal);
    if (++read % MODELS_PER_TURN === 0) await setImmediate();
  }
  return refusals;
}

function putStored(store: ModelStore, key: string, value: Buffer): Refusal | null {
  try {
    const record = codec.decode(value);
    if (record.modelKey === key) return store.put(record);
    const detail = `the record under the key ${key} holds the model of ${record.modelKey}: write each under its own key`;
    return { modelKey: key, reason: "unreadable", detail };
  } catch (error) {
    if (!(error instanceof ForecastnetError)) throw error;
    return { modelKey: key, reason: "unreadable", detail: error.message };
  }
}
