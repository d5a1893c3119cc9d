// Tails: what a handler receives of a table that others write to while it runs.
import assert from "node:assert/strict";
import type { Membership, OwnedPartition, PartitionHandler, StoredRecord } from "../../../src/log/log.ts";
import { readTable } from "../../../src/log/newest-by-key.ts";
import {
  type ContractBench,
  type ContractTest,
  graceMs,
  isCoded,
  numbered,
  record,
  texts,
  until,
} from "../contract-bench.ts";

export function tailContract(contractTest: ContractTest): void {
  contractTest("yields existing records from the given offset on, and then appended ones", async (bench) => {
    const { input, table } = await fixture(bench);
    await bench.log.append(numbered(table, "old", 5));
    const { heard } = await joinTailing(bench, input, table, 3);
    await until("the last two earlier records", () => heard.length === 2);
    await bench.log.append(numbered(table, "new", 3));
    await until("the new records", () => heard.length === 5);
    assert.deepEqual(texts(heard), ["old3", "old4", "new0", "new1", "new2"]);
    assert.deepEqual(
      heard.map(({ offset }) => offset),
      [3, 4, 5, 6, 7],
    );
  });

  contractTest("yields deletions, too", async (bench) => {
    const { input, table } = await fixture(bench);
    const { heard } = await joinTailing(bench, input, table);
    await bench.log.append([record(table, "k", "v"), record(table, "k", null)]);
    await until("both records", () => heard.length === 2);
    assert.deepEqual(texts(heard), ["v", null]);
  });

  contractTest("yields only records of its own partition", async (bench) => {
    const { input, table } = await fixture(bench, 2);
    const { heardBy } = await joinTailing(bench, input, table);
    await bench.log.append([...numbered(table, "zero", 3, 0), ...numbered(table, "one", 3, 1)]);
    await until("both partitions", () => heardBy(0).length === 3 && heardBy(1).length === 3);
    assert.deepEqual(texts(heardBy(0)), texts(numbered(table, "zero", 3)));
    assert.deepEqual(texts(heardBy(1)), texts(numbered(table, "one", 3)));
  });

  contractTest("continues where a restore ended while others commit, and misses nothing", async (bench) => {
    const { input, table } = await fixture(bench);
    const commits = 60;
    const writer = await joinCommitting(bench, input, commits, (n) => [record(table, `k${n}`, String(n))]);
    await until("some commits", () => writer.commits > 10);
    const heard: (string | null)[] = [];
    await bench.join({ inputs: [input] }, async (owned) => {
      const { valueByKey, nextOffset } = await readTable(owned.restore(table));
      heard.push(...[...valueByKey.values()].map(String));
      for await (const records of owned.tail(table, nextOffset)) heard.push(...texts(records));
    });
    await until("every commit", () => heard.length >= commits);
    assert.deepEqual(
      heard,
      Array.from({ length: commits }, (_, n) => String(n)),
    );
  });

  contractTest("yields the commits of other handlers, and nothing of a failed commit", async (bench) => {
    const { input, table } = await fixture(bench);
    const { heard } = await joinTailing(bench, input, table, 0, bench.secondLog);
    const group = bench.name("group");
    await bench.log.append(numbered(input, "in", 1));
    const commit = async (owned: OwnedPartition, records: Parameters<typeof owned.commit>[0]["records"]) => {
      for await (const { nextOffset } of owned.batches())
        return owned.commit({ topic: input, nextOffset, records });
    };
    let failure: unknown;
    const failing = await bench.join({ group, inputs: [input] }, async (owned) => {
      // A broker accepts the first record and refuses the second, because a table accepts none without a key.
      const records = [record(table, "k", "never committed"), record(table, null, "no key")];
      await commit(owned, [...numbered(table, "large", 30).map(enlarged), ...records]).catch((error) => {
        failure = error;
      });
    });
    await until("the failure", () => failure !== undefined);
    assert.ok(isCoded(failure, "LOG_FAILED"), String(failure));
    await failing.stop(graceMs);
    await bench.join({ group, inputs: [input] }, (owned) => commit(owned, [record(table, "k", "committed")]));
    await until("the commit", () => heard.length > 0);
    assert.deepEqual(texts(heard), ["committed"]);
  });

  contractTest("ends when the partition is lost, and others continue", async (bench) => {
    const { input, table } = await fixture(bench, 2);
    const group = bench.name("group");
    const begun = new Set<number>();
    const ended: number[] = [];
    const tailing: PartitionHandler = async (owned) => {
      for await (const _ of owned.tail(table, 0)) begun.add(owned.partition);
      if (owned.lost.aborted) ended.push(owned.partition);
    };
    await bench.join({ group, inputs: [input] }, tailing);
    await bench.log.append([record(table, "k", "v", 0), record(table, "k", "v", 1)]);
    await until("both tails", () => begun.size === 2);
    const second = await bench.join({ group, inputs: [input] }, drained, bench.secondLog);
    await until("the second's partition", () => second.status().partitions.length === 1);
    await until("the end of its tail", () => ended.length > 0);
    assert.deepEqual(ended, second.status().partitions);
  });

  contractTest("ends when the member drains, and loses nothing", async (bench) => {
    const { input, table } = await fixture(bench);
    await bench.log.append(numbered(table, "old", 1));
    const { member, heard, ends } = await joinTailing(bench, input, table);
    await until("the tail to be under way", () => heard.length === 1);
    await member.stop(graceMs);
    assert.deepEqual(ends, [{ wasLost: false }]);
    await bench.log.append(numbered(table, "late", 1));
    assert.deepEqual(texts(await bench.readAll(table)), ["old0", "late0"]);
    assert.equal(heard.length, 1);
  });
}

