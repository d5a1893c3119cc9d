// A link to the cluster over kafkajs' connections. kafkajs finds brokers, connects, logs in and matches answers
// (`client-connections.ts`). We decide which request goes to which broker and what its answer means. kafkajs has no API for
// this, but it passes its Cluster to every partition assigner; `clusterOf` takes it from there.
//
// A link sends each request once. After a failure it is closed and replaced: the new link looks up leaders and
// coordinators again, and answers that still arrive on the old one are discarded.

import type { Broker, Cluster, Kafka } from "kafkajs";
import { ForecastnetError } from "../../runtime/errors.ts";
import { type ConnectionPool, sendRequest } from "./client-connections.ts";
import { slowIdleTimers } from "./idle-timers.ts";
import { assertSuccess, BrokerError, mostSevere, NoAnswerError } from "./kafka-errors.ts";
import {
  type CoordinatorKind,
  findCoordinator,
  metadata,
  type PartitionMetadata,
  type TopicMetadata,
} from "./wire/cluster-requests.ts";
import { type Api, apis, decodeAnswer, type KafkaRequest, type TopicPartition } from "./wire/protocol.ts";

/** How long a broker may take to answer, unless the request says otherwise. */
export const ANSWER_MS = 10_000;

export interface Link {
  /** Connects and looks up the leaders of these topics. */
  connect(topics: readonly string[]): Promise<void>;
  /** The id of the broker that leads the partition. Throws while there is none. */
  leaderOf(place: TopicPartition): string;
  hasLeader(place: TopicPartition): boolean;
  partitionsOf(topic: string): number;
  /** Looks up the leaders again. */
  refresh(): Promise<void>;
  /** Asks this broker for the leaders of these topics. Does nothing if the broker is too old. */
  learnFrom(nodeId: string, topics: readonly string[]): Promise<void>;
  coordinatorOf(kind: CoordinatorKind, key: string): Promise<string>;
  ask<Answer>(nodeId: string, request: KafkaRequest<Answer>, answerMs?: number): Promise<Answer>;
  /** The ids of all known brokers. */
  brokers(): readonly string[];
  /** A random broker, for requests that any broker can answer. */
  anyBroker(): string;
  /** Whether the broker is known to support our version of an optional api. */
  supports(nodeId: string, api: Api): Promise<boolean>;
  close(): Promise<void>;
}

/** Adds the parts of kafkajs' Cluster that its types omit. */
type OpenCluster = Cluster & {
  readonly connectionPoolBuilder: {
    build(address: { readonly host: string; readonly port: number }): Promise<ConnectionPool>;
  };
  readonly brokerPool: {
    createBroker(options: unknown): OpenBroker;
    readonly brokers: Readonly<Record<string, OpenBroker>>;
  };
};

/** The same for its Broker. */
type OpenBroker = Omit<Broker, "metadata"> & {
  metadata(topics?: readonly string[]): Promise<unknown>;
  readonly versions: Readonly<Record<number, { minVersion: number; maxVersion: number }>> | null;
  readonly connectionPool: ConnectionPool & { readonly host: string; readonly port: number };
};

/** Links opened with the same `leaders` share what they learn. */
export function openLink(kafka: Kafka, leaders = new KnownLeaders()): Link {
  const cluster = clusterOf(kafka) as OpenCluster;
  readMetadataOurselves(cluster, leaders);
  return new ClusterLink(cluster, leaders);
}

/** Call before the client opens its first connection. The host is not connected to. */
export async function slowClientTimers(kafka: Kafka): Promise<void> {
  const { connectionPoolBuilder } = clusterOf(kafka) as OpenCluster;
  const { pool } = await connectionPoolBuilder.build({ host: "none", port: 0 });
  slowIdleTimers(pool[0].requestQueue);
}

/**
 * kafkajs discards a whole metadata answer if one partition has no leader, so that partition would stop all others. We
 * read the answer ourselves and pass it on in the form kafkajs expects.
 */
function readMetadataOurselves({ brokerPool }: OpenCluster, leaders: KnownLeaders): void {
  const { createBroker } = brokerPool;
  brokerPool.createBroker = (options) => {
    const broker = createBroker(options);
    const ask = broker.metadata.bind(broker);
    broker.metadata = async (topics = []) => {
      // kafkajs may choose a broker that is not connected, and would then throw a plain error.
      if (broker.versions === null)
        throw new NoAnswerError("the broker to ask for metadata is not connected");
      return isKnownToSupport(broker, "Metadata") ? askMetadata(broker, topics, leaders) : ask(topics);
    };
    return broker;
  };
}

async function askMetadata(
  broker: OpenBroker,
  topics: readonly string[],
  leaders: KnownLeaders,
): Promise<unknown> {
  const request = metadata(topics);
  const { brokers, controllerId, topics: found } = decodeAnswer(request, await sendOver(broker, request));
  for (const { errorCode, topic } of found) assertSuccess(errorCode, `Metadata of ${topic}`);
  leaders.learn(found);
  const topicMetadata = found.map(({ topic, partitions }) => ({
    topic,
    partitionMetadata: partitions.map(({ partition, leader }) => ({ partitionId: partition, leader })),
  }));
  return { brokers, controllerId, topicMetadata };
}

