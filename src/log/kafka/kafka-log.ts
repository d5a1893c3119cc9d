// The log on a Kafka cluster, over kafkajs. Only this folder knows the client, so that it can be replaced: kafkajs is
// unmaintained. The files here add what it lacks:
//   reading outside a group            fetcher.ts, kafka-reads.ts
//   many partitions, few connections   fetcher.ts, shared-link.ts
//   sticky co-partitioned assignment   group-member.ts
//   revocation, detecting outages      kafka-membership.ts
//   backpressure                       owned-kafka-partition.ts
//   fencing without KIP-447            transactor.ts, transaction-session.ts

import { setTimeout as delay } from "node:timers/promises";
import type { Admin } from "kafkajs";
import kafkajs, { type Kafka, type KafkaConfig, type LogEntry } from "kafkajs";
import type { Outgoing } from "../../domain.ts";
import type { Clock } from "../../runtime/clock.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import type { Logger } from "../../runtime/logging.ts";
import type {
  Log,
  Membership,
  PartitionHandler,
  StoredBatch,
  Subscription,
  TopicFacts,
  TopicSpec,
} from "../log.ts";
import { Appender } from "./appender.ts";
import { KnownLeaders, type Link, openLink, slowClientTimers } from "./cluster-link.ts";
import { Fetcher } from "./fetcher.ts";
import {
  isRetriable,
  type NeededRights,
  notAuthorized,
  reasonOf,
  refusedKind,
  rightOnTopics,
} from "./kafka-errors.ts";
import { KafkaMembership } from "./kafka-membership.ts";
import { KafkaReads } from "./kafka-reads.ts";
import { KafkaTopics, KnownTopics, topicMissing } from "./kafka-topics.ts";
import type { InputGap, PositionRule } from "./positions.ts";
import { clientLogin, type KafkaLogin } from "./sasl/login.ts";
import { SharedLink } from "./shared-link.ts";
import type { TransactionSettings } from "./transaction-session.ts";
import type { Compression } from "./wire/compression.ts";

export interface KafkaLogOptions {
  readonly brokers: readonly string[];
  readonly clientId: string;
  /** Read for every connection, like `sasl`, so a getter can supply rotated secrets. */
  readonly ssl?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
  readonly sasl?: KafkaLogin;
  readonly sessionTimeoutMs: number;
  readonly transactions: TransactionSettings;
  /** For records that we write. Default: none. */
  readonly compression?: Compression;
  /** Which source to trust if the group's offsets and the stored positions contradict each other. */
  readonly positionRule?: PositionRule;
  /** The largest decompressed record batch of the input. */
  readonly maxBatchBytes?: number;
  readonly onInputGap?: (gap: InputGap) => void;
  /** Replicas of each topic that we create; -1 uses the broker's default. */
  readonly replicationFactor: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How long a cluster may take until a new topic can be described. */
const newTopicMs = 10_000;
const defaults = {
  compression: "none",
  positionRule: "agree",
  maxBatchBytes: 64 * 1024 * 1024,
  onInputGap: () => {},
} as const;
/** How long a broker without anything new waits before it answers. Anything new ends the wait. */
const IDLE_WAIT_MS = 1_000;
/**
 * Connections to each broker for the transactions of all partitions. A broker handles one request of a connection at a
 * time, so this many transactions proceed at once.
 */
const TRANSACTION_LINKS = 4;
/** How long an append is retried. */
const appendMs = 30_000;

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
  readonly #options: Required<Omit<KafkaLogOptions, "ssl" | "sasl">>;
  readonly #kafka: Kafka;
  readonly #admin: Admin;
  readonly #topics: KafkaTopics;
  /** Polls for everything that is read continuously: input, tables and follows. */
  readonly #fetcher: Fetcher;
  readonly #reads: KafkaReads;
  readonly #transactionLinks: readonly SharedLink[];
  readonly #known: KnownTopics;
  readonly #leaders = new KnownLeaders();
  readonly #appender: Appender;

  constructor(options: KafkaLogOptions) {
    this.#options = { ...defaults, ...options };
    this.#kafka = new kafkajs.Kafka(clientConfig(options));
    this.#admin = this.#kafka.admin();
    this.#topics = new KafkaTopics(this.#admin, options.replicationFactor);
    const { logger, compression, clock } = this.#options;
    this.#known = new KnownTopics((topics) => this.#reach(() => this.#topics.describe(topics)), clock);
    const findTopic = this.#known.find;
    const openLink = () => this.#openLink();
    this.#fetcher = new Fetcher({ openLink, logger, longestWaitMs: IDLE_WAIT_MS });
    this.#reads = new KafkaReads({ openLink, fetcher: this.#fetcher, findTopic, logger });
    this.#transactionLinks = Array.from({ length: TRANSACTION_LINKS }, () => new SharedLink(openLink));
    this.#appender = new Appender({ openLink, compression, clock, findTopic, patienceMs: appendMs });
  }

