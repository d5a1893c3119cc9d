// Links that share connections. The transactions of all partitions go over a few connections per broker, where answers
// are matched to requests by their correlation ids. Each transaction session still has a link of its own: what it knows
// of coordinators ends with it, and after its close it sends nothing.
//
// A broker handles the requests of one connection one after another, so a request that waits for replicas delays those
// behind it. Users that must not wait for each other take different shared links.

import type { Link } from "./cluster-link.ts";
import { assertSuccess, NoAnswerError } from "./kafka-errors.ts";
import { type CoordinatorKind, findCoordinator } from "./wire/cluster-requests.ts";
import type { Api, KafkaRequest, TopicPartition } from "./wire/protocol.ts";

export class SharedLink {
  readonly #openLink: () => Link;
  #current: Connections | null = null;

  constructor(openLink: () => Link) {
    this.#openLink = openLink;
  }

  /** A link over the shared connections, which are open while any such link is. */
  readonly open = (): Link => {
    this.#current ??= new Connections(this.#openLink(), (retired) => {
      if (this.#current === retired) this.#current = null;
    });
    return new LinkOverShared(this.#current);
  };
}

/** The connections under several links, and the lookup of leaders that these have in common. */
class Connections {
  readonly link: Link;
  readonly #retire: (connections: Connections) => void;
  readonly #topics = new Set<string>();
  #users = 0;
  #lookup: Promise<void> | null = null;
  #hasConnected = false;

  /** Links opened after `retire` use other connections. */
  constructor(link: Link, retire: (connections: Connections) => void) {
    this.link = link;
    this.#retire = retire;
  }

  enter(): void {
    this.#users++;
  }

  /** A user leaves at its end or after a failure. It may have failed over old leaders, so they are looked up again. */
  async leave(): Promise<void> {
    this.#users--;
    this.#lookup = null;
    if (this.#users > 0) return;
    this.#retire(this);
    await this.link.close();
  }

  /** One lookup serves all users, until one of them leaves or wants another topic. */
  lookUp(topics: readonly string[]): Promise<void> {
    const isWanted = topics.every((topic) => this.#topics.has(topic));
    for (const topic of topics) this.#topics.add(topic);
    if (this.#lookup === null || !isWanted) this.#lookup = this.#connect([...this.#topics]);
    return this.#lookup;
  }

  async #connect(topics: readonly string[]): Promise<void> {
    try {
      await this.link.connect(topics);
      if (this.#hasConnected) await this.link.refresh();
      this.#hasConnected = true;
    } catch (error) {
      // The client may have chosen a bad broker and would stay with it.
      this.#retire(this);
      throw error;
    }
  }
}

class LinkOverShared implements Link {
  readonly #connections: Connections;
  readonly #coordinatorByKey = new Map<string, string>();
  #isClosed = false;

  constructor(connections: Connections) {
    this.#connections = connections;
    connections.enter();
  }

  get #link(): Link {
    if (this.#isClosed) throw new NoAnswerError("the link is closed");
    return this.#connections.link;
  }

  async connect(topics: readonly string[]): Promise<void> {
    if (this.#isClosed) throw new NoAnswerError("the link is closed");
    await this.#connections.lookUp(topics);
  }

  leaderOf(place: TopicPartition): string {
    return this.#connections.link.leaderOf(place);
  }

  hasLeader(place: TopicPartition): boolean {
    return this.#connections.link.hasLeader(place);
  }

  partitionsOf(topic: string): number {
    return this.#connections.link.partitionsOf(topic);
  }

  async refresh(): Promise<void> {
    await this.#link.refresh();
  }

  async learnFrom(nodeId: string, topics: readonly string[]): Promise<void> {
    await this.#link.learnFrom(nodeId, topics);
  }

  /** Not remembered by the shared connections: a coordinator moves without any of their brokers telling. */
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

  ask<Answer>(nodeId: string, request: KafkaRequest<Answer>, answerMs?: number): Promise<Answer> {
    if (this.#isClosed) return Promise.reject(new NoAnswerError("the link is closed"));
    return this.#connections.link.ask(nodeId, request, answerMs);
  }

  brokers(): readonly string[] {
    return this.#link.brokers();
  }

  anyBroker(): string {
    return this.#connections.link.anyBroker();
  }

  async supports(nodeId: string, api: Api): Promise<boolean> {
    return this.#link.supports(nodeId, api);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#connections.leave();
  }
}
