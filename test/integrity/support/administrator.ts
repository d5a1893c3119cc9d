// What people do to a group and its topics beside the product: with the client's admin, and never through our code.

import kafkajs, { type Admin, type Kafka } from "kafkajs";
import { openLink } from "../../../src/log/kafka/cluster-link.ts";
import { fetchCommitted, withoutSession } from "../../../src/log/kafka/wire/protocol.ts";
import { partitions } from "./load.ts";
import type { Story } from "./story.ts";
import { until } from "./until.ts";

const compressionNames = ["none", "gzip", "snappy", "lz4", "zstd"];

export class Administrator {
  readonly #story: Story;
  readonly #kafka: Kafka;
  readonly #admin: Admin;

  private constructor(story: Story, kafka: Kafka) {
    this.#story = story;
    this.#kafka = kafka;
    this.#admin = kafka.admin();
  }

  static async of(story: Story): Promise<Administrator> {
    const kafka = new kafkajs.Kafka({
      brokers: [...story.config.kafka.brokers],
      clientId: "administrator",
      logLevel: kafkajs.logLevel.NOTHING,
    });
    const administrator = new Administrator(story, kafka);
    await administrator.#admin.connect();
    story.atEnd(() => administrator.#admin.disconnect());
    return administrator;
  }

  get kafka(): Kafka {
    return this.#kafka;
  }

  /** As the broker does by itself a week after the last worker has left. */
  async deleteGroup(): Promise<void> {
    await this.#admin.deleteGroups([this.#story.group]);
  }

  /** Only while no worker runs: the broker refuses it otherwise. */
  async setOffset(partition: number, offset: number): Promise<void> {
    const { group: groupId, input: topic } = this.#story;
    await this.#admin.setOffsets({ groupId, topic, partitions: [{ partition, offset: String(offset) }] });
  }

  async deleteInput(): Promise<void> {
    const { input } = this.#story;
    await this.#admin.deleteTopics({ topics: [input] });
    await until(`${input} to be gone`, async () => !(await this.#admin.listTopics()).includes(input));
  }

  async createInput(): Promise<void> {
    await this.#story.log.createTopics([{ topic: this.#story.input, partitions, compacted: false }]);
  }

  /** As retention does: what lies before the offset is gone from every partition. */
  async deleteInputBefore(offsetByPartition: ReadonlyMap<number, number>): Promise<void> {
    const offsets = [...offsetByPartition].map(([partition, offset]) => ({
      ...{ partition, offset: String(offset) },
    }));
    await this.#admin.fetchTopicOffsets(this.#story.input); // makes the client look up the leaders
    await this.#admin.deleteTopicRecords({ topic: this.#story.input, partitions: offsets });
  }

  /** How the record batches of a partition are stored, each kind once. */
  async compressionsOf(topic: string, partition: number): Promise<ReadonlySet<string>> {
    const link = openLink(this.#kafka);
    try {
      await link.connect([topic]);
      const maxBytes = 16 * 1024 * 1024;
      const request = fetchCommitted(
        { ...withoutSession, places: [{ topic, partition, offset: 0, maxBytes }] },
        { maxWaitMs: 0, maxBytes },
      );
      const answer = await link.ask(link.leaderOf({ topic, partition }), request);
      const recordSet = answer.partitions[0]?.recordSet ?? Buffer.alloc(0);
      const found = new Set<string>();
      for (let at = 0; at + 61 <= recordSet.length; at += 12 + recordSet.readInt32BE(at + 8)) {
        const attributes = recordSet.readInt16BE(at + 21);
        const isControl = (attributes & 0x20) !== 0;
        if (!isControl) found.add(compressionNames[attributes & 7] ?? "unknown");
      }
      return found;
    } finally {
      await link.close();
    }
  }
}
