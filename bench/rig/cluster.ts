// The benches' own hand on the broker: makes topics, publishes input, and watches how far a consumer group has
// committed. Never reads what is measured while it is being measured.

import { setTimeout as wait } from "node:timers/promises";
import type { Admin, Producer } from "kafkajs";
import kafkajs, { type Kafka } from "kafkajs";
import type { Outgoing } from "../../src/domain.ts";

const pollMs = 50;
const defaultPatienceMs = 120_000;

/** Setting of a topic whose records carry the broker's own time of arrival, which latency is counted from. */
export const arrivalTimes = { "message.timestamp.type": "LogAppendTime" };

/** How the commits of a group moved from the first one seen to the last. */
export interface Progress {
  readonly records: number;
  readonly ms: number;
}

export class Cluster {
  /** Addresses, separated by commas. */
  readonly bootstrap: string;
  readonly kafka: Kafka;
  readonly #admin: Admin;
  readonly #filler: Producer;
  readonly #sensor: Producer;

  private constructor(brokers: readonly string[]) {
    this.bootstrap = brokers.join(",");
    this.kafka = quietKafka(this.bootstrap);
    this.#admin = this.kafka.admin();
    this.#filler = this.kafka.producer({ ...byPartition, transactionalId: "bench-filler", idempotent: true });
    this.#sensor = this.kafka.producer(byPartition);
  }

  static async connect(brokers: readonly string[]): Promise<Cluster> {
    const cluster = new Cluster(brokers);
    await Promise.all([cluster.#admin.connect(), cluster.#filler.connect(), cluster.#sensor.connect()]);
    return cluster;
  }

  async createTopic(topic: string, partitions: number, settings: Record<string, string> = {}): Promise<void> {
    const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
    const replicationFactor = -1; // the default of the brokers
    const topics = [{ topic, numPartitions: partitions, replicationFactor, configEntries }];
    await this.#admin.createTopics({ topics, waitForLeaders: false });
    // The client's own waiting gives up at a broker that has not heard of the topic yet.
    while (!(await this.#admin.listTopics()).includes(topic)) await wait(50);
  }

  /** Gives the topic these settings, and to all others their defaults. */
  async alterTopic(topic: string, settings: Readonly<Record<string, string>>): Promise<void> {
    const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
    const type = kafkajs.ConfigResourceTypes.TOPIC;
    await this.#admin.alterConfigs({
      validateOnly: false,
      resources: [{ type, name: topic, configEntries }],
    });
  }

  /**
   * Writes the records in one transaction: readers of committed data see nothing, then all of them. Returns
   * the position after the last record of each partition, summed.
   */
  async publishAtOnce(topic: string, records: readonly Outgoing[]): Promise<number> {
    const transaction = await this.#filler.transaction();
    const endByPartition = new Map<number, number>();
    for (const messages of piecesOf(records)) {
      for (const { partition, baseOffset } of await transaction.send({ topic, messages })) {
        const count = messages.filter((message) => message.partition === partition).length;
        endByPartition.set(partition, Number(baseOffset) + count);
      }
    }
    await transaction.commit();
    return [...endByPartition.values()].reduce((sum, end) => sum + end, 0);
  }

  /** Writes the records without a transaction, and tells when the broker appended those of each partition. */
  async send(topic: string, records: readonly Outgoing[]): Promise<ReadonlyMap<number, number>> {
    const written = await this.#sensor.send({ topic, messages: records.map(toMessage), acks: -1 });
    return new Map(written.map(({ partition, logAppendTime }) => [partition, Number(logAppendTime)]));
  }

  /** Writes any number of records of a topic without a transaction. */
  async load(topic: string, records: Iterable<Outgoing>): Promise<void> {
    for (const messages of piecesOf(records)) await this.#sensor.send({ topic, messages });
  }

  /** Where each partition ends, in partition order. */
  async ends(topic: string): Promise<number[]> {
    const offsets = await this.#admin.fetchTopicOffsets(topic);
    return offsets.sort((a, b) => a.partition - b.partition).map(({ high }) => Number(high));
  }

  /**
   * Publishes the records and waits until the group has committed them all. The clock runs from the first
   * commit seen to the last, so what it takes to wake up and to fetch first counts for nobody.
   */
  async timeGroup(
    group: string,
    topic: string,
    records: readonly Outgoing[],
    patienceMs = defaultPatienceMs,
  ): Promise<Progress> {
    const before = await this.#committed(group, topic);
    const goal = await this.publishAtOnce(topic, records);
    const deadline = performance.now() + patienceMs;
    let first: { readonly ms: number; readonly committed: number } | undefined;
    for (;;) {
      const committed = await this.#committed(group, topic);
      const ms = performance.now();
      if (first === undefined && committed > before) first = { ms, committed };
      if (first !== undefined && committed >= goal) {
        const share = (goal - first.committed) / (goal - before);
        return { records: records.length * share, ms: ms - first.ms };
      }
      if (ms > deadline) {
        throw new Error(`group ${group} committed ${committed} of ${goal} on ${topic} in ${patienceMs} ms`);
      }
      await wait(pollMs);
    }
  }

  /** Waits until the group has committed all that the topic holds; for topics that are written without transactions. */
  async caughtUp(group: string, topic: string): Promise<void> {
    const goal = (await this.ends(topic)).reduce((sum, end) => sum + end, 0);
    const deadline = performance.now() + defaultPatienceMs;
    while ((await this.#committed(group, topic)) < goal) {
      if (performance.now() > deadline) throw new Error(`group ${group} did not commit all of ${topic}`);
      await wait(pollMs);
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#admin, this.#filler, this.#sensor].map((client) => client.disconnect()));
  }

  async #committed(groupId: string, topic: string): Promise<number> {
    const [found] = await this.#admin.fetchOffsets({ groupId, topics: [topic] });
    return (found?.partitions ?? []).reduce((sum, { offset }) => sum + Math.max(0, Number(offset)), 0);
  }
}

export function quietKafka(bootstrap: string): Kafka {
  const brokers = bootstrap.split(",");
  return new kafkajs.Kafka({ brokers, clientId: "bench", logLevel: kafkajs.logLevel.NOTHING });
}

/** Records go where their partition says; retries begin soon, as the worker's do. */
export const byPartition = {
  createPartitioner:
    () =>
    ({ message }: { readonly message: { readonly partition?: number } }) =>
      message.partition ?? 0,
  maxInFlightRequests: 1,
  retry: { initialRetryTime: 10, retries: 8 },
};

type KafkaMessage = Pick<Outgoing, "key" | "value" | "partition">;

function toMessage({ key, value, partition }: Outgoing): KafkaMessage {
  return { key, value, partition };
}

/** Runs of records short enough for the size limit of a request. */
function* piecesOf(records: Iterable<Outgoing>): Generator<KafkaMessage[]> {
  const maxRecords = 1_000;
  const maxBytes = 8_000_000;
  let piece: KafkaMessage[] = [];
  let bytes = 0;
  for (const record of records) {
    piece.push(toMessage(record));
    bytes += record.value?.length ?? 0;
    if (piece.length === maxRecords || bytes >= maxBytes) {
      yield piece;
      piece = [];
      bytes = 0;
    }
  }
  if (piece.length > 0) yield piece;
}
