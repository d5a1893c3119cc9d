// A transactor on a scripted cluster, and the invariants that hold under any script.

import assert from "node:assert/strict";
import type { Outgoing } from "../../../../src/domain.ts";
import { partitionName } from "../../../../src/log/kafka/cluster-link.ts";
import {
  fromPositionsRecord,
  type OpenedTopic,
  type PositionRule,
  positionsKey,
  type StoredPositions,
} from "../../../../src/log/kafka/positions.ts";
import { SharedTransactions } from "../../../../src/log/kafka/shared-transactions.ts";
import { Transactor } from "../../../../src/log/kafka/transactor.ts";
import type { Commit } from "../../../../src/log/log.ts";
import type { Clock } from "../../../../src/runtime/clock.ts";
import type { ForecastnetError } from "../../../../src/runtime/errors.ts";
import { type Asked, ScriptedCluster } from "./scripted-link.ts";
import { topicFacts } from "./topic-facts.ts";

export const GROUP = "g";
export const TRANSACTIONAL_ID = "g-0";
export const INPUT = "sensors";
export const OUTPUT = "forecasts";
export const STATE = "state";

const findTopic = async (topic: string) => topicFacts(topic, { compacted: topic === STATE });

export interface RigOptions {
  readonly cluster?: ScriptedCluster;
  readonly clock: Clock;
  readonly positionRule?: PositionRule;
  /** Topics of which all partitions are written to. */
  readonly spread?: readonly string[];
}

export class TransactorRig {
  readonly cluster: ScriptedCluster;
  readonly lost = new AbortController();
  readonly transactor: Transactor;
  readonly troubles: string[] = [];
  readonly ends: string[] = [];
  /** Hanging partitions, and how they were ended. */
  readonly hanging: string[] = [];
  readonly contradictions: (ForecastnetError | null)[] = [];
  /** The number of requests sent before each confirmation of the membership. */
  readonly confirmedAt: number[] = [];
  /** The number of requests sent before each read of the positions record. */
  readonly readAt: number[] = [];
  onConfirm: () => Promise<void> | void = () => undefined;
  onRead: () => Promise<void> | void = () => undefined;
  #openedAt = 0;

  constructor({ cluster = new ScriptedCluster(), clock, positionRule = "agree", spread = [] }: RigOptions) {
    this.cluster = cluster;
    this.transactor = new Transactor({
      openLink: cluster.openLink,
      ...{ group: GROUP, partition: 0, positionsTopic: STATE, positionRule, findTopic },
      ...{ inputs: [INPUT], outputs: [OUTPUT, STATE], spreadOutputs: spread },
      transactions: new SharedTransactions({
        member: () => ({ group: GROUP, memberId: "m", generation: cluster.model.generation }),
        watcher: { began: () => undefined, ended: () => undefined },
        onEnd: (outcome) => void this.ends.push(outcome),
      }),
      timeoutMs: 60_000,
      producer: { compression: "none", clock },
      lost: this.lost.signal,
      readPositions: async () => {
        this.readAt.push(cluster.trace.length);
        await this.onRead();
        this.lost.signal.throwIfAborted();
        return storedIn(cluster);
      },
      confirmMembership: async () => {
        await this.onConfirm();
        this.confirmedAt.push(cluster.trace.length);
      },
      onTrouble: (reason) => void this.troubles.push(reason),
      onHanging: (places, outcome) =>
        void this.hanging.push(`${places.map(partitionName).join(" ")} ${outcome}`),
      onContradiction: (error) => void this.contradictions.push(error),
    });
  }

  /** The position of each topic. */
  async open(topics: readonly string[] = [INPUT]): Promise<ReadonlyMap<string, number | null>> {
    const opened = await this.openTopics(topics);
    return new Map([...opened].map(([topic, { position }]) => [topic, position]));
  }

  async openTopics(topics: readonly string[] = [INPUT]): Promise<ReadonlyMap<string, OpenedTopic>> {
    const opened = await this.transactor.open(topics);
    this.#openedAt = this.cluster.trace.length;
    return opened;
  }

