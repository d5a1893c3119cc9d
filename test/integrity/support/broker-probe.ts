// Looks at the broker beside the product: how far the group has committed, where the topics end, and which
// partitions hold an open transaction this very moment.

import { setTimeout as wait } from "node:timers/promises";
import kafkajs, { type Admin, type Cluster, type Kafka } from "kafkajs";
import { clusterOf } from "../../../src/log/kafka/cluster-link.ts";
import { isRetriable } from "../../../src/log/kafka/kafka-errors.ts";

interface PartitionEnds {
  readonly partition: number;
  readonly highWatermark: string;
  readonly lastStableOffset: string;
}

/** A broker that has just come back may still be loading what it is asked for; the client does not wait for that. */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await ask();
    } catch (error) {
      if (!isRetriable(error) || attempt === 100) throw error;
      await wait(100);
    }
  }
}

export class BrokerProbe {
  readonly #admin: Admin;
  readonly #cluster: Cluster;
  readonly #endByPlace = new Map<string, string>();

  private constructor(kafka: Kafka) {
    this.#admin = kafka.admin();
    this.#cluster = clusterOf(kafka);
  }

  static async open(bootstrap: string): Promise<BrokerProbe> {
    const kafka = new kafkajs.Kafka({
      brokers: bootstrap.split(","),
      clientId: "probe",
      logLevel: kafkajs.logLevel.NOTHING,
      retry: { initialRetryTime: 50, maxRetryTime: 1_000, retries: 20 },
    });
    const probe = new BrokerProbe(kafka);
    await Promise.all([probe.#admin.connect(), probe.#cluster.connect()]);
    return probe;
  }

  async close(): Promise<void> {
    await Promise.all([this.#admin.disconnect(), this.#cluster.disconnect()]);
  }

  /** The group's position by partition; −1 where it has none. */
  async committed(group: string, topic: string): Promise<ReadonlyMap<number, number>> {
    const [found] = await patiently(() => this.#admin.fetchOffsets({ groupId: group, topics: [topic] }));
    return new Map((found?.partitions ?? []).map(({ partition, offset }) => [partition, Number(offset)]));
  }

  async ends(topic: string): Promise<ReadonlyMap<number, number>> {
    const found = await patiently(() => this.#admin.fetchTopicOffsets(topic));
    return new Map(found.map(({ partition, high }) => [partition, Number(high)]));
  }

  /** Records of the topic the group has not settled. */
  async lag(group: string, topic: string): Promise<number> {
    const [committed, ends] = await Promise.all([this.committed(group, topic), this.ends(topic)]);
    let lag = 0;
    for (const [partition, end] of ends) lag += end - Math.max(0, committed.get(partition) ?? 0);
    return lag;
  }

  /** The partitions with records that are written but neither committed nor aborted. One answer of the broker
   * holds both ends, so that what it shows was so at one moment. */
  async openTransactions(topic: string): Promise<readonly number[]> {
    await this.#cluster.addMultipleTargetTopics([topic]);
    const partitions = this.#cluster
      .findTopicPartitionMetadata(topic)
      .map(({ partitionId }: { partitionId: number }) => partitionId);
    const [leader] = Object.keys(this.#cluster.findLeaderForPartitions(topic, partitions));
    const broker = await this.#cluster.findBroker({ nodeId: leader as string });
    const endOf = (partition: number) => this.#endByPlace.get(`${topic}/${partition}`) ?? "0";
    const { responses } = await broker.fetch({
      isolationLevel: 1,
      maxWaitTime: 0,
      minBytes: 0,
      maxBytes: 1,
      topics: [
        {
          topic,
          partitions: partitions.map((partition: number) => ({
            partition,
            fetchOffset: endOf(partition),
            maxBytes: 1,
          })),
        },
      ],
    });
    const ends: readonly PartitionEnds[] = responses.flatMap(
      (answer: { partitions: readonly PartitionEnds[] }) => answer.partitions,
    );
    for (const { partition, highWatermark } of ends)
      this.#endByPlace.set(`${topic}/${partition}`, highWatermark);
    return ends
      .filter(({ highWatermark, lastStableOffset }) => Number(lastStableOffset) < Number(highWatermark))
      .map(({ partition }) => partition);
  }
}