interface Tailing {
  readonly member: Membership;
  readonly heard: readonly StoredRecord[];
  /** One entry for each tail that has ended. */
  readonly ends: readonly { readonly wasLost: boolean }[];
  heardBy(partition: number): readonly StoredRecord[];
}

async function fixture(bench: ContractBench, partitions = 1) {
  return {
    input: await bench.createTopic("input", { partitions }),
    table: await bench.createTopic("table", { partitions, compacted: true }),
  };
}

/** A member that tails a table beside its input, as a worker does. */
async function joinTailing(
  bench: ContractBench,
  input: string,
  table: string,
  fromOffset = 0,
  log = bench.log,
): Promise<Tailing> {
  const heard: (StoredRecord & { readonly partition: number })[] = [];
  const ends: { wasLost: boolean }[] = [];
  const member = await bench.join(
    { inputs: [input] },
    async (owned) => {
      const tail = async () => {
        for await (const records of owned.tail(table, fromOffset))
          heard.push(...records.map((stored) => ({ ...stored, partition: owned.partition })));
        ends.push({ wasLost: owned.lost.aborted });
      };
      await Promise.all([tail(), drained(owned)]);
    },
    log,
  );
  const heardBy = (partition: number) => heard.filter((stored) => stored.partition === partition);
  return { member, heard, ends, heardBy };
}

/** A member that commits `count` times, each time the records that `recordsOf` returns for the commit number. */
async function joinCommitting(
  bench: ContractBench,
  input: string,
  count: number,
  recordsOf: (n: number) => ReturnType<typeof numbered>,
): Promise<{ readonly commits: number }> {
  await bench.log.append(numbered(input, "in", count));
  const progress = { commits: 0 };
  await bench.join({ inputs: [input], maxBatchRecords: 1 }, async (owned) => {
    for await (const { nextOffset } of owned.batches()) {
      await owned.commit({ topic: input, nextOffset, records: recordsOf(progress.commits) });
      progress.commits++;
    }
  });
  return progress;
}

const drained: PartitionHandler = async (owned) => {
  for await (const _ of owned.batches());
};

/** Thirty of these need more than one request, so that a failing commit has already written some. */
function enlarged<T extends { readonly value: Buffer | null }>(small: T): T {
  return { ...small, value: Buffer.concat([small.value ?? Buffer.alloc(0), Buffer.alloc(100_000)]) };
}
