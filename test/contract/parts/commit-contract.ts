// Transactions: results, state and position become visible together, once, or not at all.
import assert from "node:assert/strict";
import type { OwnedPartition, PartitionHandler } from "../../../src/log/log.ts";
import { PartitionLostError } from "../../../src/runtime/errors.ts";
import {
  type ContractBench,
  type ContractTest,
  Gate,
  graceMs,
  isCoded,
  numbered,
  record,
  texts,
  until,
} from "../contract-bench.ts";

export function commitContract(contractTest: ContractTest): void {
  contractTest("shows results, state and position of a commit together", async (bench) => {
    const { input, output, table, group } = await fixture(bench);
    await bench.log.append(numbered(input, "in", 20));
    const member = await bench.join({ group, inputs: [input], maxBatchRecords: 5 }, async (owned) => {
      const { nextOffset } = await takeOne(owned);
      const records = [record(output, "k", "result"), record(table, "k", "state")];
      await owned.commit({ topic: input, nextOffset, records });
    });
    const { records } = bench.follow(output);
    await until("the result", () => records.length === 1);
    assert.deepEqual((await bench.restoreAll(input, table)).get(0), { k: "state" });
    await member.stop(graceMs);
    assert.deepEqual(await readRest(bench, group, input, 15), texts(numbered(input, "in", 20)).slice(5));
  });

  contractTest("delivers records again that were taken but not committed", async (bench) => {
    const { input, group } = await fixture(bench);
    await bench.log.append(numbered(input, "in", 20));
    const taken = new Gate();
    const member = await bench.join({ group, inputs: [input], maxBatchRecords: 5 }, async (owned) => {
      let batches = 0;
      for await (const { nextOffset } of owned.batches()) {
        if (batches === 0) await owned.commit({ topic: input, nextOffset, records: [] });
        if (++batches === 3) taken.open();
      }
    });
    await taken.opened;
    await member.stop(graceMs);
    assert.deepEqual(await readRest(bench, group, input, 15), texts(numbered(input, "in", 20)).slice(5));
  });

  contractTest("leaves no trace of a commit that fails", async (bench) => {
    const { input, output, group } = await fixture(bench);
    const small = await bench.createTopic("small", { settings: { "max.message.bytes": "10000" } });
    await bench.log.append(numbered(input, "in", 5));
    let failure: unknown;
    const member = await bench.join({ group, inputs: [input] }, async (owned) => {
      const { nextOffset } = await takeOne(owned);
      const records = [...numbered(output, "out", 10), record(small, "k", "x".repeat(20_000))];
      failure = await errorOf(owned.commit({ topic: input, nextOffset, records }));
    });
    await until("the failure", () => failure !== undefined);
    assert.ok(isCoded(failure, "RECORD_TOO_LARGE"), String(failure));
    assert.ok(failure.message.includes(small), failure.message);
    await member.stop(graceMs);
    assert.deepEqual(await bench.readAll(output), []);
    assert.deepEqual(await readRest(bench, group, input, 5), texts(numbered(input, "in", 5)));
  });

  contractTest("commits far more than one message can hold", async (bench) => {
    const { input, output, group } = await fixture(bench);
    await bench.log.append(numbered(input, "in", 1));
    const payload = "x".repeat(10_000);
    const member = await bench.join({ group, inputs: [input] }, async (owned) => {
      const { nextOffset } = await takeOne(owned);
      const records = Array.from({ length: 500 }, (_, i) => record(output, `k${i}`, `${i}${payload}`));
      await owned.commit({ topic: input, nextOffset, records });
    });
    const { records } = bench.follow(output);
    await until("5 MB of records", () => records.length === 500);
    await member.stop(graceMs);
    const values = texts(await bench.readAll(output));
    assert.deepEqual(
      values.map((value) => value?.slice(0, -payload.length)),
      values.map((_, i) => String(i)),
    );
    assert.equal(values.length, 500);
  });

  contractTest("refuses the commit of a fenced owner and leaves no trace of it", async (bench) => {
    const partitions = 2;
    const input = await bench.createTopic("input", { partitions });
    const output = await bench.createTopic("output", { partitions });
    const group = bench.name("group");
    for (let p = 0; p < partitions; p++) await bench.log.append(numbered(input, "in", 3, p));

    const woken = new Gate();
    const taken = new Set<number>();
    const failures = new Map<number, unknown>();
    const zombie: PartitionHandler = async (owned) => {
      const { nextOffset } = await takeOne(owned);
      taken.add(owned.partition);
      await woken.opened; // ignores `lost`, like a paused process
      const records = [record(output, "k", "zombie", owned.partition)];
      const failure = await errorOf(owned.commit({ topic: input, nextOffset, records }));
      failures.set(owned.partition, failure);
      if (failure instanceof PartitionLostError) throw failure;
    };
    const successor: PartitionHandler = async (owned) => {
      const { nextOffset } = await takeOne(owned);
      const records = [record(output, "k", "successor", owned.partition)];
      await owned.commit({ topic: input, nextOffset, records });
    };
    const first = await bench.join({ group, inputs: [input] }, zombie);
    await until("the first owner's batches", () => taken.size === partitions);
    const second = await bench.join({ group, inputs: [input] }, successor, bench.secondLog);
    const { records } = bench.follow(output);
    await until("the successor's result", () => records.length === 1);
    const [{ partition }] = records;
    woken.open();
    await until("the zombie's commit", () => failures.has(partition));
    assert.ok(failures.get(partition) instanceof PartitionLostError, String(failures.get(partition)));
    await Promise.all([first.stop(graceMs), second.stop(graceMs)]);
    await first.done; // being fenced is not a failure of the member
    const results = (await bench.readAll(output)).filter((result) => result.partition === partition);
    assert.deepEqual(texts(results), ["successor"]);
  });

  contractTest("reports how much input is unread, and none when it has read all", async (bench) => {
    const input = await bench.createTopic("input");
    const copies = await bench.createTopic("copies");
    const lagsByTopic = new Map<string, number[]>();
    const lanes: OwnedPartition[] = [];
    const copyTo =
      (target: string | null): PartitionHandler =>
      async (owned) => {
        lanes.push(owned);
        for await (const { topic, nextOffset, records } of owned.batches()) {
          lagsByTopic.set(topic, [...(lagsByTopic.get(topic) ?? []), owned.lag ?? -1]);
          const copied =
            target === null ? [] : records.map(({ value }) => record(target, null, String(value)));
          await owned.commit({ topic, nextOffset, records: copied });
        }
      };
    await bench.log.append(numbered(input, "in", 20));
    await bench.join({ inputs: [input], maxBatchRecords: 1 }, copyTo(copies));
    // Transactions make no difference: their markers are not input.
    await bench.join({ inputs: [copies], maxBatchRecords: 1 }, copyTo(null));
    const readOf = (topic: string) => lagsByTopic.get(topic)?.length ?? 0;
    await until("both to be read", () => readOf(input) === 20 && readOf(copies) === 20);
    assert.ok((lagsByTopic.get(input)?.[0] ?? 0) > 0, "input waits behind the first record");
    await until("no input to wait any more", () => lanes.every(({ lag }) => lag === 0));
  });
}

async function fixture(bench: ContractBench) {
  return {
    input: await bench.createTopic("input"),
    output: await bench.createTopic("output"),
    table: await bench.createTopic("table", { compacted: true }),
    group: bench.name("group"),
  };
}

async function takeOne(owned: OwnedPartition) {
  for await (const batch of owned.batches()) return batch;
  throw new PartitionLostError(owned.partition, "its batches ended before the first");
}

async function errorOf(action: Promise<void>): Promise<unknown> {
  try {
    await action;
  } catch (error) {
    return error;
  }
  return new Error("it succeeded");
}

/** The first `count` values that a new member of the group reads. */
async function readRest(bench: ContractBench, group: string, input: string, count: number) {
  const values: (string | null)[] = [];
  const member = await bench.join({ group, inputs: [input] }, async (owned) => {
    for await (const { records } of owned.batches()) values.push(...texts(records));
  });
  await until(`${count} records left to read`, () => values.length >= count);
  await member.stop(graceMs);
  return values;
}
