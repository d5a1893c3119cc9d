// Who may commit: partitions lost at any moment, second owners, members that the group has dropped.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { toPositionsRecord } from "../../../../src/log/kafka/positions.ts";
import { fired } from "../../../../src/runtime/waiting.ts";
import { makeDelaysInstant, turns } from "./instant-delays.ts";
import { ScriptedCluster } from "./scripted-link.ts";
import { commitOf, INPUT, STATE, storedIn, TransactorRig } from "./transactor-rig.ts";

const { clock } = makeDelaysInstant();

async function openRig(): Promise<TransactorRig> {
  const rig = new TransactorRig({ clock });
  await rig.open();
  await rig.commit(0);
  rig.cluster.restartScript();
  return rig;
}

/** Asserts that it ends with PartitionLostError, sends nothing more and commits nothing. */
async function assertLost(rig: TransactorRig, acting: Promise<unknown>): Promise<void> {
  await assert.rejects(acting, { code: "PARTITION_LOST" });
  await rig.transactor.close();
  const sent = rig.cluster.trace.length;
  await turns();
  assert.equal(rig.cluster.trace.length, sent, "requests were sent after the loss");
  rig.assertOrderly();
}

/** Fires at the n-th request from now on; returns whether that request was ever sent, and which it was. */
function loseAt(rig: TransactorRig, nth: number): { step: string | null } {
  const lostAt: { step: string | null } = { step: null };
  let count = 0;
  rig.cluster.onAsk = ({ step }) => {
    if (count++ !== nth) return;
    lostAt.step = step;
    rig.lost.abort();
  };
  return lostAt;
}

describe("a partition that is lost", () => {
  test("during any request of a commit ends the commit, and nothing of it is committed", async () => {
    const seen = new Set<string | null>();
    for (let nth = 0; ; nth++) {
      const rig = await openRig();
      const lostAt = loseAt(rig, nth);
      const committing = rig.commit(1);
      if (await hasEnded(committing, lostAt)) break;
      seen.add(lostAt.step);
      if (rig.cluster.model.committedValues("forecasts", 0).length === 2) {
        // The coordinator has answered that it is committed, and the caller learns it.
        assert.ok(lostAt.step === "EndTxn" || lostAt.step === "ListOffsets", String(lostAt.step));
        await committing;
        rig.assertCommitted([0, 1]);
        continue;
      }
      await assertLost(rig, committing);
      rig.assertCommitted([0]);
      assert.equal(rig.cluster.model.openTransactions, 0, `left open, lost at ${lostAt.step}`);
    }
    const steps = [
      "Connect",
      "AddPartitionsToTxn",
      "Produce",
      "AddOffsetsToTxn",
      "TxnOffsetCommit",
      "EndTxn",
    ];
    for (const step of steps) assert.ok(seen.has(step), `never lost during ${step}`);
  });

  test("during any request of a repeated commit lets nothing be committed after that", async () => {
    const seen = new Set<string | null>();
    for (let nth = 0; ; nth++) {
      const rig = await openRig();
      rig.cluster.script({ step: "Produce", nth: 1, fault: { kind: "answer lost" } });
      const lostAt = loseAt(rig, nth);
      const committing = rig.commit(1);
      if (await hasEnded(committing, lostAt)) break;
      seen.add(lostAt.step);
      await committing.catch(() => undefined);
      const isCommitted = rig.cluster.model.committedValues("forecasts", 0).length === 2;
      rig.assertCommitted(isCommitted ? [0, 1] : [0]);
      if (isCommitted) assert.ok(lostAt.step === "EndTxn" || lostAt.step === "ListOffsets");
      else await assertLost(rig, committing);
    }
    assert.ok(seen.has("InitProducerId"));
  });

  test("while an EndTxn is unanswered keeps what the coordinator did, and the caller gets the loss", async () => {
    for (const kind of ["answer lost", "request lost"] as const) {
      const rig = await openRig();
      rig.cluster.script({ step: "EndTxn", nth: 0, fault: { kind } });
      rig.cluster.onAsk = ({ step }) => {
        if (step === "EndTxn") rig.lost.abort();
      };
      await assertLost(rig, rig.commit(1));
      rig.assertCommitted(kind === "answer lost" ? [0, 1] : [0]);
      assert.equal(rig.epochsTaken, 0);
    }
  });

  for (const [when, hook] of [
    ["while the group is asked to confirm the membership", "onConfirm"],
    ["while the positions are read", "onRead"],
  ] as const) {
    test(`${when} does not repeat the commit`, async () => {
      const rig = await openRig();
      rig.cluster.script({ step: "EndTxn", nth: 0, fault: { kind: "request lost" } });
      rig[hook] = () => rig.lost.abort();
      await assertLost(rig, rig.commit(1));
      rig.assertCommitted([0]);
      assert.equal(rig.epochsTaken, hook === "onRead" ? 1 : 0);
    });
  }

  test("while a commit pauses before its next attempt ends it at once", async () => {
    const rig = await openRig();
    rig.cluster.script({ step: "Produce", nth: 0, fault: { kind: "request lost" } });
    const committing = rig.commit(1);
    const isTroubled = async () => {
      while (rig.troubles.length === 0) await turns(1);
    };
    await isTroubled();
    rig.lost.abort();
    await assertLost(rig, committing);
    rig.assertCommitted([0]);
  });

  test("while the coordinator is busy ends the requests to it", async () => {
    const rig = await openRig();
    for (let nth = 0; nth < 100; nth++)
      rig.cluster.script({ step: "AddPartitionsToTxn", nth, fault: { kind: "refused", code: 51 } });
    const committing = rig.commit(1);
    await turns(10);
    rig.lost.abort();
    await assertLost(rig, committing);
  });

  test("while a permanent failure is being handled is reported as lost", async () => {
    const rig = await openRig();
    rig.cluster.script({ step: "Produce", nth: 0, fault: { kind: "refused", code: 29 } });
    rig.onConfirm = () => rig.lost.abort();
    await assertLost(rig, rig.commit(1));
    assert.equal(rig.epochsTaken, 0, "it fenced its successor");
  });

  test("before a commit sends nothing", async () => {
    const rig = await openRig();
    rig.lost.abort();
    const sent = rig.cluster.trace.length;
    await assertLost(rig, rig.commit(1));
    assert.equal(rig.cluster.trace.length, sent);
  });

  test("during any request of its opening ends the opening", async () => {
    for (let nth = 0; ; nth++) {
      const rig = new TransactorRig({ clock });
      const lostAt = loseAt(rig, nth);
      rig.cluster.script({ step: "OffsetFetch", nth: 0, fault: { kind: "request lost" } });
      const opening = rig.transactor.open([INPUT]);
      if (await hasEnded(opening, lostAt)) break;
      await assert.rejects(opening, { code: "PARTITION_LOST" });
      await rig.transactor.close();
      assert.equal(rig.cluster.openLinks.size, 0);
    }
  });

  test("while its positions are read is reported as lost and not as a failure of the log", async () => {
    const rig = new TransactorRig({ clock });
    rig.onRead = () => rig.lost.abort();
    await assert.rejects(rig.open(), { code: "PARTITION_LOST" });
  });
});