class ClusterLink implements Link {
  readonly #cluster: OpenCluster;
  readonly #leaders: KnownLeaders;
  readonly #coordinatorByKey = new Map<string, string>();
  readonly #brokerById = new Map<string, OpenBroker>();
  readonly #inFlight = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(cluster: OpenCluster, leaders: KnownLeaders) {
    this.#cluster = cluster;
    this.#leaders = leaders;
  }

  async connect(topics: readonly string[]): Promise<void> {
    await this.#track(async () => {
      await this.#cluster.connect();
      await this.#cluster.addMultipleTargetTopics([...topics]);
    });
  }

  hasLeader(place: TopicPartition): boolean {
    return this.#leaderOf(place) >= 0;
  }

  leaderOf(place: TopicPartition): string {
    const { topic, partition } = place;
    const leader = this.#leaderOf(place);
    if (leader < 0) throw new NoAnswerError(`partition ${partition} of topic ${topic} has no leader`);
    return String(leader);
  }

  /** -1 while the partition has no leader. */
  #leaderOf(place: TopicPartition): number {
    const partitions = this.#cluster.findTopicPartitionMetadata(place.topic);
    const found = partitions.find(({ partitionId }) => partitionId === place.partition);
    return this.#leaders.leaderOf(place) ?? found?.leader ?? -1;
  }

  partitionsOf(topic: string): number {
    return this.#cluster.findTopicPartitionMetadata(topic).length;
  }

  refresh(): Promise<void> {
    return this.#track(() => this.#cluster.refreshMetadata());
  }

  async learnFrom(nodeId: string, topics: readonly string[]): Promise<void> {
    if (!(await this.supports(nodeId, "Metadata"))) return;
    this.#leaders.learn((await this.ask(nodeId, metadata(topics))).topics);
  }

  async coordinatorOf(kind: CoordinatorKind, key: string): Promise<string> {
    const cacheKey = `${kind} ${key}`;
    let nodeId = this.#coordinatorByKey.get(cacheKey);
    if (nodeId === undefined) {
      const found = await this.ask(this.anyBroker(), findCoordinator(kind, key));
      assertSuccess(found.errorCode, `FindCoordinator for ${kind} ${key}`);
      nodeId = String(found.nodeId);
      this.#coordinatorByKey.set(cacheKey, nodeId);
    }
    return nodeId;
  }

  ask<Answer>(nodeId: string, request: KafkaRequest<Answer>, answerMs: number = ANSWER_MS): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#drop(nodeId);
        reject(
          new NoAnswerError(`${request.api} to broker ${nodeId} was not answered within ${answerMs} ms`),
        );
      }, answerMs);
      // After the time is up, nobody waits for the answer or the failure.
      this.#track(() => this.#send(nodeId, request, answerMs))
        .then((bytes) => {
          clearTimeout(timer);
          resolve(decodeAnswer(request, bytes));
        })
        .catch((error: unknown) => {
          clearTimeout(timer);
          reject(error);
        });
    });
  }

  async supports(nodeId: string, api: Api): Promise<boolean> {
    const broker = (await this.#track(() => this.#cluster.findBroker({ nodeId }))) as OpenBroker;
    return isKnownToSupport(broker, api);
  }

  brokers(): readonly string[] {
    return this.#cluster.getNodeIds().map(String);
  }

  anyBroker(): string {
    const nodeIds = this.brokers();
    if (nodeIds.length === 0) throw new NoAnswerError("no broker is known");
    return nodeIds[Math.floor(Math.random() * nodeIds.length)];
  }

  /** A silent connection looks open to kafkajs, so the broker is removed and connected to again. */
  #drop(nodeId: string): void {
    const broker = this.#brokerById.get(nodeId);
    if (broker === undefined) return;
    this.#brokerById.delete(nodeId);
    const { host, port } = broker.connectionPool;
    this.#cluster.removeBroker({ host, port });
    broker.disconnect().catch(() => undefined); // It waits for an answer that nobody needs any more.
  }

  /**
   * kafkajs cannot interrupt a connection attempt or a pending request, and a connection closed while it is being
   * opened comes back. Connections are therefore closed once the requests in flight have ended; the caller does not
   * wait.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#inFlight.size === 0) return this.#cluster.disconnect();
    Promise.allSettled(this.#inFlight)
      .then(() => this.#cluster.disconnect())
      .catch(() => undefined); // Nothing depends on the closed connections.
  }

  #track<T>(act: () => Promise<T>): Promise<T> {
    if (this.#isClosed) return Promise.reject(new NoAnswerError("the link is closed"));
    const work = act();
    this.#inFlight.add(work);
    const done = () => this.#inFlight.delete(work);
    work.then(done, done);
    return work;
  }

  async #send(nodeId: string, request: KafkaRequest<unknown>, answerMs: number): Promise<Buffer> {
    const known = this.#cluster.brokerPool.brokers[nodeId];
    const broker = known?.isConnected()
      ? known
      : ((await this.#cluster.findBroker({ nodeId })) as OpenBroker);
    this.#brokerById.set(nodeId, broker);
    assertVersion(broker, nodeId, request.api);
    return sendOver(broker, request, answerMs);
  }
}

async function sendOver(
  broker: OpenBroker,
  request: KafkaRequest<unknown>,
  answerMs: number = ANSWER_MS,
): Promise<Buffer> {
  try {
    return await sendRequest(broker.connectionPool, request, answerMs);
  } catch (error) {
    // As kafkajs does for its own requests, so that the next one opens a new connection.
    if ((error as Error).name === "KafkaJSConnectionClosedError") await broker.disconnect();
    throw error;
  }
}

/** True if unknown. */
function maySupport({ versions }: OpenBroker, api: Api): boolean {
  const { key, version } = apis[api];
  const range = versions?.[key];
  return range === undefined || (range.minVersion <= version && version <= range.maxVersion);
}

