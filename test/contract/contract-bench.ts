// What every test of the log contract uses: its own topics and groups, members and followers that are stopped at its
// end, and waits with a deadline. The deadline is generous, because a broker takes seconds to rebalance.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { Outgoing } from "../../src/domain.ts";
import type {
  Log,
  Membership,
  OwnedPartition,
  PartitionHandler,
  StoredRecord,
  Subscription,
} from "../../src/log/log.ts";
import { ForecastnetError } from "../../src/runtime/errors.ts";

const deadlineMs = 30_000;
const lookAgainMs = 10;
export const graceMs = 10_000;

export interface LogUnderTest {
  readonly log: Log;
  /** Another client of the same log, if that makes a difference. */
  readonly secondLog?: Log;
  /** A name for a topic or a group that no other test uses. */
  topicName(prefix: string): string;
  close(): Promise<void>;
}

export type ContractTest = (title: string, run: (bench: ContractBench) => Promise<void>) => void;

/** Registers tests that each open a log and close everything they opened. */
export function contractTests(open: () => Promise<LogUnderTest>): ContractTest {
  return (title, run) => {
    test(title, { timeout: 4 * deadlineMs }, async () => {
      const bench = new ContractBench(await open());
      try {
        await run(bench);
      } finally {
        await bench.close();
      }
    });
  };
}

export interface Seen extends StoredRecord {
  readonly partition: number;
}

export interface Follower {
  readonly records: readonly Seen[];
  stop(): Promise<void>;
}

export class ContractBench {
  readonly log: Log;
  readonly secondLog: Log;
  readonly #underTest: LogUnderTest;
  readonly #members: Membership[] = [];
  readonly #followers: Follower[] = [];
  readonly #endMarks = new Set<string>();
  readonly #faults: unknown[] = [];

  constructor(underTest: LogUnderTest) {
    this.#underTest = underTest;
    this.log = underTest.log;
    this.secondLog = underTest.secondLog ?? underTest.log;
  }

  name(prefix: string): string {
    return this.#underTest.topicName(prefix);
  }

  async createTopic(
    prefix: string,
    { partitions = 1, compacted = false, settings = {} as Readonly<Record<string, string>> } = {},
  ): Promise<string> {
    const topic = this.name(prefix);
    await this.log.createTopics([{ topic, partitions, compacted, settings }]);
    return topic;
  }