/** Whether it ended before the request at which the partition was to be lost. */
async function hasEnded(
  acting: Promise<unknown>,
  lostAt: { readonly step: string | null },
): Promise<boolean> {
  await acting.catch(() => undefined);
  return lostAt.step === null;
}

describe("a second owner", () => {
  test("takes over the positions of the first, whose open transaction is ended", async () => {
    const first = await openRig();
    first.cluster.onAsk = async ({ step }) => {
      if (step !== "EndTxn") return;
      first.cluster.onAsk = () => undefined;
      assert.equal(first.cluster.model.openTransactions, 1);
      const positions = await second.open();
      assert.deepEqual([...positions], [[INPUT, 10]]);
    };
    const second = new TransactorRig({ clock, cluster: first.cluster });
    const committing = first.commit(1);
    // The group has dropped the first: it never confirms.
    let isAsking = false;
    first.onConfirm = () => {
      isAsking = true;
      return fired(first.lost.signal);
    };
    while (!isAsking) await turns(1);
    await second.commit(1);
    second.assertCommitted([0, 1]);
    assert.equal(first.cluster.linksOpened, 2, "the first has fenced the second");
    first.lost.abort();
    await assert.rejects(committing, { code: "PARTITION_LOST" });
    assert.equal(first.cluster.linksOpened, 2);
  });

  test("that has committed meanwhile ends the first, even if its membership is confirmed", async () => {
    const first = await openRig();
    first.cluster.onAsk = async ({ step }) => {
      if (step !== "EndTxn") return;
      first.cluster.onAsk = () => undefined;
      const second = new TransactorRig({ clock, cluster: first.cluster });
      await second.open();
      await second.commit(1);
      await second.transactor.close();
    };
    await assert.rejects(first.commit(1), {
      code: "PARTITION_LOST",
      message: /another owner has committed/,
    });
    first.assertCommitted([0, 1]);
    assert.equal(first.cluster.openLinks.size, 0);
  });

  test("that wrote its own positions record is noticed after an uncertain answer", async () => {
    const rig = await openRig();
    const foreign = {
      commitId: "999-0-0",
      positionByTopic: new Map([[INPUT, 77]]),
      topicIdByTopic: new Map(),
      stateTopicId: null,
    };
    rig.cluster.script({ step: "EndTxn", nth: 0, fault: { kind: "request lost" } });
    rig.onConfirm = () => rig.cluster.model.append(toPositionsRecord(foreign, STATE, 0));
    await assert.rejects(rig.commit(1), { code: "PARTITION_LOST" });
    assert.equal(storedIn(rig.cluster)?.commitId, "999-0-0");
    assert.equal(rig.cluster.model.committedValues("forecasts", 0).length, 1);
  });

  test("that opens at the same time as the first does not commit the same input twice", async () => {
    const cluster = new ScriptedCluster();
    const owners = [0, 1].map(() => new TransactorRig({ clock, cluster }));
    await Promise.all(owners.map((owner) => owner.open()));
    const outcomes = await Promise.allSettled(owners.map((owner) => owner.transactor.commit(commitOf(0))));
    assert.deepEqual(outcomes.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
    owners[0].assertCommitted([0]);
  });
});
