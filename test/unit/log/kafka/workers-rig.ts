// Workers of one group on a scripted cluster. Each shares transactions among its partitions. The group's assignment moves
// when a test says so; a worker learns of it when it is told or when it next asks the group.

import assert from "node:assert/strict";
import type { Link } from "../../../../src/log/kafka/cluster-link.ts";
import { NoAnswerError } from "../../../../src/log/kafka/kafka-errors.ts";
import { fromPositionsRecord, positionsKey } from "../../../../src/log/kafka/positions.ts";
import { SharedTransactions } from "../../../../src/log/kafka/shared-transactions.ts";
import { Transactor } from "../../../../src/log/kafka/transactor.ts";
import type { Clock } from "../../../../src/runtime/clock.ts";
import { ScriptedCluster } from "./scripted-link.ts";
import { topicFacts } from "./topic-facts.ts";
import { GROUP, INPUT, OUTPUT, STATE } from "./transactor-rig.ts";

const findTopic = async (topic: string) => topicFacts(topic, { compacted: topic === STATE });

/** Turns of the event loop that a transaction may stay open. */
const PATIENCE_TURNS = 200;

/** Makes outputs of consecutive inputs until told to stop. */
class Owner {
  readonly lost = new AbortController();
  readonly done: Promise<void>;
  readonly #transactor: Transactor;
  readonly #fleet: Fleet;
  readonly #partition: number;

  constructor(worker: Worker, partition: number) {
    const { fleet } = worker;
    const { cluster } = fleet;
    this.#fleet = fleet;
    this.#partition = partition;
    this.#transactor = new Transactor({
      openLink: worker.openLink,
      ...{ group: GROUP, partition, positionsTopic: STATE, positionRule: "agree" as const, findTopic },
      ...{ inputs: [INPUT], outputs: [OUTPUT, STATE], spreadOutputs: [], lost: this.lost.signal },
      transactions: worker.transactions,
      timeoutMs: 60_000,
      producer: { compression: "none", clock: fleet.clock },
      readPositions: async () => {
        await this.#decided();
        const committed = cluster.model.committed({ topic: STATE, partition });
        const newest = committed.filter(({ key }) => key === positionsKey.toString()).at(-1);
        return newest === undefined ? null : fromPositionsRecord(newest);
      },
      confirmMembership: async () => worker.learn(),
      onTrouble: () => undefined,
      onHanging: () => undefined,
      onContradiction: () => undefined,
    });
    this.done = this.#work();
    this.done.catch(() => undefined); // Awaited later, by `finish`.
  }

  async #work(): Promise<void> {
    try {
      const opened = await this.#transactor.open([INPUT]);
      for (let next = opened.get(INPUT)?.position ?? 0; next < this.#fleet.goal; next++)
        await this.#transactor.commit({
          records: [this.#outputOf(next)],
          topic: INPUT,
          nextOffset: next + 1,
        });
    } catch (error) {
      assert.equal((error as { code?: string }).code, "PARTITION_LOST", String(error));
    } finally {
      await this.#transactor.close();
    }
  }

  /** A reader of committed data waits behind open transactions. The coordinator ends those that stay open for too long. */
  async #decided(): Promise<void> {
    const { model } = this.#fleet.cluster;
    for (let turn = 0; model.hasUndecided({ topic: STATE, partition: this.#partition }); turn++) {
      if (turn === PATIENCE_TURNS) model.timeOutAll();
      await new Promise(setImmediate);
      this.lost.signal.throwIfAborted();
    }
    this.lost.signal.throwIfAborted();
  }

  #outputOf(number: number) {
    const value = Buffer.from(`${number}`);
    return { topic: OUTPUT, partition: this.#partition, key: Buffer.from("a"), value };
  }
}

class Worker {
  readonly fleet: Fleet;
  readonly transactions: SharedTransactions;
  readonly #ownerByPartition = new Map<number, Owner>();
  readonly #links: number[] = [];
  #generation = 0;
  #isDead = false;

