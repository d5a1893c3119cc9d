// A fetch target for tests, and a fetcher on scripted brokers.

import type { FetchedRecords, FetchTarget } from "../../../../src/log/kafka/fetch-targets.ts";
import { Fetcher } from "../../../../src/log/kafka/fetcher.ts";
import type { OffsetRange } from "../../../../src/log/kafka/offset-ranges.ts";
import { type Clock, systemClock } from "../../../../src/runtime/clock.ts";
import { fetched, type ScriptedBrokers } from "./scripted-brokers.ts";

/** Takes all records one by one until it is paused. */
export class Reader implements FetchTarget {
  readonly topic: string;
  readonly partition: number;
  readonly maxBatchBytes = 1_000_000;
  topicId: string | null = null;
  wanted: number | null;
  readonly taken: number[] = [];
  readonly ranges: OffsetRange[] = [];
  readonly failures: unknown[] = [];
  replacements = 0;
  last: FetchedRecords | null = null;
  #waiting: (() => void)[] = [];

  constructor(name: string, from: number | null = 0) {
    const [topic, partition] = name.split("/") as [string, string];
    this.topic = topic;
    this.partition = Number(partition);
    this.wanted = from;
  }

  take(records: FetchedRecords): void {
    this.last = records;
    this.taken.push(...records.records.map(({ offset }) => offset));
    this.wanted = records.nextOffset;
    this.#tell();
  }

  outOfRange(range: OffsetRange): void {
    this.ranges.push(range);
    this.wanted = range.first;
    this.#tell();
  }

  replaced(): void {
    this.replacements++;
    this.wanted = null;
    this.#tell();
  }

  fail(error: unknown): void {
    this.failures.push(error);
    this.wanted = null;
    this.#tell();
  }

  async until(holds: (reader: this) => boolean): Promise<void> {
    while (!holds(this)) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #tell(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

export function openFetcher(brokers: ScriptedBrokers, clock: Clock = systemClock): Fetcher {
  const { openLink, logger } = brokers;
  return new Fetcher({ openLink, logger, clock, longestWaitMs: 1_000 });
}

/** Answers every partition with the record at the wanted offset. */
export const giveOne: ScriptedBrokers["answer"] = ({ offsets }) =>
  [...offsets].map(([name, offset]) =>
    fetched(name, [offset], { stable: offset + 10, written: offset + 20 }),
  );

export const has = (count: number) => (reader: Reader) => reader.taken.length >= count;
