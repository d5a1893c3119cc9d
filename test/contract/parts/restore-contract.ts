// Tables: what an owner restores from a compacted topic before it reads input.
import assert from "node:assert/strict";
import { type ContractTest, graceMs, numbered, record, until } from "../contract-bench.ts";

export function restoreContract(contractTest: ContractTest): void {
  contractTest("restores the newest value of each key, and no deleted key", async (bench) => {
    const input = await bench.createTopic("input");
    const table = await bench.createTopic("table", { compacted: true });
    await bench.log.append([
      record(table, "a", "old"),
      record(table, "b", "deleted later"),
      record(table, "a", "newer"),
      record(table, "b", null),
      record(table, "c", "only"),
      record(table, "d", null),
      record(table, "d", "back again"),
      record(table, "a", "newest"),
    ]);
    const restored = await bench.restoreAll(input, table);
    assert.deepEqual(restored.get(0), { a: "newest", c: "only", d: "back again" });
  });

  contractTest("restores each partition by itself", async (bench) => {
    const input = await bench.createTopic("input", { partitions: 2 });
    const table = await bench.createTopic("table", { partitions: 2, compacted: true });
    await bench.log.append([record(table, "k", "zero", 0), record(table, "k", "one", 1)]);
    const restored = await bench.restoreAll(input, table);
    assert.deepEqual([restored.get(0), restored.get(1)], [{ k: "zero" }, { k: "one" }]);
  });

  contractTest("restores an empty table at once", async (bench) => {
    const input = await bench.createTopic("input");
    const table = await bench.createTopic("table", { compacted: true });
    assert.deepEqual((await bench.restoreAll(input, table)).get(0), {});
  });

  contractTest("restores many thousand keys after many updates", async (bench) => {
    const input = await bench.createTopic("input");
    const table = await bench.createTopic("table", { compacted: true });
    const keys = 5_000;
    for (const round of ["first", "second", "third"]) {
      await bench.log.append(
        Array.from({ length: keys }, (_, i) => record(table, `key${i}`, `${round}${i}`)),
      );
    }
    const restored = (await bench.restoreAll(input, table)).get(0) ?? {};
    const expected = Array.from({ length: keys }, (_, i) => [`key${i}`, `third${i}`]);
    assert.deepEqual(restored, Object.fromEntries(expected));
  });

  contractTest(
    "restores everything that the previous owner committed, including its last commit",
    async (bench) => {
      const input = await bench.createTopic("input");
      const table = await bench.createTopic("table", { compacted: true });
      await bench.log.append(numbered(input, "in", 50));
      let commits = 0;
      const member = await bench.join({ inputs: [input], maxBatchRecords: 1 }, async (owned) => {
        for await (const { nextOffset } of owned.batches()) {
          const records = [
            record(table, "count", String(commits + 1)),
            record(table, `in${commits}`, "done"),
          ];
          await owned.commit({ topic: input, nextOffset, records });
          commits++;
        }
      });
      await until("fifty commits", () => commits === 50);
      // Read while the owner is still there; a restore does not wait for it to leave.
      const restored = (await bench.restoreAll(input, table)).get(0) ?? {};
      assert.equal(restored.count, "50");
      assert.equal(Object.keys(restored).length, 51);
      await member.stop(graceMs);
    },
  );
}
