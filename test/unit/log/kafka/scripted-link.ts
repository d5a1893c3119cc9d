// Links to a model of a cluster, with scripted faults: the n-th request of an api is refused, lost, answered only for
// some partitions, or delivered long after it was sent. Records all requests.

import { type Link, partitionName } from "../../../../src/log/kafka/cluster-link.ts";
import { BrokerError, NoAnswerError } from "../../../../src/log/kafka/kafka-errors.ts";
import { type CoordinatorKind, metadata } from "../../../../src/log/kafka/wire/cluster-requests.ts";
import type {
  Api,
  KafkaRequest,
  PartitionCode,
  TopicPartition,
} from "../../../../src/log/kafka/wire/protocol.ts";
import { ClusterModel } from "./cluster-model.ts";
import { answerWith } from "./refusals.ts";

export type Fault =
  /** Has no effect. With `only`, the first partition of the answer is refused and the others take effect. */
  | { readonly kind: "refused"; readonly code: number; readonly only?: "first" | "last" }
  /** The connection ends before the request arrives. */
  | { readonly kind: "request lost" }
  /** Takes effect, but the answer never arrives. */
  | { readonly kind: "answer lost" }
  /** Given up by the caller, and takes effect only after the given number of later requests. */
  | { readonly kind: "delayed"; readonly behind: number }
  /** Like "request lost", with the error of a closed connection. */
  | { readonly kind: "closed"; readonly isApplied: boolean }
  /** Takes effect, and is answered for all partitions but the first. */
  | { readonly kind: "partial" }
  /** Takes effect, and is answered twice for the first partition. */
  | { readonly kind: "twice" }
  /** Takes effect, and is answered for a partition that was not asked for. */
  | { readonly kind: "unasked" };

export type Step = Api | "Connect";

/** Which of the requests of an api, counted from 0 over all links. */
export interface Scripted {
  readonly step: Step;
  readonly nth: number;
  readonly fault: Fault;
}

export interface Asked {
  readonly link: number;
  readonly step: Step;
  readonly nodeId: string;
  readonly request: KafkaRequest<unknown> | null;
  /** What the caller got: success, an error code, or nothing. */
  outcome: "under way" | "yes" | "no" | "nothing";
  code: number;
}

export class ScriptedCluster {
  readonly model = new ClusterModel();
  readonly trace: Asked[] = [];
  readonly openLinks = new Set<number>();
  /** Called before each request and awaited. */
  onAsk: (asked: Asked) => Promise<void> | void = () => undefined;
  #script: Scripted[] = [];
  #links = 0;
  readonly #counts = new Map<Step, number>();
  #delayed: { behind: number; apply: () => void }[] = [];

  script(...steps: readonly Scripted[]): void {
    this.#script.push(...steps);
  }

  /** Ends the script and restarts the counts of requests. */
  restartScript(...steps: readonly Scripted[]): void {
    this.#script = [...steps];
    this.#counts.clear();
  }

  readonly openLink = (): Link => {
    const id = this.#links++;
    this.openLinks.add(id);
    return new ScriptedLink(this, id);
  };

  get linksOpened(): number {
    return this.#links;
  }

  asked(step: Step): readonly Asked[] {
    return this.trace.filter((asked) => asked.step === step);
  }