  async connect(): Promise<void> {
    await slowClientTimers(this.#kafka);
    await this.#reach(() => this.#admin.connect());
  }

  describeTopics(topics: readonly string[]): Promise<readonly TopicFacts[]> {
    return this.#known.describe(topics);
  }

  async createTopics(specs: readonly TopicSpec[]): Promise<void> {
    const names = specs.map(({ topic }) => topic);
    const needed = { topic: rightOnTopics("Create", names) };
    await this.#reach(() => this.#topics.create(specs), needed);
    await this.#untilDescribed(names, () => true);
  }

  async addPartitions(topic: string, partitions: number): Promise<void> {
    const isWide = (facts: TopicFacts) => facts.partitions >= partitions;
    const [facts] = await this.describeTopics([topic]);
    if (facts === undefined) throw topicMissing(topic);
    if (isWide(facts)) return;
    const needed = { topic: rightOnTopics("Alter", [topic]) };
    await this.#reach(() => this.#topics.widen(topic, partitions), needed);
    await this.#untilDescribed([topic], isWide);
  }

  /** kafkajs gives up waiting at a broker that does not know the topic yet. */
  async #untilDescribed(topics: readonly string[], matches: (facts: TopicFacts) => boolean): Promise<void> {
    const isKnown = async () => (await this.describeTopics(topics)).filter(matches).length === topics.length;
    for (let waitedMs = 0; waitedMs < newTopicMs && !(await isKnown()); waitedMs += 50) await delay(50);
  }

  async join(subscription: Subscription, handler: PartitionHandler): Promise<Membership> {
    const { compression, clock, onInputGap } = this.#options;
    for (const topic of subscription.inputs) await this.#known.find(topic);
    const membership = new KafkaMembership({
      ...this.#options,
      subscription,
      handler,
      producer: { compression, clock },
      findTopic: this.#known.find,
      reads: this.#reads,
      fetcher: this.#fetcher,
      openLink: () => this.#openLink(),
      openTransactionLink: (partition) => this.#transactionLinks[partition % TRANSACTION_LINKS].open(),
      onGap: onInputGap,
    });
    const { group, inputs } = subscription;
    const needed = { group: `Read on group ${group}`, topic: rightOnTopics("Read", inputs) };
    await this.#reach(() => membership.join(), needed);
    return membership;
  }

  async append(records: readonly Outgoing[]): Promise<void> {
    const topic = rightOnTopics(
      "Write",
      records.map((record) => record.topic),
    );
    await this.#reach(() => this.#appender.append(records), { topic });
  }

  follow(topic: string, from: "earliest" | "latest", signal: AbortSignal): AsyncIterable<StoredBatch> {
    return this.#reads.follow(topic, from, signal);
  }

  read(topic: string, signal: AbortSignal): AsyncIterable<StoredBatch> {
    return this.#reads.read(topic, signal);
  }

  async close(): Promise<void> {
    await Promise.all([
      this.#appender.close(),
      this.#reads.close(),
      this.#fetcher.close(),
      this.#admin.disconnect(),
    ]);
  }

  #openLink(): Link {
    return openLink(this.#kafka, this.#leaders);
  }

  /** Gives a failure an error code that states whether a retry can help. */
  async #reach<T>(act: () => Promise<T>, needed: NeededRights = {}): Promise<T> {
    try {
      return await act();
    } catch (error) {
      if (error instanceof ForecastnetError) throw error;
      if (refusedKind(error) !== null) throw notAuthorized(error, needed);
      const code = isRetriable(error) ? "BROKER_UNREACHABLE" : "LOG_FAILED";
      const brokers = this.#options.brokers.join(", ");
      throw new ForecastnetError(code, `kafka at ${brokers}: ${reasonOf(error)}`, { cause: error });
    }
  }
}

function shuffle<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, rank: Math.random() }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ item }) => item);
}

function clientConfig({ brokers, clientId, ssl, sasl, logger }: KafkaLogOptions): KafkaConfig {
  return {
    // In a random order: kafkajs starts with the first broker and stays with it even if it accepts connections only to
    // close them, as a proxy does for a broker that is down.
    brokers: async () => shuffle(brokers),
    clientId,
    connectionTimeout: 3_000,
    requestTimeout: 20_000,
    // How long before its token expires a session is renewed. With the client's default of 10 s, the session of a
    // short-lived token would be renewed with every request, which brokers refuse.
    reauthenticationThreshold: 5_000,
    retry: { initialRetryTime: 50, maxRetryTime: 2_000, retries: 6 },
    ...(ssl === undefined ? {} : { ssl }),
    ...(sasl === undefined ? {} : { sasl: clientLogin(sasl) }),
    logLevel: kafkajs.logLevel.INFO,
    // kafkajs logs every retried answer as an error. Failures that matter reach us as exceptions.
    logCreator:
      () =>
      ({ namespace, log: { message, ...facts } }: LogEntry) => {
        logger.debug({ client: namespace, ...facts }, message.toLowerCase());
      },
  };
}
