// A member of a group on a scripted cluster, whose coordinator answers when a test lets it.

import kafkajs from "kafkajs";
import { Fetcher } from "../../../../src/log/kafka/fetcher.ts";
import { KafkaMembership } from "../../../../src/log/kafka/kafka-membership.ts";
import type { KafkaReads } from "../../../../src/log/kafka/kafka-reads.ts";
import { positionsKey } from "../../../../src/log/kafka/positions.ts";
import type { KafkaRequest } from "../../../../src/log/kafka/wire/protocol.ts";
import type { PartitionHandler, StoredRecord } from "../../../../src/log/log.ts";
import type { Clock } from "../../../../src/runtime/clock.ts";
import { type Logger, silentLogger } from "../../../../src/runtime/logging.ts";
import { never } from "./scripted-brokers.ts";
import { type Asked, ScriptedCluster } from "./scripted-link.ts";
import { topicFacts } from "./topic-facts.ts";

const [REBALANCING, UNKNOWN_MEMBER] = [27, 25];

export interface MemberOptions {
  readonly handler?: PartitionHandler;
  readonly sessionTimeoutMs?: number;
  readonly clock: Clock;
  readonly start?: "earliest" | "latest";
}

export class MembershipRig {
  readonly cluster = new ScriptedCluster();
  readonly membership: KafkaMembership;
  readonly logged: string[] = [];
  #generation = 0;
  #partitions: readonly number[] = [];
  /** Whether the member has not yet received the newest assignment. */
  #isDue = false;
  /** Heartbeats that may be answered. */
  #words = 0;
  #heartbeatCode = 0;
  #release: () => void = () => undefined;

  constructor({
    handler = async () => never(),
    sessionTimeoutMs = 10_000,
    clock,
    start = "earliest",
  }: MemberOptions) {
    const { cluster } = this;
    cluster.onAsk = (asked) => this.#hold(asked);
    const { model } = cluster;
    const apply = model.apply.bind(model);
    model.apply = (nodeId, request) => this.#answerOfGroup(request) ?? apply(nodeId, request);
    const log = (facts: object, message: string) =>
      void this.logged.push(`${message} ${JSON.stringify(facts)}`);
    const logger: Logger = { ...silentLogger, info: log, warn: log, error: log };
    this.membership = new KafkaMembership({
      subscription: {
        group: "g",
        inputs: ["sensors"],
        positionsTopic: "state",
        outputs: ["state"],
        start,
        maxBatchRecords: 10,
      },
      transactions: { timeoutMs: 10_000, onEnd: () => undefined },
      producer: { compression: "none", clock },
      positionRule: "agree",
      maxBatchBytes: 1_000_000,
      ...{ handler, sessionTimeoutMs, clock, logger, openLink: cluster.openLink },
      findTopic: async (topic) => topicFacts(topic, {}),
      reads: this.#reads() as KafkaReads,
      fetcher: new Fetcher({ openLink: cluster.openLink, logger, longestWaitMs: 1_000 }),
      openTransactionLink: cluster.openLink,
      onGap: () => undefined,
    });
  }

  /** Makes the group rebalance. A member that was dropped has missed a generation. */
  assign(partitions: readonly number[], isDropped = false): void {
    this.#partitions = partitions;
    this.#isDue = true;
    this.#generation += isDropped ? 2 : 1;
    this.cluster.model.generation = this.#generation;
    this.#answerHeartbeat(isDropped ? UNKNOWN_MEMBER : REBALANCING);
  }

  heartbeat(): void {
    this.#words++;
    this.#answerHeartbeat(0);
  }

  #answerHeartbeat(code: number): void {
    this.#heartbeatCode = code;
    this.#release();
  }

  /** A join waits for an assignment, a heartbeat for its release, and there is no input. */
  async #hold({ step }: Asked): Promise<void> {
    if (step === "Fetch") return never();
    const isHeld = step === "JoinGroup" || step === "Heartbeat";
    while (isHeld && !this.#isDue && this.#words === 0) await this.#released();
    if (step === "Heartbeat" && this.#words > 0) this.#words--;
  }

  #released(): Promise<void> {
    return new Promise((resolve) => {
      this.#release = resolve;
    });
  }

  #answerOfGroup({ api, facts }: KafkaRequest<unknown>): unknown {
    if (api === "LeaveGroup") return { errorCode: 0 };
    if (api === "Heartbeat") return { errorCode: this.#heartbeatCode };
    if (api === "JoinGroup") {
      const memberId = facts.memberId === "" ? `m${this.#generation}` : facts.memberId;
      return { errorCode: 0, generation: this.#generation, leaderId: "other", memberId, members: [] };
    }
    if (api !== "SyncGroup") return undefined;
    this.#isDue = false;
    const assignment = kafkajs.AssignerProtocol.MemberAssignment.encode({
      version: 1,
      assignment: { sensors: [...this.#partitions] },
      userData: Buffer.alloc(0),
    });
    return { errorCode: 0, assignment };
  }

  #reads() {
    const { model } = this.cluster;
    return {
      newestOf: async (topic: string, partition: number, key: Buffer): Promise<StoredRecord | null> => {
        const committed = model.committed({ topic, partition }).filter((one) => one.key === key.toString());
        const newest = committed.at(-1);
        if (newest === undefined) return null;
        const { offset, value } = newest;
        return { offset, value, key: positionsKey, timestampMs: 0, headers: [] };
      },
      rangeOf: async () => ({ first: 5, end: 9 }),
      restore: async function* () {},
      tail: async function* () {},
    } as unknown;
  }
}
