// Three real brokers for tests: combined KRaft nodes on the loopback interface, each behind proxies. A test can kill,
// stop and freeze single brokers, cut them off from the workers or from each other, and move leaders about.
//
// How the nodes and the proxies between them are set up is told in cluster-nodes.ts.

import { rm } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { ClusterAdmin, type NewTopic } from "./cluster-admin.ts";
import {
  brokerIds,
  type Link,
  type Node,
  openLinks,
  type Ports,
  prepareNode,
  takePorts,
} from "./cluster-nodes.ts";
import { HeldRequests, type HoldRule, type HoldState, type Release } from "./held-requests.ts";
import { kafkaJars } from "./kafka-broker.ts";
import type { Cut } from "./tcp-proxy.ts";

/** Everything a test may ask of the cluster. Takes and gives plain data only, so that another process can ask. */
export interface ClusterOperations {
  addresses(): Promise<Addresses>;
  kill9(broker: number): Promise<void>;
  /** In order: it hands its leaders over first. */
  stop(broker: number): Promise<void>;
  /** After `kill9` or `stop`. */
  start(broker: number): Promise<void>;
  freeze(broker: number): Promise<void>;
  thaw(broker: number): Promise<void>;
  cutFromWorkers(broker: number, how: Cut): Promise<void>;
  /** The other two brokers no longer reach it, nor it them; clients still do. */
  cutFromPeers(broker: number, how: Cut): Promise<void>;
  delayWorkers(broker: number, ms: number): Promise<void>;
  /** Ends all cuts and delays. */
  heal(): Promise<void>;
  hold(rule: HoldRule): Promise<number>;
  holdState(id: number): Promise<HoldState>;
  release(id: number, how: Release): Promise<void>;
  createTopics(topics: readonly NewTopic[]): Promise<void>;
  deleteTopics(topics: readonly string[]): Promise<void>;
  /** Leaders by partition, as the cluster sees them now. */
  leaders(topic: string): Promise<readonly number[]>;
  /** Makes the broker that many places further than the present leader lead each partition of these topics. */
  rotateLeaders(topics: readonly string[], places: number): Promise<void>;
  /** Gives every partition of every topic back to its preferred leader. */
  electPreferred(): Promise<void>;
  /** Heals, lets go, thaws and starts whatever needs it; resolves once every replica of every partition is in sync. */
  restore(): Promise<void>;
}

export interface Addresses {
  readonly direct: readonly string[];
  readonly workers: readonly string[];
}

const mostStarts = 3;

export class KafkaCluster implements ClusterOperations {
  readonly #nodes: readonly Node[];
  readonly #links: readonly Link[];
  readonly #held: HeldRequests;
  readonly #admin: ClusterAdmin;

  private constructor(nodes: readonly Node[], links: readonly Link[], held: HeldRequests) {
    this.#nodes = nodes;
    this.#links = links;
    this.#held = held;
    this.#admin = new ClusterAdmin(nodes.map(({ ports }) => `127.0.0.1:${ports.direct}`));
  }

  static async startUp(): Promise<KafkaCluster> {
    const jars = await kafkaJars();
    const portsById = new Map<number, Ports>();
    for (const id of brokerIds) portsById.set(id, await takePorts());
    const held = new HeldRequests();
    const links = await openLinks(portsById);
    const nodes = await Promise.all(brokerIds.map((id) => prepareNode(id, { jars, portsById, held })));
    const cluster = new KafkaCluster(nodes, links, held);
    await Promise.all(nodes.map(({ id }) => cluster.start(id)));
    return cluster;
  }

  /** Ends the nodes and removes their data. Not needed at the end of a process: they go with it. */
  async shutDown(): Promise<void> {
    await this.#admin.close();
    await Promise.all(brokerIds.map((id) => this.kill9(id)));
    for (const { proxy } of this.#links) proxy.close();
    for (const { workerProxy, folder } of this.#nodes) {
      workerProxy.close();
      await rm(folder, { recursive: true, force: true });
    }
  }

  async addresses(): Promise<Addresses> {
    return {
      direct: this.#nodes.map(({ ports }) => `127.0.0.1:${ports.direct}`),
      workers: this.#nodes.map(({ ports }) => `127.0.0.1:${ports.workerProxy}`),
    };
  }

  kill9(broker: number): Promise<void> {
    return this.#end(broker, "SIGKILL");
  }

  stop(broker: number): Promise<void> {
    return this.#end(broker, "SIGTERM");
  }

  async start(broker: number): Promise<void> {
    const node = this.#node(broker);
    // A broker may end while it starts, over a log that it left in a hurry; whoever runs it starts it again.
    for (let attempt = 1; node.service === null; attempt++) {
      node.service = await node.launch().catch((error: unknown) => {
        if (attempt === mostStarts) throw error;
        return null;
      });
    }
    await node.workerProxy.shut(false);
  }

  async freeze(broker: number): Promise<void> {
    const node = this.#node(broker);
    if (node.service === null) return;
    node.isFrozen = true;
    process.kill(node.service.pid, "SIGSTOP");
  }

  async thaw(broker: number): Promise<void> {
    const node = this.#node(broker);
    if (node.service === null || !node.isFrozen) return;
    node.isFrozen = false;
    process.kill(node.service.pid, "SIGCONT");
  }

  async cutFromWorkers(broker: number, how: Cut): Promise<void> {
    await this.#node(broker).workerProxy.cut(how);
  }

  async cutFromPeers(broker: number, how: Cut): Promise<void> {
    for (const { from, to, proxy } of this.#links) {
      if (from !== to && (from === broker || to === broker)) await proxy.cut(how);
    }
  }

  async delayWorkers(broker: number, ms: number): Promise<void> {
    this.#node(broker).workerProxy.delay(ms);
  }

  async heal(): Promise<void> {
    for (const { proxy } of this.#links) await proxy.heal();
    for (const { workerProxy } of this.#nodes) await workerProxy.heal();
  }

  async hold(rule: HoldRule): Promise<number> {
    return this.#held.hold(rule);
  }

  async holdState(id: number): Promise<HoldState> {
    return this.#held.state(id);
  }

  release(id: number, how: Release): Promise<void> {
    return this.#held.release(id, how);
  }

  createTopics(topics: readonly NewTopic[]): Promise<void> {
    return this.#admin.createTopics(topics);
  }

  deleteTopics(topics: readonly string[]): Promise<void> {
    return this.#admin.deleteTopics(topics);
  }

  leaders(topic: string): Promise<readonly number[]> {
    return this.#admin.leaders(topic);
  }

  rotateLeaders(topics: readonly string[], places: number): Promise<void> {
    return this.#admin.rotateLeaders(topics, places);
  }

  electPreferred(): Promise<void> {
    return this.#admin.electPreferred();
  }

  async restore(): Promise<void> {
    await this.heal();
    this.#held.clear();
    for (const { id } of this.#nodes) await this.thaw(id);
    await Promise.all(this.#nodes.map(({ id }) => this.start(id)));
    while (!(await this.#admin.areAllInSync())) await pause(100);
  }

  async #end(broker: number, signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    const node = this.#node(broker);
    const { service } = node;
    if (service === null) return;
    if (signal === "SIGTERM") await this.thaw(broker);
    await service.end(signal);
    await node.workerProxy.shut(true);
    node.service = null;
    node.isFrozen = false;
  }

  #node(id: number): Node {
    const node = this.#nodes.find((candidate) => candidate.id === id);
    if (node === undefined) throw new Error(`there is no broker ${id}`);
    return node;
  }
}
