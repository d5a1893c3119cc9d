// Cuts records into produce requests. A request carries one record batch per partition, and a broker refuses
// a batch larger than its topic's max.message.bytes: many small records need several requests, and a record
// that is too large by itself is refused here, where its topic and size can still be named.

import type { Message, TopicMessages } from "kafkajs";
import type { Outgoing } from "../../domain.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import type { TopicFacts } from "../log.ts";

/** What surrounds a record's key, value and headers on the wire, generously. */
const RECORD_OVERHEAD_BYTES = 100;
/** A topic may take far larger batches for the sake of a few large records; the many small ones need none. */
const BATCH_BYTES = 900_000;

/** What is known of a topic; throws when it does not exist. */
export type FindTopic = (topic: string) => Promise<TopicFacts>;

interface Fill {
  request: number;
  bytes: number;
  readonly limit: number;
}

export async function cutRequests(
  records: readonly Outgoing[],
  findTopic: FindTopic,
): Promise<TopicMessages[][]> {
  const requests: Map<string, Message[]>[] = [];
  const fillByPlace = new Map<string, Fill>();
  for (const record of records) {
    const place = `${record.topic}/${record.partition}`;
    let fill = fillByPlace.get(place);
    if (fill === undefined) {
      const facts = await findTopic(record.topic);
      if (record.partition >= facts.partitions) throw noSuchPartition(record, facts);
      fill = { request: 0, bytes: 0, limit: facts.maxMessageBytes };
      fillByPlace.set(place, fill);
    }
    const bytes = bytesOf(record);
    if (bytes > fill.limit) throw tooLarge(record, fill.limit);
    if (fill.bytes > 0 && fill.bytes + bytes > Math.min(fill.limit, BATCH_BYTES)) {
      fill.request++;
      fill.bytes = 0;
    }
    fill.bytes += bytes;
    addMessage(requests, fill.request, record);
  }
  return requests.map((request) => [...request].map(([topic, messages]) => ({ topic, messages })));
}

/** For a broker that found a batch too large although we did not: names the likeliest culprit. */
export async function largestRecordError(
  records: readonly Outgoing[],
  findTopic: FindTopic,
  cause: unknown,
): Promise<ForecastnetError> {
  const largest = records.reduce((a, b) => (bytesOf(b) > bytesOf(a) ? b : a));
  return tooLarge(largest, (await findTopic(largest.topic)).maxMessageBytes, cause);
}

function addMessage(requests: Map<string, Message[]>[], index: number, record: Outgoing): void {
  let request = requests[index];
  if (request === undefined) {
    request = new Map();
    requests[index] = request;
  }
  // What we write has all that kafkajs asks of a message.
  const messages = request.get(record.topic);
  if (messages === undefined) request.set(record.topic, [record]);
  else messages.push(record);
}

function bytesOf({ key, value, headers }: Outgoing): number {
  let bytes = RECORD_OVERHEAD_BYTES + (key?.length ?? 0) + (value?.length ?? 0);
  for (const name in headers) bytes += Buffer.byteLength(name) + Buffer.byteLength(headers[name] ?? "") + 10;
  return bytes;
}

function tooLarge(record: Outgoing, limit: number, cause?: unknown): ForecastnetError {
  const { topic, key } = record;
  const bytes = bytesOf(record);
  return new ForecastnetError(
    "RECORD_TOO_LARGE",
    `a record for topic ${topic} has ${bytes} bytes, the topic takes ${limit}: raise its max.message.bytes`,
    { cause, context: { topic, bytes, limit, key: key?.toString() } },
  );
}

function noSuchPartition({ topic, partition }: Outgoing, { partitions }: TopicFacts): ForecastnetError {
  return new ForecastnetError(
    "TOPIC_UNFIT",
    `a record is bound for partition ${partition} of topic ${topic}, which has ${partitions}: add partitions to it`,
    { context: { topic, partition, partitions } },
  );
}
