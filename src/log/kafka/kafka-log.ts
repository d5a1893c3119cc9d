// The log on a Kafka cluster, through kafkajs. This folder is the only place that knows the client, so that
// it can be replaced: it is unmaintained, and what it lacks is built here, each thing in one file:
//   manual assignment        partition-reader.ts, kafka-reads.ts
//   co-partitioned, sticky   co-partition-assigner.ts
//   revocation               kafka-membership.ts
//   fencing without KIP-447  transactor.ts
//   backpressure             owned-kafka-partition.ts
//   noticing its silence     group-pulse.ts

import { setTimeout as delay } from "node:timers/promises";
import type { Admin, DescribeConfigResponse, ITopicConfig, Producer } from "kafkajs";
import kafkajs, { type Kafka, type KafkaConfig, type LogEntry } from "kafkajs";
import type { Outgoing } from "../../domain.ts";
import type { Clock } from "../../runtime/clock.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import type { Logger } from "../../runtime/logging.ts";
import type { Lane, Log, Membership, StoredBatch, Subscription, TopicFacts, TopicSpec } from "../log.ts";
import { isPassing, reasonOf, refusedKind, toPassing } from "./kafka-errors.ts";
import { KafkaMembership } from "./kafka-membership.ts";
import { KafkaReads } from "./kafka-reads.ts";
import { cutRequests } from "./produce-requests.ts";
import { type NeededRights, notAuthorized, rightOnTopics } from "./rights.ts";
import type { TransactionSettings } from "./transactor.ts";

export interface KafkaLogOptions {
  readonly brokers: readonly string[];
  readonly clientId: string;
  /** Read at every connection, as is `sasl`: a getter may give what is new. */
  readonly ssl?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
  readonly sasl?: {
    readonly mechanism: "plain" | "scram-sha-256" | "scram-sha-512";
    readonly username: string;
    readonly password: string;
  };
  readonly sessionTimeoutMs: number;
  readonly transactions: TransactionSettings;
  /** Copies of each topic we create; -1 leaves it to the broker. */
  readonly replicationFactor: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** So long a cluster may take until a new topic can be described. */
const newTopicMs = 10_000;

export async function openKafkaLog(options: KafkaLogOptions): Promise<Log> {
  const log = new KafkaLog(options);
  try {
    await log.connect();
    return log;
  } catch (error) {
    await log.close();
    throw error;
  }
}

class KafkaLog implements Log {
  readonly #options: KafkaLogOptions;
  readonly #kafka: Kafka;
  readonly #admin: Admin;
  readonly #reads: KafkaReads;
  readonly #factsByTopic = new Map<string, TopicFacts>();
  #producer: Promise<Producer> | undefined;

  constructor(options: KafkaLogOptions) {
    this.#options = options;
    this.#kafka = new kafkajs.Kafka(clientConfig(options));
    this.#admin = this.#kafka.admin();
    this.#reads = new KafkaReads(this.#kafka, (topic) => this.#findTopic(topic), options.logger);
  }

  async connect(): Promise<void> {
    await this.#reach(() => this.#admin.connect());
  }

  describeTopics(topics: readonly string[]): Promise<readonly TopicFacts[]> {
    return this.#reach(() => this.#describeTopics(topics));
  }

