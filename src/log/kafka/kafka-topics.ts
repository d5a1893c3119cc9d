// Describes, creates and widens topics through the admin client, and caches the facts of topics. The caller decides
// whether a failure can be retried. Only missing rights are reported here, with the topics they are missing on.

import type { Admin, DescribeConfigResponse, ITopicConfig, ITopicMetadata } from "kafkajs";
import kafkajs from "kafkajs";
import type { Clock } from "../../runtime/clock.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import type { TopicFacts, TopicSpec } from "../log.ts";
import { upkeepSettings } from "../table-upkeep.ts";
import { notAuthorized, refusedKind, rightOnTopics } from "./kafka-errors.ts";
import type { FindTopic } from "./producer.ts";

const configNames = ["cleanup.policy", "max.message.bytes", "min.insync.replicas", ...upkeepSettings];

export class KafkaTopics {
  readonly #admin: Admin;
  readonly #replicationFactor: number;

  /** `replicationFactor` applies to topics that are created; -1 uses the broker's default. */
  constructor(admin: Admin, replicationFactor: number) {
    this.#admin = admin;
    this.#replicationFactor = replicationFactor;
  }

  /** Returns the facts of those topics that exist. */
  async describe(topics: readonly string[]): Promise<readonly TopicFacts[]> {
    const listed = new Set(await this.#admin.listTopics());
    const wanted = topics.filter((topic) => listed.has(topic));
    const unlisted = topics.filter((topic) => !listed.has(topic));
    // The list silently omits topics that this user may not see.
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
      const { partitions = [] } = metadata.topics.find(({ name }) => name === topic) ?? {};
      const { configEntries = [] } = resources.find(({ resourceName }) => resourceName === topic) ?? {};
      return toFacts(topic, partitions, configEntries);
    });
  }

  /** Leaves existing topics unchanged, because another worker may have been faster. */
  async create(specs: readonly TopicSpec[]): Promise<void> {
    const topics = specs.map(
      ({ topic, partitions, compacted, settings }): ITopicConfig => ({
        topic,
        numPartitions: partitions,
        replicationFactor: this.#replicationFactor,
        configEntries: Object.entries({
          "cleanup.policy": compacted ? "compact" : "delete",
          ...settings,
        }).map(([name, value]) => ({ name, value })),
      }),
    );
    await this.#admin.createTopics({ topics, waitForLeaders: false });
  }

  /** Leaves a topic that already is as wide unchanged, because another worker may have been faster. */
  async widen(topic: string, partitions: number): Promise<void> {
    try {
      await this.#admin.createPartitions({ topicPartitions: [{ topic, count: partitions }] });
    } catch (error) {
      if (!(error instanceof kafkajs.KafkaJSProtocolError && error.type === "INVALID_PARTITIONS"))
        throw error;
      const [facts] = await this.describe([topic]);
      if (facts === undefined || facts.partitions < partitions) throw error;
    }
  }

  #settingsOf(topics: readonly string[]): Promise<DescribeConfigResponse> {
    const type = kafkajs.ConfigResourceTypes.TOPIC;
    return this.#admin.describeConfigs({
      includeSynonyms: false,
      resources: topics.map((name) => ({ type, name, configNames })),
    });
  }

  /** Throws if our user lacks the right on any of the topics, naming them all. Ignores other failures. */
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
}

function toFacts(
  topic: string,
  partitions: ITopicMetadata["partitions"],
  entries: readonly { readonly configName: string; readonly configValue: string }[],
): TopicFacts {
  const setting = (key: string) => entries.find(({ configName }) => configName === key)?.configValue ?? "";
  const policies = setting("cleanup.policy")
    .split(",")
    .map((policy) => policy.trim())
    .sort();
  return {
    topic,
    partitions: partitions.length,
    compacted: policies.includes("compact"),
    cleanupPolicy: policies.join(","),
    maxMessageBytes: Number(setting("max.message.bytes")),
    replicationFactor: Math.min(...partitions.map(({ replicas }) => replicas.length)),
    minInsyncReplicas: Number(setting("min.insync.replicas")),
    settings: Object.fromEntries(
      entries
        .filter(({ configName }) => upkeepSettings.includes(configName))
        .map(({ configName, configValue }) => [configName, configValue]),
    ),
  };
}

/** Facts younger than this are not refreshed. */
const FRESH_MS = 10_000;

interface CachedFacts {
  readonly facts: TopicFacts;
  readonly describedMs: number;
}

/** Caches the facts of topics until they are described again or a refresh is asked for. */
export class KnownTopics {
  readonly #ask: (topics: readonly string[]) => Promise<readonly TopicFacts[]>;
  readonly #clock: Clock;
  readonly #knownByTopic = new Map<string, CachedFacts>();

  /** `ask` returns the facts of those topics that exist. */
  constructor(ask: (topics: readonly string[]) => Promise<readonly TopicFacts[]>, clock: Clock) {
    this.#ask = ask;
    this.#clock = clock;
  }

  /** Always asks the cluster, because a topic may have been widened or changed. */
  async describe(topics: readonly string[]): Promise<readonly TopicFacts[]> {
    const found = await this.#ask(topics);
    const describedMs = this.#clock.nowMs();
    for (const facts of found) this.#knownByTopic.set(facts.topic, { facts, describedMs });
    return found;
  }

  readonly find: FindTopic = async (topic, { refresh = false } = {}) => {
    const known = this.#knownByTopic.get(topic);
    const isFresh = known !== undefined && this.#clock.nowMs() - known.describedMs < FRESH_MS;
    if (known !== undefined && (isFresh || !refresh)) return known.facts;
    const [facts] = await this.describe([topic]);
    if (facts === undefined) throw topicMissing(topic);
    return facts;
  };
}

export function topicMissing(topic: string): ForecastnetError {
  return new ForecastnetError("TOPIC_MISSING", `topic ${topic} does not exist`);
}
