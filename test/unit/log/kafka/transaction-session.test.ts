// Partitions without a leader at the end of a transaction: Kafka writes no marker there, and never does so later.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { makeDelaysInstant } from "./instant-delays.ts";
import { INPUT, OUTPUT, STATE, TRANSACTIONAL_ID, TransactorRig } from "./transactor-rig.ts";

const { clock } = makeDelaysInstant();

async function openRig(): Promise<TransactorRig> {
  const rig = new TransactorRig({ clock });
  await rig.open();
  await rig.commit(0);
  rig.cluster.restartScript();
  return rig;
}

/** Removes the leader of these partitions during the first answer to the request, and restores it. */
function loseLeaderAt(rig: TransactorRig, step: string, names: readonly string[]): void {
  const { model } = rig.cluster;
  let isDone = false;
  rig.cluster.onAsk = (asked) => {
    if (asked.step === step && !isDone) {
      isDone = true;
      for (const name of names) model.leaderByName.set(name, "none");
      // One lookup of the leaders fails; then the broker is back.
      rig.onConfirm = () => {
        for (const name of names) model.leaderByName.delete(name);
      };
    }
  };
}

describe("a commit that takes effect while a partition has no leader", () => {
  for (const names of [[`${OUTPUT}/0`], [`${STATE}/0`], [`${OUTPUT}/0`, `${OUTPUT}/2`, `${STATE}/0`]]) {
    test(`is completed on ${names.join(", ")} before the next one starts`, async () => {
      const rig = await openRig();
      loseLeaderAt(rig, "EndTxn", names);
      await rig.commit(1);
      await rig.commit(2);
      const inOrder = [`${OUTPUT}/0`, `${STATE}/0`, `${OUTPUT}/2`].filter((name) => names.includes(name));
      assert.deepEqual(rig.hanging, [`${inOrder.join(" ")} committed`]);
      rig.assertCommitted([0, 1, 2]);
      rig.assertOrderly();
    });
  }

  test("is not aborted with the next one", async () => {
    const rig = await openRig();
    loseLeaderAt(rig, "EndTxn", [`${OUTPUT}/0`, `${STATE}/0`]);
    await rig.commit(1);
    rig.cluster.model.leaderByName.clear();
    rig.cluster.restartScript({ step: "Produce", nth: 1, fault: { kind: "refused", code: 19 } });
    await rig.commit(2);
    rig.assertCommitted([0, 1, 2]);
  });

  test("is completed by the next owner, even after several attempts", async () => {
    const rig = await openRig();
    loseLeaderAt(rig, "EndTxn", [`${OUTPUT}/0`, `${STATE}/0`]);
    await rig.commit(1);
    rig.cluster.model.leaderByName.clear();
    // The epoch is taken, and the coordinator has forgotten how the transaction ended.
    rig.cluster.restartScript({ step: "ListOffsets", nth: 0, fault: { kind: "request lost" } });
    const next = new TransactorRig({ clock, cluster: rig.cluster });
    assert.deepEqual([...(await next.open())], [[INPUT, 20]]);
    assert.deepEqual(next.hanging, [`${OUTPUT}/0 ${STATE}/0 committed`]);
    await next.commit(2);
    next.assertCommitted([0, 1, 2]);
  });
});

describe("a transaction that is aborted while a partition has no leader", () => {
  test("does not get its records back with the next commit", async () => {
    const rig = await openRig();
    const { model } = rig.cluster;
    rig.cluster.onAsk = ({ step }) => {
      if (step !== "EndTxn") return;
      rig.cluster.onAsk = () => undefined;
      model.leaderByName.set(`${OUTPUT}/0`, "none").set(`${STATE}/0`, "none");
      model.timeOut(TRANSACTIONAL_ID);
      model.leaderByName.clear();
    };
    await rig.commit(1);
    await rig.commit(2);
    assert.deepEqual(rig.hanging, [`${OUTPUT}/0 ${STATE}/0 aborted`]);
    rig.assertCommitted([0, 1, 2]);
  });

  test("is aborted there by the next owner, even after several attempts", async () => {
    const rig = await openRig();
    const { model } = rig.cluster;
    rig.cluster.onAsk = ({ step }) => {
      if (step !== "EndTxn") return;
      rig.lost.abort(); // Its owner dies with the transaction open.
      throw new Error("the process is gone");
    };
    await assert.rejects(rig.commit(1), { code: "PARTITION_LOST" });
    rig.cluster.onAsk = () => undefined;
    model.leaderByName.set(`${OUTPUT}/0`, "none");
    model.timeOut(TRANSACTIONAL_ID);
    const next = new TransactorRig({ clock, cluster: rig.cluster });
    let connects = 0;
    rig.cluster.onAsk = ({ step }) => {
      if (step === "Connect" && ++connects === 4) model.leaderByName.clear();
    };
    rig.cluster.restartScript({ step: "ListOffsets", nth: 0, fault: { kind: "request lost" } });
    assert.deepEqual([...(await next.open())], [[INPUT, 10]]);
    assert.deepEqual(next.hanging, [`${OUTPUT}/0 aborted`]);
    await next.commit(1);
    next.assertCommitted([0, 1]);
  });
});

test("a topic that is written to in all partitions is checked in all that have a leader", async () => {
  const rig = await openRig();
  loseLeaderAt(rig, "EndTxn", [`${OUTPUT}/1`, `${OUTPUT}/2`]);
  await rig.commit(1);
  rig.cluster.model.leaderByName.delete(`${OUTPUT}/1`);
  const next = new TransactorRig({ clock, cluster: rig.cluster, spread: [OUTPUT] });
  await next.open();
  assert.deepEqual(next.hanging, [`${OUTPUT}/1 committed`]);
});

test("an epoch is taken only when every partition to be written to has a leader", async () => {
  const rig = new TransactorRig({ clock });
  const { model } = rig.cluster;
  model.leaderByName.set(`${OUTPUT}/0`, "none");
  let connects = 0;
  rig.cluster.onAsk = ({ step }) => {
    if (step === "Connect" && ++connects === 3) model.leaderByName.clear();
  };
  await rig.open();
  assert.equal(rig.cluster.asked("InitProducerId").length, 1);
  assert.match(rig.troubles[0] ?? "", /forecasts\/0 has no leader/);
});

test("another producer's open transaction is left alone", async () => {
  const rig = await openRig();
  const { model } = rig.cluster;
  const other = { transactionalId: "other", producerId: 1001, epoch: 0 };
  model.openTransaction(other, { topic: OUTPUT, partition: 0 });
  let looks = 0;
  rig.cluster.onAsk = ({ step, request }) => {
    if (step === "ListOffsets" && request?.facts.which === "stable" && ++looks === 2) model.timeOut("other");
  };
  const next = new TransactorRig({ clock, cluster: rig.cluster });
  await next.open();
  assert.deepEqual(next.hanging, []);
  assert.ok(looks >= 2, "it was looked at again");
});

test("a cluster that cannot describe transactions is not asked to", async () => {
  const rig = new TransactorRig({ clock });
  rig.cluster.model.hasTopicIds = false;
  await rig.open();
  await rig.commit(0);
  assert.equal(rig.cluster.asked("DescribeTransactions").length, 0);
  rig.assertCommitted([0]);
});