  /** Delivers all delayed requests. */
  deliverDelayed(): void {
    for (const { apply } of this.#delayed.splice(0)) apply();
  }

  async answer(link: number, step: Step, nodeId: string, request: KafkaRequest<unknown> | null) {
    const asked: Asked = { link, step, nodeId, request, outcome: "under way", code: 0 };
    this.trace.push(asked);
    const nth = this.#counts.get(step) ?? 0;
    this.#counts.set(step, nth + 1);
    await this.onAsk(asked);
    if (!this.openLinks.has(link)) throw new NoAnswerError("the link is closed");
    await new Promise(setImmediate);
    this.#arriveBefore();
    const scripted = this.#script.find((one) => one.step === step && one.nth === nth);
    try {
      const answer = this.#answerWith(asked, scripted?.fault);
      asked.code = worstCode(answer);
      asked.outcome = asked.code === 0 && isWhole(scripted?.fault) ? "yes" : "no";
      return answer;
    } catch (error) {
      asked.outcome = error instanceof BrokerError ? "no" : "nothing";
      throw error;
    }
  }

  #arriveBefore(): void {
    for (const late of this.#delayed) late.behind--;
    for (const { apply } of this.#delayed.filter(({ behind }) => behind < 0)) apply();
    this.#delayed = this.#delayed.filter(({ behind }) => behind >= 0);
  }

  #answerWith({ step, nodeId, request }: Asked, fault: Fault | undefined): unknown {
    const noAnswer = new NoAnswerError(`${step} to broker ${nodeId} was not answered within 10000 ms`);
    const apply = (): unknown => (request === null ? {} : this.model.apply(nodeId, request));
    if (fault === undefined) return apply();
    if (request === null || step === "FindCoordinator") {
      throw fault.kind === "refused" ? new BrokerError(fault.code, step) : noAnswer;
    }
    if (fault.kind === "refused") return this.#refuse(nodeId, request, fault);
    if (fault.kind === "request lost") throw noAnswer;
    if (fault.kind === "delayed") {
      this.#delayed.push({ behind: fault.behind, apply });
      throw noAnswer;
    }
    if (fault.kind === "closed") {
      if (fault.isApplied) apply();
      throw Object.assign(new Error("Closed connection"), { name: "KafkaJSConnectionClosedError" });
    }
    const answer = apply();
    if (fault.kind === "answer lost") throw noAnswer;
    return Array.isArray(answer) ? garble(answer, fault.kind) : throwIt(noAnswer);
  }

  #refuse(
    nodeId: string,
    request: KafkaRequest<unknown>,
    fault: Extract<Fault, { kind: "refused" }>,
  ): unknown {
    const refusal = answerWith(request, fault.code);
    if (fault.only === undefined || !Array.isArray(refusal)) return refusal;
    const answers = this.model.apply(nodeId, request) as PartitionCode[];
    const refused = fault.only === "first" ? 0 : answers.length - 1;
    return answers.map((answer, i) => (i === refused ? { ...answer, errorCode: fault.code } : answer));
  }
}

function garble(
  answers: readonly PartitionCode[],
  kind: "partial" | "twice" | "unasked",
): readonly unknown[] {
  if (kind === "partial") return answers.slice(1);
  const [first] = answers;
  return kind === "twice" ? [first, ...answers] : [...answers, { ...first, topic: "unasked" }];
}

function throwIt(error: Error): never {
  throw error;
}

function isWhole(fault: Fault | undefined): boolean {
  return fault === undefined || fault.kind === "refused";
}

function worstCode(answer: unknown): number {
  const codes = Array.isArray(answer) ? answer : [answer];
  return codes.map(({ errorCode = 0 }) => errorCode as number).find((code) => code !== 0) ?? 0;
}

class ScriptedLink implements Link {
  readonly #cluster: ScriptedCluster;
  readonly #id: number;
  readonly #coordinators = new Map<string, string>();
  #leaders = new Map<string, string>();

  constructor(cluster: ScriptedCluster, id: number) {
    this.#cluster = cluster;
    this.#id = id;
  }

  async connect(): Promise<void> {
    await this.#cluster.answer(this.#id, "Connect", "any", null);
  }

  leaderOf(place: TopicPartition): string {
    const known = this.#leaders.get(partitionName(place)) ?? this.#cluster.model.leaderOf(place);
    this.#leaders.set(partitionName(place), known);
    if (known === "none") throw new NoAnswerError(`${partitionName(place)} has no leader`);
    return known;
  }

  hasLeader(place: TopicPartition): boolean {
    return this.#cluster.model.leaderOf(place) !== "none";
  }

  partitionsOf(): number {
    return 3;
  }

  async supports(): Promise<boolean> {
    return this.#cluster.model.hasTopicIds;
  }

  async learnFrom(nodeId: string, topics: readonly string[]): Promise<void> {
    if (!(await this.supports())) return;
    await this.ask(nodeId, metadata(topics));
    this.#leaders = new Map();
  }

  async refresh(): Promise<void> {
    this.#leaders = new Map();
  }

  async coordinatorOf(kind: CoordinatorKind, key: string): Promise<string> {
    const known = this.#coordinators.get(`${kind} ${key}`);
    if (known !== undefined) return known;
    await this.#cluster.answer(this.#id, "FindCoordinator", this.anyBroker(), null);
    const found = this.#cluster.model.coordinators[kind];
    this.#coordinators.set(`${kind} ${key}`, found);
    return found;
  }

  async ask<Answer>(nodeId: string, request: KafkaRequest<Answer>): Promise<Answer> {
    return (await this.#cluster.answer(this.#id, request.api, nodeId, request)) as Answer;
  }

  brokers(): readonly string[] {
    return this.#cluster.model.brokers;
  }

  anyBroker(): string {
    return this.#cluster.model.brokers[0];
  }

  async close(): Promise<void> {
    this.#cluster.openLinks.delete(this.#id);
  }
}
