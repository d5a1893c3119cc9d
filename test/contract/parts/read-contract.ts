// Reading a topic once from start to end, outside any group.
import assert from "node:assert/strict";
import type { StoredBatch } from "../../../src/log/log.ts";
import {
  type ContractBench,
  type ContractTest,
  isCoded,
  numbered,
  record,
  texts,
} from "../contract-bench.ts";

const partitions = 3;

export function readContract(contractTest: ContractTest): void {
  contractTest("yields all records of every partition in offset order, and ends", async (bench) => {
    const topic = await bench.createTopic("topic", { partitions });
    for (let p = 0; p < partitions; p++) await bench.log.append(numbered(topic, `p${p}n`, 500, p));
    const batches = await readTopic(bench, topic);
    for (let p = 0; p < partitions; p++) {
      assert.deepEqual(textsOf(batches, p), texts(numbered(topic, `p${p}n`, 500)));
    }
    for (const { records, nextOffset } of batches)
      assert.equal(nextOffset, (records.at(-1)?.offset ?? 0) + 1);
  });

  contractTest("ends at once if the topic is empty", async (bench) => {
    const topic = await bench.createTopic("topic", { partitions });
    assert.deepEqual(await readTopic(bench, topic), []);
  });

  contractTest("ends where the topic ended at the start, however fast it grows", async (bench) => {
    const topic = await bench.createTopic("topic", { partitions });
    // More than fits into one answer of a broker.
    const large = Buffer.alloc(1_000);
    const write = (prefix: string) =>
      bench.log.append(
        Array.from({ length: 4_000 * partitions }, (_, i) => {
          const value = Buffer.concat([Buffer.from(prefix), large]);
          return { topic, partition: i % partitions, key: null, value };
        }),
      );
    await write("old");
    const prefixes = new Map<string, number>();
    for await (const { records } of bench.log.read(topic, neverFires())) {
      if (prefixes.size === 0) await write("new");
      for (const { value } of records) {
        const prefix = String(value?.subarray(0, 3));
        prefixes.set(prefix, (prefixes.get(prefix) ?? 0) + 1);
      }
    }
    assert.deepEqual([...prefixes], [["old", 4_000 * partitions]]);
  });

  contractTest("shows a transaction as soon as it is committed", async (bench) => {
    const input = await bench.createTopic("input");
    const table = await bench.createTopic("table", { compacted: true });
    const commits = 30;
    await bench.log.append(numbered(input, "in", commits));
    const seen: number[] = [];
    await new Promise<void>((resolve, reject) => {
      const work = async () => {
        await bench.join({ inputs: [input], maxBatchRecords: 1 }, async (owned) => {
          for await (const { nextOffset } of owned.batches()) {
            const records = [record(table, `k${nextOffset}`, "v")];
            await owned.commit({ topic: input, nextOffset, records });
            seen.push(textsOf(await readTopic(bench, table), 0).length);
            if (seen.length === commits) resolve();
          }
        });
      };
      work().catch(reject);
    });
    assert.deepEqual(
      seen,
      Array.from({ length: commits }, (_, n) => n + 1),
    );
  });

  contractTest("throws the reason of the signal rather than end early", async (bench) => {
    const topic = await bench.createTopic("topic", { partitions });
    for (let p = 0; p < partitions; p++) await bench.log.append(numbered(topic, "n", 10, p));
    const reason = new Error("nobody waits any more");
    const abort = new AbortController();
    await assert.rejects(async () => {
      for await (const _ of bench.log.read(topic, abort.signal)) abort.abort(reason);
    }, reason);
  });

  contractTest("names a topic that does not exist", async (bench) => {
    const topic = bench.name("absent");
    const namesIt = (error: unknown) => isCoded(error, "TOPIC_MISSING") && error.message.includes(topic);
    await assert.rejects(readTopic(bench, topic), namesIt);
  });
}

async function readTopic(bench: ContractBench, topic: string): Promise<StoredBatch[]> {
  const batches: StoredBatch[] = [];
  for await (const batch of bench.log.read(topic, neverFires())) batches.push(batch);
  return batches;
}

function textsOf(batches: readonly StoredBatch[], partition: number): (string | null)[] {
  return texts(batches.filter((batch) => batch.partition === partition).flatMap(({ records }) => records));
}

function neverFires(): AbortSignal {
  return new AbortController().signal;
}
