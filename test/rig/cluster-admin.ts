// Administers a test cluster: topics, leaders, replicas in sync. Asks again whatever a cluster in trouble refuses.

import { createConnection } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import kafkajs, { type Admin } from "kafkajs";

export interface NewTopic {
  readonly topic: string;
  readonly partitions: number;
  /** Three unless told. */
  readonly copies?: number;
}

const patienceMs = 60_000;

interface Partition {
  readonly topic: string;
  readonly partition: number;
  readonly leader: number;
  readonly replicas: readonly number[];
  readonly isr: readonly number[];
}

export class ClusterAdmin {
  readonly #brokers: readonly string[];
  #connected: Promise<Admin> | undefined;

  constructor(brokers: readonly string[]) {
    this.#brokers = brokers;
  }

  async close(): Promise<void> {
    await (await this.#connected)?.disconnect();
    this.#connected = undefined;
  }

  async createTopics(topics: readonly NewTopic[]): Promise<void> {
    await this.#persist(async (admin) => {
      const known = new Set(await admin.listTopics());
      const missing = topics.filter(({ topic }) => !known.has(topic));
      await admin.createTopics({
        topics: missing.map(({ topic, partitions, copies = 3 }) => ({
          topic,
          numPartitions: partitions,
          replicationFactor: copies,
        })),
        waitForLeaders: false,
      });
    });
    for (const { topic } of topics) await this.#partitions([topic]);
  }

  async deleteTopics(topics: readonly string[]): Promise<void> {
    await this.#persist(async (admin) => {
      const known = new Set(await admin.listTopics());
      await admin.deleteTopics({ topics: topics.filter((topic) => known.has(topic)) });
    });
  }

  async leaders(topic: string): Promise<number[]> {
    const partitions = await this.#partitions([topic]);
    return partitions.toSorted((a, b) => a.partition - b.partition).map(({ leader }) => leader);
  }

  /** By the account of every broker: one that was cut off tells of old times. */
  async areAllInSync(): Promise<boolean> {
    const accounts = await Promise.all(
      this.#brokers.map((broker) => partitionsAsSeenBy(broker).catch(() => null)),
    );
    return accounts.every((partitions) =>
      partitions?.every(({ leader, replicas, isr }) => leader >= 0 && isr.length === replicas.length),
    );
  }

  async rotateLeaders(topics: readonly string[], places: number): Promise<void> {
    const partitions = await this.#partitions(topics);
    const byTopic = groupByTopic(partitions);
    await this.#persist((admin) =>
      admin.alterPartitionReassignments({
        timeout: 10_000,
        topics: [...byTopic].map(([topic, members]) => ({
          topic,
          partitionAssignment: members.map(({ partition, leader, replicas }) => ({
            partition,
            replicas: startingAfter(replicas, leader, places),
          })),
        })),
      }),
    );
    await this.#elect(partitions);
  }

  async electPreferred(): Promise<void> {
    await this.#elect(await this.#partitions());
  }

  async #elect(partitions: readonly Partition[]): Promise<void> {
    await this.#persist(() => electPreferredLeaders(this.#brokers, partitions));
  }

  async #partitions(topics?: readonly string[]): Promise<Partition[]> {
    return await this.#persist(async () => {
      const accounts = await Promise.all(
        this.#brokers.map((broker) => partitionsAsSeenBy(broker).catch(() => null)),
      );
      const all = mostCommon(accounts.filter((account) => account !== null));
      if (all === undefined) throw new Error("no broker answers");
      const found = all.filter(({ topic }) => topics === undefined || topics.includes(topic));
      const seen = new Set(found.map(({ topic }) => topic));
      const unknown = topics?.filter((topic) => !seen.has(topic)) ?? [];
      if (unknown.length > 0) throw new Error(`the cluster does not know ${unknown.join(", ")}`);
      return found;
    });
  }

  async #persist<T>(act: (admin: Admin) => Promise<T>): Promise<T> {
    const deadlineMs = performance.now() + patienceMs;
    for (;;) {
      try {
        this.#connected ??= this.#connect();
        return await act(await this.#connected);
      } catch (error) {
        if (performance.now() > deadlineMs) throw error;
        // A client that has lost its broker is not always of use again.
        await this.close().catch(() => undefined);
        this.#connected = undefined;
        await pause(200);
      }
    }
  }

  async #connect(): Promise<Admin> {
    const admin = new kafkajs.Kafka({
      brokers: [...this.#brokers],
      clientId: "rig",
      logLevel: kafkajs.logLevel.NOTHING,
      connectionTimeout: 1_000,
      requestTimeout: 5_000,
      retry: { initialRetryTime: 50, maxRetryTime: 500, retries: 5 },
    }).admin();
    await admin.connect();
    return admin;
  }
}

