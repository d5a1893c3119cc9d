// Groups: who reads what, from where, in which order, and what changes when members come and go.
import assert from "node:assert/strict";
import type { Membership, PartitionHandler, StoredBatch } from "../../../src/log/log.ts";
import {
  type ContractTest,
  Gate,
  graceMs,
  numbered,
  record,
  restoreTable,
  texts,
  until,
} from "../contract-bench.ts";

const partitions = 4;

export function groupContract(contractTest: ContractTest): void {
  contractTest("reads from the earliest record in offset order, in bounded batches", async (bench) => {
    const topic = await bench.createTopic("input", { partitions: 2 });
    await bench.log.append([...numbered(topic, "a", 100, 0), ...numbered(topic, "b", 100, 1)]);
    const batches: StoredBatch[] = [];
    await bench.join({ inputs: [topic], maxBatchRecords: 7 }, collect(batches));
    const recordsOf = (partition: number) =>
      batches.filter((batch) => batch.partition === partition).flatMap((batch) => batch.records);
    await until("200 records", () => recordsOf(0).length + recordsOf(1).length === 200);
    assert.deepEqual(texts(recordsOf(0)), texts(numbered(topic, "a", 100)));
    assert.deepEqual(texts(recordsOf(1)), texts(numbered(topic, "b", 100)));
    for (const { records, nextOffset } of batches) {
      assert.ok(records.length >= 1 && records.length <= 7, `a batch of ${records.length}`);
      assert.ok(nextOffset > records[records.length - 1].offset, "the next offset is after the batch");
    }
  });

  contractTest("reads from the latest record only what comes after it joined", async (bench) => {
    const topic = await bench.createTopic("input");
    await bench.log.append(numbered(topic, "old", 5));
    const batches: StoredBatch[] = [];
    const started = new Gate();
    await bench.join({ inputs: [topic], start: "latest" }, async (owned) => {
      started.open();
      await collect(batches)(owned);
    });
    await started.opened;
    await bench.log.append(numbered(topic, "new", 5));
    await until("five records", () => batches.flatMap(({ records }) => records).length >= 5);
    assert.deepEqual(texts(batches.flatMap(({ records }) => records)), texts(numbered(topic, "new", 5)));
  });

  contractTest("owns the same partition number of every input topic", async (bench) => {
    const inputs = [
      await bench.createTopic("left", { partitions }),
      await bench.createTopic("right", { partitions }),
    ];
    const topicsByLane = new Map<string, Set<string>>();
    const lane =
      (member: string): PartitionHandler =>
      async (owned) => {
        const topics = new Set<string>();
        topicsByLane.set(`${member}${owned.partition}`, topics);
        for await (const batch of owned.batches()) {
          assert.equal(batch.partition, owned.partition);
          topics.add(batch.topic);
        }
      };
    const group = bench.name("group");
    const first = await bench.join({ group, inputs }, lane("first"));
    const second = await bench.join({ group, inputs }, lane("second"), bench.secondLog);
    await until("an even share", () => isShared(first, second));
    for (const topic of inputs) {
      await bench.log.append(Array.from({ length: partitions }, (_, p) => record(topic, "k", "v", p)));
    }
    const owners = () => [
      ...first.status().partitions.map((p) => `first${p}`),
      ...second.status().partitions.map((p) => `second${p}`),
    ];
    await until("both topics in every lane", () =>
      owners().every((name) => topicsByLane.get(name)?.size === 2),
    );
  });

  contractTest(
    "gives each partition to exactly one of two members, and back when one leaves",
    async (bench) => {
      const topic = await bench.createTopic("input", { partitions });
      const group = bench.name("group");
      const idle: PartitionHandler = async (owned) => {
        for await (const { nextOffset } of owned.batches())
          await owned.commit({ topic, nextOffset, records: [] });
      };
      const first = await bench.join({ group, inputs: [topic] }, idle);
      await until("all partitions", () => first.status().partitions.length === partitions);
      const second = await bench.join({ group, inputs: [topic] }, idle, bench.secondLog);
      await until("an even share", () => isShared(first, second));
      await second.stop(graceMs);
      await until("all partitions again", () => first.status().partitions.length === partitions);
    },
  );

  contractTest("notifies a handler of a revoked partition, and ends its batches", async (bench) => {
    const topic = await bench.createTopic("input", { partitions });
    const group = bench.name("group");
    const started = new Set<number>();
    const lost = new Set<number>();
    const first = await bench.join({ group, inputs: [topic] }, async (owned) => {
      started.add(owned.partition);
      for await (const _ of owned.batches()) assert.fail("there is nothing to read");
      if (owned.lost.aborted) lost.add(owned.partition);
    });
    await until("all lanes", () => started.size === partitions);
    const second = await bench.join({ group, inputs: [topic] }, collect([]), bench.secondLog);
    await until("an even share", () => isShared(first, second));
    const given = second.status().partitions;
    await until("the end of each lane given away", () => given.every((partition) => lost.has(partition)));
  });

  contractTest("loses and duplicates nothing while a member joins and leaves under load", async (bench) => {
    const input = await bench.createTopic("input", { partitions });
    const output = await bench.createTopic("output", { partitions });
    const table = await bench.createTopic("table", { partitions, compacted: true });
    const subscription = { group: bench.name("group"), inputs: [input], maxBatchRecords: 20 };
    const lane = copyAndCount(output, table);
    const copies = bench.follow(output).records;
    let written = 0;
    /** Writes until the claim holds, just far enough ahead that a reader always has work. */
    const writeUntil = (what: string, isSo: () => boolean) =>
      until(what, async () => {
        for (; written - copies.length < 1_000; written += partitions * 10) {
          await bench.log.append(
            Array.from({ length: partitions * 10 }, (_, i) =>
              record(input, "k", String(written + i), i % partitions),
            ),
          );
        }
        return isSo();
      });
    const first = await bench.join(subscription, lane);
    await writeUntil("a first member at work", () => copies.length > 1_000);
    const second = await bench.join(subscription, lane, bench.secondLog);
    await writeUntil("an even share", () => isShared(first, second));
    const soFar = copies.length;
    await writeUntil("work done by both", () => copies.length > soFar + 1_000);
    await second.stop(graceMs);
    await writeUntil("one owner again", () => first.status().partitions.length === partitions);
    await until("every copy", () => copies.length >= written);
    await first.stop(graceMs);

    const tables = await bench.restoreAll(input, table);
    const all = await bench.readAll(output);
    for (let p = 0; p < partitions; p++) {
      const expected = Array.from({ length: written / partitions }, (_, i) => String(p + i * partitions));
      assert.deepEqual(texts(all.filter(({ partition }) => partition === p)), expected);
      assert.deepEqual(tables.get(p), { count: String(expected.length) });
    }
  });
}

/** Copies its input to `output` and counts it in `table`, where lost and duplicate records show. */
function copyAndCount(output: string, table: string): PartitionHandler {
  return async (owned) => {
    const { partition } = owned;
    let count = Number((await restoreTable(owned, table)).count ?? 0);
    for await (const { topic, records, nextOffset } of owned.batches()) {
      count += records.length;
      const copies = records.map(({ key, value }) => ({ topic: output, partition, key, value }));
      const state = record(table, "count", String(count), partition);
      await owned.commit({ topic, nextOffset, records: [...copies, state] });
    }
  };
}

function collect(batches: StoredBatch[]): PartitionHandler {
  return async (owned) => {
    for await (const batch of owned.batches()) batches.push(batch);
  };
}

function isShared(first: Membership, second: Membership): boolean {
  const all = [first, second].flatMap((member) => member.status().partitions);
  const isEven = [first, second].every((member) => member.status().partitions.length === partitions / 2);
  return isEven && new Set(all).size === partitions;
}
