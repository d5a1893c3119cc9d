// Orders to workers and the events that answer them. An order is a record on the models topic, where the worker that
// owns the series receives it; the decision is an event on the events topic.

import type { Outgoing } from "../domain.ts";
import { avroCodec } from "../log/codec/avro.ts";
import { orderKey } from "../log/codec/model-keys.ts";
import type { ModelEventRecord, ModelOrderRecord } from "../log/codec/schemas.generated.ts";
import type { Log, StoredBatch } from "../log/log.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import type { FleetDeps } from "./on-cluster.ts";

const orderCodec = avroCodec("ModelOrder");
const eventCodec = avroCodec("ModelEvent");
const ordersPerAppend = 500;

interface AddressedOrder {
  readonly order: ModelOrderRecord;
  readonly partition: number;
}

type OrderDeps = Pick<FleetDeps, "log" | "topics" | "signal">;

/** Sends the orders without waiting for an answer. */
export async function sendOrders(
  orders: readonly AddressedOrder[],
  { log, topics }: Pick<OrderDeps, "log" | "topics">,
): Promise<void> {
  const records = orders.map(
    ({ order, partition }): Outgoing => ({
      topic: topics.models,
      partition,
      key: Buffer.from(orderKey(order.modelKey)),
      value: orderCodec.encode(order),
    }),
  );
  for (let from = 0; from < records.length; from += ordersPerAppend)
    await log.append(records.slice(from, from + ordersPerAppend));
}

/** Sends the orders and yields every later event about their models, until the timeout or the signal. */
export async function* sendAndFollow(
  orders: readonly AddressedOrder[],
  timeoutMs: number,
  deps: OrderDeps,
): AsyncGenerator<ModelEventRecord> {
  const { log, topics, signal } = deps;
  // The ends are read before the orders are sent: a follower from "latest" may find its position only after a fast
  // worker has answered.
  const ends = await readEnds(log, topics.events, signal);
  await sendOrders(orders, deps);
  const modelKeys = new Set(orders.map(({ order }) => order.modelKey));
  const ended = new AbortController();
  const timer = setTimeout(() => ended.abort(), timeoutMs);
  try {
    const until = AbortSignal.any([signal, ended.signal]);
    for await (const batch of log.follow(topics.events, "earliest", until))
      yield* eventsIn(batch, modelKeys, ends);
  } finally {
    clearTimeout(timer);
    ended.abort();
  }
}

/** All events about a model that the topic still holds, oldest first. */
export async function readEvents(
  log: Log,
  topic: string,
  modelKey: string,
  signal: AbortSignal,
): Promise<readonly ModelEventRecord[]> {
  const events: ModelEventRecord[] = [];
  for await (const batch of log.read(topic, signal)) events.push(...eventsIn(batch, new Set([modelKey])));
  return events.sort((a, b) => a.time - b.time);
}

/** The end offset of each partition that holds a record. */
async function readEnds(log: Log, topic: string, signal: AbortSignal): Promise<ReadonlyMap<number, number>> {
  const ends = new Map<number, number>();
  for await (const { partition, nextOffset } of log.read(topic, signal)) ends.set(partition, nextOffset);
  return ends;
}

/** Events are keyed by model, so those of other models are not decoded. */
function eventsIn(
  { partition, records }: StoredBatch,
  modelKeys: ReadonlySet<string>,
  ends: ReadonlyMap<number, number> = new Map(),
): readonly ModelEventRecord[] {
  const from = ends.get(partition) ?? 0;
  return records.flatMap(({ key, value, offset }) => {
    if (offset < from || value === null || (key !== null && !modelKeys.has(key.toString()))) return [];
    const event = decodeEvent(value);
    return event !== null && modelKeys.has(event.modelKey) ? [event] : [];
  });
}

/** Null for a record that is no event of ours; anyone may write to the topic. */
function decodeEvent(value: Buffer): ModelEventRecord | null {
  try {
    return eventCodec.decode(value);
  } catch (error) {
    if (!(error instanceof ForecastnetError)) throw error;
    return null;
  }
}

/** What an event means for an order; null when the event is about something else. */
type Bearing = "done" | "refused" | "progress" | null;

/**
 * Events name the model, not the order. What a training that is already running decides about the same model must not
 * count as the answer to a rollback or an import. `version` is the imported version, null for other orders.
 */
export function bearingOf(
  { kind, toVersion }: ModelEventRecord,
  orderKind: ModelOrderRecord["kind"],
  version: string | null,
): Bearing {
  switch (orderKind) {
    case "FORGET":
      return kind === "FORGOTTEN" ? "done" : null;
    case "ROLL_BACK":
      if (kind === "ROLLED_BACK") return "done";
      // A refusal that names a version is about a challenger.
      return kind === "REFUSED" && toVersion === null ? "refused" : null;
    case "IMPORT":
      if (kind === "PROMOTED") return toVersion === version ? "done" : null;
      if (kind === "RETIRED") return "refused";
      return kind === "REFUSED" && (toVersion === null || toVersion === version) ? "refused" : null;
    default:
      if (kind === "REQUESTED") return "progress";
      if (kind === "PROMOTED") return "done";
      return kind === "REFUSED" || kind === "FAILED" || kind === "RETIRED" ? "refused" : null;
  }
}
