// What every test of the log contract works with: topics and groups of its own, members and followers that are
// stopped when it ends, and waits with a deadline. A broker takes seconds to rebalance, hence the generous one.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { Outgoing } from "../../src/domain.ts";
import type { Lane, Log, Membership, OwnedPartition, StoredRecord, Subscription } from "../../src/log/log.ts";
import { ForecastnetError } from "../../src/runtime/errors.ts";

const deadlineMs = 30_000;
const lookAgainMs = 10;
export const graceMs = 10_000;

export interface LogUnderTest {
  readonly log: Log;
  /** Another client of the same log, where that makes a difference. */
  readonly secondLog?: Log;
  /** A name no other test uses, for a topic or a group. */
  topicName(prefix: string): string;
  close(): Promise<void>;
}

export type ContractTest = (title: string, run: (bench: ContractBench) => Promise<void>) => void;

/** Registers tests that each open a log and close all they opened. */
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

  /** Joins a group of its own unless told which, reading from the earliest record on. A lane that fails fails
   * the test. */
  async join(
    wanted: Partial<Subscription> & Pick<Subscription, "inputs">,
    lane: Lane,
    log = this.log,
  ): Promise<Membership> {
    const defaults = { group: this.name("group"), start: "earliest", maxBatchRecords: 100 } as const;
    const member = await log.join({ ...defaults, ...wanted }, lane);
    this.#members.push(member);
    member.done.catch((error: unknown) => this.#faults.push(error));
    return member;
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
    ended.catch(() => undefined); // told by stop()
    const stop = () => {
      abort.abort();
      return ended;
    };
    const follower = { records, stop };
    this.#followers.push(follower);
    return follower;
  }

  /** Every committed record of a topic so far. An end mark in each partition tells that none is missing. */
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
    // A test may have left a lane stuck on purpose: being stopped by force is no news then.
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

/** Looks again and again until the claim holds; fails, naming what it waited for, when it never does. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + deadlineMs;
  while (!(await isSo())) {
    assert.ok(performance.now() < deadline, `waited ${deadlineMs} ms in vain for ${what}`);
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

/** The newest value of each key of a table, as a lane sees it that applies what it is given in order. */
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

/** A door that a test opens for a lane, or a lane for a test. */
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