  async #describeTopics(topics: readonly string[]): Promise<readonly TopicFacts[]> {
    const listed = new Set(await this.#admin.listTopics());
    const wanted = topics.filter((topic) => listed.has(topic));
    const unlisted = topics.filter((topic) => !listed.has(topic));
    // A list leaves out, without a word, what this user may not see.
    await this.#refuseAny("Describe (Read and Write include it)", unlisted, (topic) =>
      this.#admin.fetchTopicMetadata({ topics: [topic] }),
    );
    if (wanted.length === 0) return [];
    const metadata = await this.#admin.fetchTopicMetadata({ topics: wanted });
    const { resources } = await this.#settingsOf(wanted).catch(async (error: unknown) => {
      await this.#refuseAny("DescribeConfigs", wanted, (topic) => this.#settingsOf([topic]));
      throw error;
    });
    return wanted.map((topic) => {
      const partitions = metadata.topics.find(({ name }) => name === topic)?.partitions ?? [];
      const entries = resources.find(({ resourceName }) => resourceName === topic)?.configEntries ?? [];
      const setting = (key: string) =>
        entries.find(({ configName }) => configName === key)?.configValue ?? "";
      return {
        topic,
        partitions: partitions.length,
        compacted: setting("cleanup.policy").split(",").includes("compact"),
        maxMessageBytes: Number(setting("max.message.bytes")),
      };
    });
  }

  #settingsOf(topics: readonly string[]): Promise<DescribeConfigResponse> {
    const configNames = ["cleanup.policy", "max.message.bytes"];
    const type = kafkajs.ConfigResourceTypes.TOPIC;
    return this.#admin.describeConfigs({
      includeSynonyms: false,
      resources: topics.map((name) => ({ type, name, configNames })),
    });
  }

  /** Throws when our user is refused this for any of the topics, naming them all. What else is wrong is let pass. */
  async #refuseAny(
    right: string,
    topics: readonly string[],
    ask: (topic: string) => Promise<unknown>,
  ): Promise<void> {
    const refused: string[] = [];
    let refusal: unknown;
    for (const topic of topics) {
      await ask(topic).catch((error: unknown) => {
        if (refusedKind(error) === null) return;
        refused.push(topic);
        refusal = error;
      });
    }
    if (refused.length > 0) throw notAuthorized(refusal, { topic: rightOnTopics(right, refused) });
  }

  async createTopics(specs: readonly TopicSpec[]): Promise<void> {
    const topics = specs.map(
      ({ topic, partitions, compacted, settings }): ITopicConfig => ({
        topic,
        numPartitions: partitions,
        replicationFactor: this.#options.replicationFactor,
        configEntries: Object.entries({
          "cleanup.policy": compacted ? "compact" : "delete",
          ...settings,
        }).map(([name, value]) => ({ name, value })),
      }),
    );
    // False says that all of them exist already; another worker may have been faster.
    const names = specs.map(({ topic }) => topic);
    const needed = { topic: rightOnTopics("Create", names) };
    await this.#reach(() => this.#admin.createTopics({ topics, waitForLeaders: false }), needed);
    // The client's own waiting gives up at a broker that has not heard of a topic yet.
    const isKnown = async () => (await this.describeTopics(names)).length === specs.length;
    for (let waitedMs = 0; waitedMs < newTopicMs && !(await isKnown()); waitedMs += 50) await delay(50);
  }

  async join(subscription: Subscription, lane: Lane): Promise<Membership> {
    const { sessionTimeoutMs, transactions, clock, logger } = this.#options;
    for (const topic of subscription.inputs) await this.#findTopic(topic);
    const membership = new KafkaMembership({
      kafka: this.#kafka,
      subscription,
      lane,
      sessionTimeoutMs,
      transactions,
      clock,
      logger,
      findTopic: (topic) => this.#findTopic(topic),
      committed: (group, topic, partition) => this.#committed(group, topic, partition),
      startOffset: (topic, partition, start) => this.#startOffset(topic, partition, start),
      reads: this.#reads,
    });
    await this.#reach(() => membership.join());
    return membership;
  }

  async append(records: readonly Outgoing[]): Promise<void> {
    const producer = await this.#connectedProducer();
    for (const topicMessages of await cutRequests(records, (topic) => this.#findTopic(topic))) {
      const needed = {
        topic: rightOnTopics(
          "Write",
          topicMessages.map(({ topic }) => topic),
        ),
      };
      await this.#reach(() => producer.sendBatch({ topicMessages }), needed);
    }
  }

  follow(topic: string, from: "earliest" | "latest", signal: AbortSignal): AsyncIterable<StoredBatch> {
    return this.#reads.follow(topic, from, signal);
  }

  read(topic: string, signal: AbortSignal): AsyncIterable<StoredBatch> {
    return this.#reads.read(topic, signal);
  }

  async close(): Promise<void> {
    const producer = await this.#producer?.catch(() => undefined);
    await Promise.all([producer?.disconnect(), this.#admin.disconnect()]);
  }

  /** Says of a failure whether waiting may help. */
  async #reach<T>(act: () => Promise<T>, needed: NeededRights = {}): Promise<T> {
    try {
      return await act();
    } catch (error) {
      if (error instanceof ForecastnetError) throw error;
      if (refusedKind(error) !== null) throw notAuthorized(error, needed);
      const code = isPassing(error) ? "BROKER_UNREACHABLE" : "LOG_FAILED";
      const brokers = this.#options.brokers.join(", ");
      throw new ForecastnetError(code, `kafka at ${brokers}: ${reasonOf(error)}`, { cause: error });
    }
  }

  async #committed(groupId: string, topic: string, partition: number): Promise<number | null> {
    const [found] = await this.#admin.fetchOffsets({ groupId, topics: [topic] });
    const offset = Number(found?.partitions.find((entry) => entry.partition === partition)?.offset ?? -1);
    return offset < 0 ? null : offset;
  }

  async #startOffset(topic: string, partition: number, start: "earliest" | "latest"): Promise<number> {
    try {
      const offsets = await this.#admin.fetchTopicOffsets(topic);
      const found = offsets.find((entry) => entry.partition === partition);
      if (found === undefined)
        throw new TypeError(`the client has no offset of partition ${partition} of ${topic}`);
      return Number(start === "earliest" ? found.low : found.high);
    } catch (error) {
      throw toPassing(error);
    }
  }

  /** Remembered for good: a topic's limits are read again when the worker restarts. */
  async #findTopic(topic: string): Promise<TopicFacts> {
    const known = this.#factsByTopic.get(topic);
    if (known !== undefined) return known;
    const [facts] = await this.describeTopics([topic]);
    if (facts === undefined) throw new ForecastnetError("TOPIC_MISSING", `topic ${topic} does not exist`);
    this.#factsByTopic.set(topic, facts);
    return facts;
  }

  /** One for all appends; a failed connection is not remembered. */
  async #connectedProducer(): Promise<Producer> {
    this.#producer ??= this.#reach(() => this.#connectProducer());
    try {
      return await this.#producer;
    } catch (error) {
      this.#producer = undefined;
      throw error;
    }
  }

  async #connectProducer(): Promise<Producer> {
    const producer = this.#kafka.producer({
      createPartitioner:
        () =>
        ({ message }) =>
          message.partition ?? 0,
    });
    await producer.connect();
    return producer;
  }
}

function clientConfig({ brokers, clientId, ssl, sasl, logger }: KafkaLogOptions): KafkaConfig {
  return {
    brokers: [...brokers],
    clientId,
    connectionTimeout: 3_000,
    requestTimeout: 20_000,
    retry: { initialRetryTime: 50, maxRetryTime: 2_000, retries: 6 },
    ...(ssl === undefined ? {} : { ssl }),
    ...(sasl === undefined ? {} : { sasl: sasl as NonNullable<KafkaConfig["sasl"]> }),
    logLevel: kafkajs.logLevel.INFO,
    // kafkajs calls every retried answer an error. What matters reaches us as an exception or an event.
    logCreator:
      () =>
      ({ namespace, log: { message, ...facts } }: LogEntry) => {
        logger.debug({ client: namespace, ...facts }, message.toLowerCase());
      },
  };
}
