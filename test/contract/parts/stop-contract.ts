// Stopping: a member that drains, one that is forced, one whose handler fails.
import assert from "node:assert/strict";
import { PartitionLostError } from "../../../src/runtime/errors.ts";
import {
  type ContractTest,
  Gate,
  graceMs,
  isCoded,
  numbered,
  record,
  texts,
  until,
} from "../contract-bench.ts";

export function stopContract(contractTest: ContractTest): void {
  contractTest("commits what a handler has taken and leaves the rest to the next owner", async (bench) => {
    const input = await bench.createTopic("input");
    const output = await bench.createTopic("output");
    const group = bench.name("group");
    await bench.log.append(numbered(input, "in", 20));
    const taken = new Gate();
    const released = new Gate();
    let wasLost = true;
    const first = await bench.join({ group, inputs: [input], maxBatchRecords: 5 }, async (owned) => {
      for await (const { records, nextOffset } of owned.batches()) {
        taken.open();
        await released.opened;
        const copies = records.map((copied) => ({ ...copied, topic: output, partition: 0 }));
        await owned.commit({ topic: input, nextOffset, records: copies });
      }
      wasLost = owned.lost.aborted;
    });
    await taken.opened;
    const stopped = first.stop(graceMs);
    released.open();
    await stopped;
    await first.done;
    assert.equal(wasLost, false, "a lane that drains has lost nothing");
    assert.deepEqual(texts(await bench.readAll(output)), texts(numbered(input, "in", 5)));

    const rest: (string | null)[] = [];
    await bench.join({ group, inputs: [input] }, async (owned) => {
      for await (const { records } of owned.batches()) rest.push(...texts(records));
    });
    await until("the rest", () => rest.length >= 15);
    assert.deepEqual(rest, texts(numbered(input, "in", 20)).slice(5));
  });

  contractTest("takes the partition by force from a handler that exceeds the grace period", async (bench) => {
    const input = await bench.createTopic("input");
    const output = await bench.createTopic("output");
    const group = bench.name("group");
    await bench.log.append(numbered(input, "in", 5));
    const taken = new Gate();
    const released = new Gate();
    let failure: unknown;
    const stuck = await bench.join({ group, inputs: [input] }, async (owned) => {
      for await (const { nextOffset } of owned.batches()) {
        taken.open();
        await released.opened;
        assert.equal(owned.lost.aborted, true);
        const records = [record(output, "k", "too late")];
        await owned.commit({ topic: input, nextOffset, records }).catch((error: unknown) => {
          failure = error;
        });
      }
    });
    await taken.opened;
    await assert.rejects(stuck.stop(50), (error) => isCoded(error, "SHUTDOWN_FORCED"));
    released.open();
    await until("the late commit's failure", () => failure !== undefined);
    assert.ok(failure instanceof PartitionLostError, String(failure));
    assert.deepEqual(await bench.readAll(output), []);
  });

  contractTest("reports the failure of a handler, keeps its partition, and still stops", async (bench) => {
    const input = await bench.createTopic("input");
    await bench.log.append(numbered(input, "in", 1));
    const fault = new Error("the lane broke");
    const group = bench.name("group");
    const positionsTopic = await bench.createTopic("positions", { compacted: true });
    const subscription = {
      group,
      inputs: [input],
      positionsTopic,
      outputs: [positionsTopic],
      start: "earliest",
      maxBatchRecords: 10,
    } as const;
    const member = await bench.log.join(subscription, async (owned) => {
      for await (const _ of owned.batches()) throw fault;
    });
    await assert.rejects(member.done, fault);
    assert.deepEqual(member.status().partitions, [0]);
    await member.stop(graceMs);
  });
}