  constructor(fleet: Fleet, name: string) {
    this.fleet = fleet;
    this.transactions = new SharedTransactions({
      member: () => ({ group: GROUP, memberId: name, generation: this.#generation }),
      watcher: { began: () => undefined, ended: () => undefined },
      onEnd: () => undefined,
    });
  }

  /** Loses and opens partitions as the group's newest assignment says. */
  learn(): void {
    const { generation, workerByPartition } = this.fleet;
    if (generation === this.#generation || this.#isDead) return;
    for (const [partition, owner] of [...this.#ownerByPartition])
      if (workerByPartition[partition] !== this) {
        owner.lost.abort();
        this.#ownerByPartition.delete(partition);
      }
    this.#generation = generation;
    for (const [partition, worker] of workerByPartition.entries())
      if (worker === this && !this.#ownerByPartition.has(partition)) {
        const owner = new Owner(this, partition);
        this.#ownerByPartition.set(partition, owner);
        this.fleet.owners.push(owner);
      }
  }

  readonly openLink = (): Link => {
    const { cluster } = this.fleet;
    if (this.#isDead) throw new NoAnswerError("the process is gone");
    this.#links.push(cluster.linksOpened);
    return cluster.openLink();
  };

  /** The process is gone: it sends nothing any more, and what it has open stays open. */
  die(): void {
    this.#isDead = true;
    for (const link of this.#links) this.fleet.cluster.openLinks.delete(link);
    for (const owner of this.#ownerByPartition.values()) owner.lost.abort();
    this.#ownerByPartition.clear();
  }
}

export class Fleet {
  readonly cluster = new ScriptedCluster();
  readonly clock: Clock;
  readonly owners: Owner[] = [];
  readonly workers: Worker[];
  /** How many inputs each partition has. */
  readonly goal: number;
  generation = 1;
  workerByPartition: readonly Worker[];

  constructor(clock: Clock, { partitions, goal }: { readonly partitions: number; readonly goal: number }) {
    this.clock = clock;
    this.goal = goal;
    this.workers = ["one", "two"].map((name) => new Worker(this, name));
    this.workerByPartition = Array.from({ length: partitions }, () => this.workers[0]);
  }

  /** The group assigns the partitions anew: true is the second worker's. Only these workers are told. */
  assign(toSecond: readonly boolean[], told: readonly boolean[]): void {
    this.workerByPartition = this.workerByPartition.map((_, i) => this.workers[toSecond[i] ? 1 : 0]);
    this.cluster.model.generation = ++this.generation;
    for (const [i, worker] of this.workers.entries()) if (told[i]) worker.learn();
  }

  /** A worker dies, and another one starts in its place. */
  replace(index: 0 | 1): void {
    const dead = this.workers[index];
    dead.die();
    const next = new Worker(this, `${index} from ${this.generation}`);
    this.workers[index] = next;
    this.workerByPartition = this.workerByPartition.map((worker) => (worker === dead ? next : worker));
    this.cluster.model.generation = ++this.generation;
    next.learn();
  }

  /** Until every partition has reached its goal. */
  async finish(): Promise<void> {
    for (let ended = -1; ended < this.owners.length; ) {
      ended = this.owners.length;
      await Promise.all(this.owners.map(({ done }) => done));
      for (const worker of this.workers) worker.learn();
    }
  }

  /** Every input of every partition is answered once and in order, and both positions are behind the last one. */
  assertExactlyOnce(): void {
    const { model } = this.cluster;
    const expected = Array.from({ length: this.goal }, (_, number) => String(number));
    for (const partition of this.workerByPartition.keys()) {
      assert.deepEqual(model.committedValues(OUTPUT, partition), expected, `${OUTPUT}/${partition}`);
      assert.equal(model.groupOffset(GROUP, { topic: INPUT, partition }), this.goal, `group, ${partition}`);
    }
    assert.equal(model.openTransactions, 0);
    assert.equal(this.cluster.openLinks.size, 0);
  }
}