function isKnownToSupport(broker: OpenBroker, api: Api): boolean {
  return broker.versions?.[apis[api].key] !== undefined && maySupport(broker, api);
}

function assertVersion(broker: OpenBroker, nodeId: string, api: Api): void {
  if (maySupport(broker, api)) return;
  throw new ForecastnetError(
    "LOG_FAILED",
    `broker ${nodeId} does not support version ${apis[api].version} of ${api}: use Kafka 2.5 or newer`,
  );
}

/** The Cluster that kafkajs hands to the partition assigners of a consumer that never runs. */
export function clusterOf(kafka: Kafka): Cluster {
  let captured: Cluster | undefined;
  kafka.consumer({
    groupId: "never-joined",
    allowAutoTopicCreation: false,
    // The user of the link retries over a new link.
    retry: { initialRetryTime: 50, retries: 1 },
    partitionAssigners: [
      ({ cluster }) => {
        captured = cluster;
        return {
          name: "none",
          version: 1,
          assign: async () => [],
          protocol: () => ({ name: "none", metadata: Buffer.alloc(0) }),
        };
      },
    ],
  });
  if (captured === undefined) throw new Error("kafkajs did not hand its cluster to the partition assigner");
  return captured;
}

/**
 * Throws unless every partition was answered for exactly once, with success. Of several errors, it throws one that a
 * retry cannot fix: a broker that refuses one partition reports the others as not attempted.
 */
export function assertAnswered<Answer extends TopicPartition & { readonly errorCode: number }>(
  asked: readonly TopicPartition[],
  answers: readonly Answer[],
  what: string,
): void {
  const left = new Set(asked.map(partitionName));
  const refusals: BrokerError[] = [];
  for (const answer of answers) {
    if (!left.delete(partitionName(answer)))
      throw new NoAnswerError(`${what} was answered for ${partitionName(answer)} unasked, or twice`);
    if (answer.errorCode !== 0)
      refusals.push(new BrokerError(answer.errorCode, `${what} for ${partitionName(answer)}`));
  }
  if (refusals.length > 0) throw mostSevere(refusals);
  if (left.size > 0) throw new NoAnswerError(`${what} was not answered for ${[...left].join(", ")}`);
}

/** These topics with their ids; empty if the broker is too old to assign ids. */
export async function askTopicIds(link: Link, topics: readonly string[]): Promise<readonly TopicMetadata[]> {
  const broker = link.anyBroker();
  return (await link.supports(broker, "Metadata")) ? (await link.ask(broker, metadata(topics))).topics : [];
}

export function partitionName({ topic, partition }: TopicPartition): string {
  return `${topic}/${partition}`;
}

interface KnownTopic {
  readonly id: string | null;
  readonly partitions: Map<number, PartitionMetadata>;
}

/**
 * The newest leaders that any broker has reported to this process. A broker that is cut off from its peers keeps
 * reporting old leaders and keeps answering reads as the leader it was; trusting it would restore old state. Reports
 * with an older leader epoch than the known one are therefore ignored.
 */
export class KnownLeaders {
  readonly #topicByName = new Map<string, KnownTopic>();

  learn(found: readonly TopicMetadata[]): void {
    for (const { errorCode, topic, topicId, partitions } of found) {
      if (errorCode !== 0) continue;
      const previous = this.#topicByName.get(topic);
      // The leader epochs of a recreated topic restart.
      const known: KnownTopic =
        previous?.id === topicId
          ? previous
          : { id: topicId, partitions: new Map<number, PartitionMetadata>() };
      this.#topicByName.set(topic, known);
      for (const reported of partitions) {
        const before = known.partitions.get(reported.partition);
        if (before === undefined || reported.leaderEpoch >= before.leaderEpoch)
          known.partitions.set(reported.partition, reported);
      }
    }
  }

  /** -1 while the partition has no leader; null if no broker has reported it. */
  leaderOf({ topic, partition }: TopicPartition): number | null {
    return this.#topicByName.get(topic)?.partitions.get(partition)?.leader ?? null;
  }
}
