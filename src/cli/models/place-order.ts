// Lays an order on the models topic, where the worker that owns the series hears of it, and waits for the decision
// that answers it on the events topic.

import { avroCodec } from "../../log/codec/avro.ts";
import type { ModelEventRecord, ModelOrderRecord } from "../../log/codec/schemas.generated.ts";
import type { Log } from "../../log/log.ts";
import { orderKey } from "../../retrain/requests/model-keys.ts";
import { bearingOf } from "./answers.ts";
import { eventsIn, readEnds } from "./events.ts";

const codec = avroCodec("ModelOrder");

export interface OrderPlace {
  readonly log: Log;
  readonly topics: { readonly models: string; readonly events: string };
  readonly partition: number;
  readonly signal: AbortSignal;
}

export interface Watch {
  /** Import only: the version brought. */
  readonly version: string | null;
  readonly timeoutMs: number;
  /** Hears of every decision that bears on the order, the last one included. */
  readonly onEvent: (event: ModelEventRecord) => void;
}

/** "silent": the time is up, and no decision was told. */
export type Outcome = "done" | "refused" | "silent";

export async function appendOrder(
  order: ModelOrderRecord,
  { log, topics, partition }: OrderPlace,
): Promise<void> {
  const key = Buffer.from(orderKey(order.modelKey));
  await log.append([{ topic: topics.models, partition, key, value: codec.encode(order) }]);
}

export async function placeOrder(order: ModelOrderRecord, place: OrderPlace, watch: Watch): Promise<Outcome> {
  const { log, topics, signal } = place;
  const ended = new AbortController();
  const either = AbortSignal.any([signal, ended.signal]);
  // A follower from the latest record on finds its place only after it was begun, and a worker is faster: what comes
  // after a known end is certain to be all of it.
  const ends = await readEnds(log, topics.events, signal);
  await appendOrder(order, place);
  const timer = setTimeout(() => ended.abort(), watch.timeoutMs);
  try {
    for await (const batch of log.follow(topics.events, "earliest", either)) {
      const outcome = hear(eventsIn(batch, order.modelKey, ends), order, watch);
      if (outcome !== "silent") return outcome;
    }
    return "silent";
  } finally {
    clearTimeout(timer);
    ended.abort();
  }
}

/** Tells of those that bear on the order, up to the one that answers it. */
function hear(
  events: readonly ModelEventRecord[],
  { kind }: ModelOrderRecord,
  { version, onEvent }: Watch,
): Outcome {
  for (const event of events) {
    const bearing = bearingOf(event, { kind, version });
    if (bearing !== null) onEvent(event);
    if (bearing === "done" || bearing === "refused") return bearing;
  }
  return "silent";
}