/** A broker that was cut off from its peers tells of old times, and is outvoted. */
function mostCommon(accounts: readonly Partition[][]): Partition[] | undefined {
  const votes = (account: Partition[]) =>
    accounts.filter((other) => JSON.stringify(other) === JSON.stringify(account)).length;
  return accounts.toSorted((a, b) => votes(b) - votes(a))[0];
}

function groupByTopic(partitions: readonly Partition[]): Map<string, Partition[]> {
  const byTopic = new Map<string, Partition[]>();
  for (const partition of partitions) {
    byTopic.set(partition.topic, [...(byTopic.get(partition.topic) ?? []), partition]);
  }
  return byTopic;
}

/** The same replicas in a ring, beginning that many places after the leader. */
function startingAfter(replicas: readonly number[], leader: number, places: number): number[] {
  const ring = replicas.toSorted((a, b) => a - b);
  const first = (ring.indexOf(leader) + places) % ring.length;
  return [...ring.slice(first), ...ring.slice(0, first)];
}

/** Metadata of all topics. Version 1: version 0 leaves replicas out whose broker is gone. */
async function partitionsAsSeenBy(broker: string): Promise<Partition[]> {
  const reader = new Reader(await ask(broker, { apiKey: metadataKey, version: 1, body: int32(-1) }));
  reader.list(() => [reader.int32(), reader.text(), reader.int32(), reader.text()]); // brokers
  reader.int32(); // controller
  const topics = reader.list(() => {
    reader.int16(); // error
    const topic = reader.text();
    reader.int8(); // is internal
    return reader.list(() => {
      reader.int16(); // error
      const partition = reader.int32();
      const leader = reader.int32();
      const replicas = reader.list(() => reader.int32());
      return { topic, partition, leader, replicas, isr: reader.list(() => reader.int32()) };
    });
  });
  return topics.flat();
}

const metadataKey = 3;
const electLeadersKey = 43;
const electionNotNeeded = 84;

/** ElectLeaders version 0, which kafkajs does not speak; any broker passes it on to the controller. */
async function electPreferredLeaders(
  brokers: readonly string[],
  partitions: readonly Partition[],
): Promise<void> {
  const byTopic = groupByTopic(partitions);
  const parts: Buffer[] = [int32(byTopic.size)];
  for (const [topic, members] of byTopic) {
    parts.push(text(topic), int32(members.length), ...members.map(({ partition }) => int32(partition)));
  }
  parts.push(int32(10_000));
  const body = Buffer.concat(parts);
  const answer = await Promise.any(
    brokers.map((broker) => ask(broker, { apiKey: electLeadersKey, version: 0, body })),
  );
  const failed = electionErrors(answer).filter((code) => code !== 0 && code !== electionNotNeeded);
  if (failed.length > 0) throw new Error(`electing leaders failed with error codes ${[...new Set(failed)]}`);
}

function electionErrors(answer: Buffer): number[] {
  const reader = new Reader(answer);
  reader.int32(); // throttle time
  const topics = reader.list(() => {
    reader.text();
    return reader.list(() => {
      reader.int32(); // partition
      const code = reader.int16();
      reader.text(); // message
      return code;
    });
  });
  return topics.flat();
}

interface Request {
  readonly apiKey: number;
  readonly version: number;
  readonly body: Buffer;
}

/** One request on a connection of its own; resolves with the body of the answer. */
function ask(broker: string, { apiKey, version, body }: Request): Promise<Buffer> {
  const [host, port] = broker.split(":") as [string, string];
  const head = Buffer.concat([int32((apiKey << 16) | version), int32(1), text("rig")]);
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0);
    const socket = createConnection({ host, port: Number(port) }, () => {
      socket.write(Buffer.concat([int32(head.length + body.length), head, body]));
    });
    socket.setTimeout(10_000, () => socket.destroy(new Error(`${broker} does not answer`)));
    socket.on("error", reject);
    socket.on("close", () => reject(new Error(`${broker} closed the connection`)));
    socket.on("data", (chunk) => {
      received = Buffer.concat([received, chunk]);
      if (received.length < 4 || received.length < 4 + received.readInt32BE(0)) return;
      resolve(received.subarray(8));
      socket.destroy();
    });
  });
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  const length = Buffer.alloc(2);
  length.writeInt16BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** Reads the fields of an answer one after the other. */
class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  int8(): number {
    this.#at += 1;
    return this.#bytes.readInt8(this.#at - 1);
  }

  int16(): number {
    this.#at += 2;
    return this.#bytes.readInt16BE(this.#at - 2);
  }

  int32(): number {
    this.#at += 4;
    return this.#bytes.readInt32BE(this.#at - 4);
  }

  text(): string {
    const length = Math.max(0, this.int16());
    this.#at += length;
    return this.#bytes.toString("utf8", this.#at - length, this.#at);
  }

  list<T>(item: () => T): T[] {
    return Array.from({ length: this.int32() }, item);
  }
}
