// Transactions that former owners left open under the id of another partition.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { makeDelaysInstant } from "./instant-delays.ts";
import { ScriptedCluster } from "./scripted-link.ts";
import { GROUP, INPUT, OUTPUT, STATE, TransactorRig } from "./transactor-rig.ts";

const { clock } = makeDelaysInstant();
const place = { topic: OUTPUT, partition: 0 };

function blockedBy(transactionalId: string): TransactorRig {
  const cluster = new ScriptedCluster();
  cluster.model.openTransaction({ transactionalId, producerId: 5, epoch: 0 }, place);
  return new TransactorRig({ clock, cluster });
}

describe("a transaction that a former owner left open under the id of another partition", () => {
  test("is ended when nobody else does it", async () => {
    const rig = blockedBy(`${GROUP}-7`);
    assert.deepEqual([...(await rig.open())], [[INPUT, null]]);
    assert.equal(rig.cluster.model.hasUndecided(place), false);
    await rig.commit(0);
    rig.assertCommitted([0]);
    assert.equal(rig.cluster.openLinks.size, 1, "only its own session stays open");
  });

  test("is left to the new owner of that partition at first", async () => {
    const rig = blockedBy(`${GROUP}-7`);
    let looks = 0;
    rig.cluster.onAsk = ({ step }) => {
      if (step === "ListOffsets" && ++looks === 12) rig.cluster.model.timeOut(`${GROUP}-7`);
    };
    await rig.open();
    assert.equal(rig.cluster.asked("ListTransactions").length, 0);
  });

  for (const other of ["other-7", `${GROUP}-x`, `${GROUP}-7-9`])
    test(`is somebody else's if the id is ${other}, and is left alone`, async () => {
      const rig = blockedBy(other);
      await rig.open();
      assert.equal(rig.cluster.model.hasUndecided(place), true);
      assert.equal(rig.cluster.model.epochOf(other), 0);
    });

  test("is found in a topic that we may read if another one refuses us", async () => {
    const rig = blockedBy(`${GROUP}-7`);
    rig.cluster.model.openTransaction(
      { transactionalId: `${GROUP}-7`, producerId: 5, epoch: 0 },
      { topic: STATE, partition: 0 },
    );
    rig.cluster.script({ step: "DescribeProducers", nth: 0, fault: { kind: "refused", code: 29 } });
    await rig.open();
    assert.equal(rig.cluster.asked("DescribeProducers").length, 2);
    assert.equal(rig.cluster.model.epochOf(`${GROUP}-7`), 1);
  });

  test("is left to its timeout if the brokers cannot tell whose it is", async () => {
    const rig = blockedBy(`${GROUP}-7`);
    rig.cluster.model.hasTopicIds = false;
    await rig.open();
    assert.equal(rig.cluster.asked("DescribeProducers").length, 0);
    assert.equal(rig.cluster.model.hasUndecided(place), true);
  });
});