  /** Joins its own group by default, and reads from the earliest record. A handler that fails fails the test. */
  async join(
    wanted: Partial<Subscription> & Pick<Subscription, "inputs">,
    lane: PartitionHandler,
    log = this.log,
  ): Promise<Membership> {
    const defaults = { group: this.name("group"), start: "earliest", maxBatchRecords: 100 } as const;
    const positionsTopic = wanted.positionsTopic ?? (await this.#positionsOf(wanted.group, wanted.inputs));
    const outputs = [positionsTopic];
    const member = await log.join({ ...defaults, outputs, ...wanted, positionsTopic }, lane);
    this.#members.push(member);
    member.done.catch((error: unknown) => this.#faults.push(error));
    return member;
  }

  /** Shared by the members of one group, like their state. */
  async #positionsOf(group: string | undefined, inputs: readonly string[]): Promise<string> {
    const topic = `positions-of-${group ?? this.name("group")}`;
    const found = await this.log.describeTopics([topic, ...inputs]);
    if (found.some((facts) => facts.topic === topic)) return topic;
    const partitions = Math.max(1, ...found.map((facts) => facts.partitions));
    await this.log.createTopics([{ topic, partitions, compacted: true }]);
    return topic;
  }

  follow(topic: string, from: "earliest" | "latest" = "earliest"): Follower {
    const records: Seen[] = [];
    const abort = new AbortController();
    const read = async () => {
      for await (const batch of this.log.follow(topic, from, abort.signal)) {
        records.push(...batch.records.map((record) => ({ ...record, partition: batch.partition })));
      }
    };
    const ended = read();
    ended.catch(() => undefined); // reported by stop()
    const stop = () => {
      abort.abort();
      return ended;
    };
    const follower = { records, stop };
    this.#followers.push(follower);
    return follower;
  }

  /** Every committed record of a topic so far. An end mark in each partition shows that none is missing. */
  async readAll(topic: string): Promise<readonly Seen[]> {
    const [{ partitions }] = await this.log.describeTopics([topic]);
    const mark = this.name("end");
    this.#endMarks.add(mark);
    await this.log.append(Array.from({ length: partitions }, (_, p) => record(topic, mark, mark, p)));
    const { records, stop } = this.follow(topic);
    const marked = () => records.filter(({ value }) => value?.toString() === mark);
    await until(`the end of ${topic}`, () => marked().length === partitions);
    await stop();
    return records.filter(({ value }) => !this.#endMarks.has(String(value)));
  }

  /** The table as an owner of each partition of `input` restores it. */
  async restoreAll(input: string, table: string): Promise<ReadonlyMap<number, Record<string, string>>> {
    const [{ partitions }] = await this.log.describeTopics([input]);
    const tableByPartition = new Map<number, Record<string, string>>();
    const member = await this.join({ inputs: [input] }, async (owned) => {
      tableByPartition.set(owned.partition, await restoreTable(owned, table));
    });
    await until(`${table} restored`, () => tableByPartition.size === partitions);
    await member.stop(graceMs);
    return tableByPartition;
  }

  async close(): Promise<void> {
    // A test may have left a handler stuck on purpose, so a forced stop is expected.
    const ends = [
      ...this.#members.map((member) => member.stop(1_000)),
      ...this.#followers.map((f) => f.stop()),
    ];
    for (const end of await Promise.allSettled(ends)) {
      if (end.status === "rejected" && !isCoded(end.reason, "SHUTDOWN_FORCED")) this.#faults.push(end.reason);
    }
    await this.#underTest.close();
    assert.deepEqual(this.#faults, [], "lanes, members and followers end without errors of their own");
  }
}

/** Waits until the claim holds. Fails at the deadline, naming what it waited for. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + deadlineMs;
  while (!(await isSo())) {
    assert.ok(performance.now() < deadline, `waited ${deadlineMs} ms for ${what}, which did not happen`);
    await pause(lookAgainMs);
  }
}

export function record(topic: string, key: string | null, value: string | null, partition = 0): Outgoing {
  const bytes = (text: string | null) => (text === null ? null : Buffer.from(text));
  return { topic, partition, key: bytes(key), value: bytes(value) };
}

/** `count` records with the values `<prefix>0`, `<prefix>1`, … */
export function numbered(topic: string, prefix: string, count: number, partition = 0): Outgoing[] {
  return Array.from({ length: count }, (_, i) => record(topic, `${prefix}${i}`, `${prefix}${i}`, partition));
}

export function texts(records: readonly Pick<StoredRecord, "value">[]): (string | null)[] {
  return records.map(({ value }) => value?.toString() ?? null);
}

export function isCoded(error: unknown, code: ForecastnetError["code"]): error is ForecastnetError {
  return error instanceof ForecastnetError && error.code === code;
}

/** The newest value of each key, as a handler sees it that applies records in order. */
export async function restoreTable(owned: OwnedPartition, topic: string): Promise<Record<string, string>> {
  const valueByKey = new Map<string, string>();
  for await (const records of owned.restore(topic)) {
    for (const { key, value } of records) {
      if (value === null) valueByKey.delete(String(key));
      else valueByKey.set(String(key), value.toString());
    }
  }
  return Object.fromEntries(valueByKey);
}

/** A gate that a test opens for a handler, or a handler for a test. */
export class Gate {
  readonly opened: Promise<void>;
  #open: () => void = () => undefined;

  constructor() {
    this.opened = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  open(): void {
    this.#open();
  }
}