  commit(number: number): Promise<void> {
    return this.transactor.commit(commitOf(number));
  }

  /** The requests sent since the partition was taken over. */
  get sent(): readonly Asked[] {
    return this.cluster.trace.slice(this.#openedAt);
  }

  sentOf(...steps: readonly Asked["step"][]): readonly Asked[] {
    return this.sent.filter((asked) => steps.includes(asked.step));
  }

  get epochsTaken(): number {
    return this.sentOf("InitProducerId").filter(({ outcome }) => outcome === "yes").length;
  }

  /** Asserts that exactly these commits took effect, each once, and that positions and group match. */
  assertCommitted(numbers: readonly number[]): void {
    const { model } = this.cluster;
    const expected = numbers.map((number) => `commit ${number}`);
    for (const partition of [0, 1, 2])
      assert.deepEqual(model.committedValues(OUTPUT, partition), expected, `${OUTPUT}/${partition}`);
    const newest = numbers.at(-1);
    const position = newest === undefined ? null : positionAfter(newest);
    assert.equal(model.groupOffset(GROUP, { topic: INPUT, partition: 0 }), position, "group offset");
    assert.equal(storedIn(this.cluster)?.positionByTopic.get(INPUT) ?? null, position, "positions record");
  }

  /** Asserts what must hold after any faults. */
  assertOrderly(): void {
    assertEpochsEndOnce(this.cluster.trace);
    assertOldSessionsAreSilent(this.cluster.trace);
    const taken = this.sent.flatMap((asked, i) => (asked.step === "InitProducerId" ? [i] : []));
    for (const at of taken) {
      const linkBegan = this.sent.findIndex(({ link }) => link === this.sent[at].link) + this.#openedAt;
      assert.ok(this.confirmedAt.includes(linkBegan), "an epoch was taken without confirmed membership");
    }
    assert.ok(this.cluster.openLinks.size <= 1, "a link was left open");
  }
}

export function commitOf(number: number): Commit {
  return { records: outputsOf(`commit ${number}`), topic: INPUT, nextOffset: positionAfter(number) };
}

/** One record for each of the three leaders. */
export function outputsOf(value: string): readonly Outgoing[] {
  return [0, 1, 2].map((partition) => ({
    ...{ topic: OUTPUT, partition, key: Buffer.from("a"), value: Buffer.from(value) },
  }));
}

export function positionAfter(number: number): number {
  return 10 * (number + 1);
}

/** The newest committed positions record. */
export function storedIn(cluster: ScriptedCluster): StoredPositions | null {
  const committed = cluster.model.committed({ topic: STATE, partition: 0 });
  const newest = committed.filter(({ key }) => key === positionsKey.toString()).at(-1);
  return newest === undefined ? null : fromPositionsRecord(newest);
}

function epochOf({ request }: Asked): number | null {
  const epoch = request?.facts.epoch;
  return typeof epoch === "number" ? epoch : null;
}

/** In one epoch, nothing follows an EndTxn without success, and no EndTxn follows a failure. */
function assertEpochsEndOnce(trace: readonly Asked[]): void {
  const failedEpochs = new Set<number>();
  const endedEpochs = new Set<number>();
  for (const asked of trace) {
    const epoch = epochOf(asked);
    if (epoch === null) continue;
    assert.ok(!endedEpochs.has(epoch), `${asked.step} was sent in epoch ${epoch} after its uncertain end`);
    const isEnd = asked.step === "EndTxn";
    if (isEnd) assert.ok(!failedEpochs.has(epoch), `EndTxn was sent in epoch ${epoch} after a failure`);
    if (asked.outcome === "yes" || (!isEnd && asked.code === 51)) continue;
    failedEpochs.add(epoch);
    if (isEnd) endedEpochs.add(epoch);
  }
}

function assertOldSessionsAreSilent(trace: readonly Asked[]): void {
  let newest = 0;
  for (const { link, step } of trace) {
    assert.ok(link >= newest, `${step} was sent over link ${link} after link ${newest} had been opened`);
    newest = link;
  }
}
