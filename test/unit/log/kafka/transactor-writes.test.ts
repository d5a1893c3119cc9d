// Writes without a new position, on a scripted cluster.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { makeDelaysInstant } from "./instant-delays.ts";
import { INPUT, OUTPUT, outputsOf, TransactorRig } from "./transactor-rig.ts";

const { clock } = makeDelaysInstant();

async function openRig(): Promise<TransactorRig> {
  const rig = new TransactorRig({ clock });
  await rig.open();
  rig.cluster.restartScript();
  return rig;
}

describe("a write", () => {
  test("moves no position", async () => {
    const rig = await openRig();
    await rig.commit(0);
    await rig.transactor.write(outputsOf("commit 1"));
    assert.deepEqual(rig.cluster.model.committedValues(OUTPUT, 0), ["commit 0", "commit 1"]);
    assert.equal(rig.cluster.model.groupOffset("g", { topic: INPUT, partition: 0 }), 10);
    assert.equal(rig.sentOf("TxnOffsetCommit").length, 2, "the same position again");
  });

  test("before the first position is left to the epoch, because the group has nothing to refuse", async () => {
    const rig = await openRig();
    await rig.transactor.write(outputsOf("commit 0"));
    assert.equal(rig.sentOf("TxnOffsetCommit").length, 0);
    assert.equal(rig.cluster.model.groupOffset("g", { topic: INPUT, partition: 0 }), null);
    assert.deepEqual(rig.cluster.model.committedValues(OUTPUT, 0), ["commit 0"]);
  });

  for (const step of ["AddPartitionsToTxn", "Produce", "EndTxn"] as const) {
    for (const kind of ["answer lost", "request lost"] as const) {
      test(`is made once when ${step} meets this: ${kind}`, async () => {
        const rig = await openRig();
        rig.cluster.script({ step, nth: 0, fault: { kind } });
        await rig.transactor.write(outputsOf("commit 0"));
        await rig.commit(1);
        rig.assertOrderly();
        rig.assertCommitted([0, 1]);
      });
    }
  }
});
