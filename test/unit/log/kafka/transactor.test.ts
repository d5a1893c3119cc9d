// Commits on a scripted cluster, one row per request and fault.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TopicPartition } from "../../../../src/log/kafka/wire/protocol.ts";
import { makeDelaysInstant, turns } from "./instant-delays.ts";
import type { Fault, Step } from "./scripted-link.ts";
import { commitOf, INPUT, OUTPUT, STATE, TRANSACTIONAL_ID, TransactorRig } from "./transactor-rig.ts";

const { clock } = makeDelaysInstant();

const requests = [
  "AddPartitionsToTxn",
  "Produce",
  "AddOffsetsToTxn",
  "TxnOffsetCommit",
  "EndTxn",
] as const satisfies readonly Step[];
type Request = (typeof requests)[number];

/** Error codes after which a new epoch helps. */
const mended: Readonly<Record<number, string>> = {
  2: "CORRUPT_MESSAGE",
  3: "UNKNOWN_TOPIC_OR_PARTITION",
  5: "LEADER_NOT_AVAILABLE",
  6: "NOT_LEADER_FOR_PARTITION",
  7: "REQUEST_TIMED_OUT",
  14: "COORDINATOR_LOAD_IN_PROGRESS",
  15: "COORDINATOR_NOT_AVAILABLE",
  16: "NOT_COORDINATOR",
  19: "NOT_ENOUGH_REPLICAS",
  20: "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
  45: "OUT_OF_ORDER_SEQUENCE_NUMBER",
  46: "DUPLICATE_SEQUENCE_NUMBER",
  47: "INVALID_PRODUCER_EPOCH",
  48: "INVALID_TXN_STATE",
  49: "INVALID_PRODUCER_ID_MAPPING",
  52: "TRANSACTION_COORDINATOR_FENCED",
  56: "KAFKA_STORAGE_ERROR",
  59: "UNKNOWN_PRODUCER_ID",
  90: "PRODUCER_FENCED",
  120: "TRANSACTION_ABORTABLE",
};

/** Error codes after which no new epoch helps, and the error that the caller gets. */
const fatal: Readonly<Record<number, readonly [name: string, told: string]>> = {
  [-1]: ["UNKNOWN_SERVER_ERROR", "LOG_FAILED"],
  10: ["MESSAGE_TOO_LARGE", "RECORD_TOO_LARGE"],
  18: ["RECORD_LIST_TOO_LARGE", "RECORD_TOO_LARGE"],
  29: ["TOPIC_AUTHORIZATION_FAILED", "NOT_AUTHORIZED"],
  30: ["GROUP_AUTHORIZATION_FAILED", "NOT_AUTHORIZED"],
  53: ["TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "NOT_AUTHORIZED"],
  87: ["INVALID_RECORD", "LOG_FAILED"],
};

async function openRig(): Promise<TransactorRig> {
  const rig = new TransactorRig({ clock });
  await rig.open();
  rig.cluster.restartScript();
  return rig;
}

/** Commits 0 without and 1 with the fault, then 2. */
async function commitThrough(step: Step, fault: Fault, nth = 0): Promise<TransactorRig> {
  const rig = await openRig();
  await rig.commit(0);
  rig.cluster.restartScript({ step, nth, fault });
  await rig.commit(1);
  await rig.commit(2);
  rig.cluster.deliverDelayed();
  rig.assertOrderly();
  rig.assertCommitted([0, 1, 2]);
  await rig.transactor.close();
  assert.equal(rig.cluster.openLinks.size, 0);
  return rig;
}

describe("a commit without faults", () => {
  test("needs one request of each kind, one Produce per leader, and no new epoch", async () => {
    const rig = await openRig();
    await rig.commit(0);
    await rig.commit(1);
    rig.assertOrderly();
    rig.assertCommitted([0, 1]);
    const count = (step: Step) => rig.sentOf(step).length;
    assert.deepEqual(requests.map(count), [2, 6, 2, 2, 2]);
    assert.equal(count("InitProducerId"), 0);
    assert.deepEqual(rig.ends, ["committed", "committed"]);
  });

  test("asks each coordinator and leader for its own part", async () => {
    const rig = await openRig();
    await rig.commit(0);
    const nodesOf = (step: Step) => rig.sentOf(step).map(({ nodeId }) => nodeId);
    const { transaction, group } = rig.cluster.model.coordinators;
    assert.deepEqual(nodesOf("Produce").sort(), ["1", "2", "3"]);
    assert.deepEqual(nodesOf("EndTxn"), [transaction]);
    assert.deepEqual(nodesOf("TxnOffsetCommit"), [group]);
  });

  test("adds every partition to the transaction, including that of the positions, before it writes", async () => {
    const rig = await openRig();
    await rig.commit(0);
    const [added] = rig.sentOf("AddPartitionsToTxn");
    const places = added.request?.facts.places as readonly TopicPartition[];
    assert.deepEqual(
      places.map(({ topic, partition }) => `${topic}/${partition}`),
      ["forecasts/0", "forecasts/1", "forecasts/2", "state/0"],
    );
    const steps = rig.sent.map(({ step }) => step);
    assert.ok(steps.indexOf("Produce") > steps.indexOf("AddPartitionsToTxn"));
  });

  test("without records still moves the position, in the group and in the record", async () => {
    const rig = await openRig();
    await rig.transactor.commit({ records: [], topic: INPUT, nextOffset: 10 });
    rig.assertOrderly();
    assert.equal(rig.cluster.model.groupOffset("g", { topic: INPUT, partition: 0 }), 10);
    assert.equal(rig.cluster.model.committed({ topic: STATE, partition: 0 }).length, 1);
  });

  test("waits in the same epoch for a coordinator that is busy completing the previous transaction", async () => {
    const rig = await openRig();
    rig.cluster.model.busyAfterEnd = 7;
    for (const number of [0, 1, 2]) await rig.commit(number);
    rig.assertOrderly();
    rig.assertCommitted([0, 1, 2]);
    assert.equal(rig.epochsTaken, 0);
    assert.equal(rig.sentOf("AddPartitionsToTxn", "AddOffsetsToTxn").length, 2 * 3 + 2 * 7);
  });

  test("takes a new epoch when the coordinator stays busy for longer than ten seconds", async () => {
    const rig = await openRig();
    await rig.commit(0);
    for (let nth = 0; nth < 300; nth++)
      rig.cluster.script({ step: "AddPartitionsToTxn", nth: nth + 1, fault: { kind: "refused", code: 51 } });
    await rig.commit(1);
    rig.assertCommitted([0, 1]);
    assert.equal(rig.epochsTaken, 1);
    assert.deepEqual(rig.troubles, ["AddPartitionsToTxn: the previous transaction does not end"]);
  });
});

describe("a request that is refused with a retriable error", () => {
  for (const step of requests) {
    for (const [code, name] of Object.entries(mended)) {
      test(`${step} with ${name}: the commit is repeated under a new epoch, once`, async () => {
        const rig = await commitThrough(step, { kind: "refused", code: Number(code) });
        assert.equal(rig.epochsTaken, 1);
        assert.equal(rig.confirmedAt.length, 1);
        assert.deepEqual(rig.ends, ["committed", "aborted", "committed", "committed"]);
        assert.equal(rig.troubles.length, 1);
        assert.match(rig.troubles[0], new RegExp(`^${step} .*was answered with`));
      });
    }
  }

  for (const step of ["AddPartitionsToTxn", "AddOffsetsToTxn"] as const) {
    test(`${step} with CONCURRENT_TRANSACTIONS: asked again in the same epoch`, async () => {
      const rig = await commitThrough(step, { kind: "refused", code: 51 });
      assert.equal(rig.epochsTaken, 0);
      assert.deepEqual(rig.troubles, []);
    });
  }

  for (const step of ["Produce", "TxnOffsetCommit", "EndTxn"] as const) {
    test(`${step} with CONCURRENT_TRANSACTIONS: never asked twice, but under a new epoch`, async () => {
      const rig = await commitThrough(step, { kind: "refused", code: 51 });
      assert.equal(rig.epochsTaken, 1);
    });
  }

  for (const only of ["first", "last"] as const) {
    test(`a refusal of only the ${only} partition fails the whole commit`, async () => {
      for (const step of ["AddPartitionsToTxn", "Produce", "TxnOffsetCommit"] as const) {
        const rig = await commitThrough(step, { kind: "refused", code: 6, only });
        assert.equal(rig.epochsTaken, 1);
      }
    });
  }

  for (const nth of [0, 1, 2]) {
    test(`Produce to leader ${nth} of three is refused: none of the three is committed twice`, async () => {
      await commitThrough("Produce", { kind: "refused", code: 6 }, nth);
    });
  }

  test("a leader that moves is found over the new link", async () => {
    const rig = await openRig();
    await rig.commit(0);
    rig.cluster.model.leaderByName.set(`${OUTPUT}/1`, "3");
    await rig.commit(1);
    rig.assertOrderly();
    rig.assertCommitted([0, 1]);
    assert.match(rig.troubles[0], /ListOffsets for forecasts\/1 was answered with NOT_LEADER_FOR_PARTITION/);
  });
});

describe("a request that is refused permanently", () => {
  for (const step of requests) {
    for (const [code, [name, told]] of Object.entries(fatal)) {
      test(`${step} with ${name}: the caller gets ${told}, and nothing is committed`, async () => {
        await failsWith(step, { kind: "refused", code: Number(code) }, told);
      });
    }
  }

  test("is reported although partitions listed before it were only not attempted", async () => {
    const rig = await openRig();
    rig.cluster.onAsk = (asked) => {
      if (asked.step !== "AddPartitionsToTxn") return;
      rig.cluster.onAsk = () => undefined;
      Object.assign(rig.cluster.model, {
        apply: () =>
          [0, 1, 2].map((partition) => ({ topic: OUTPUT, partition, errorCode: partition === 2 ? 29 : 55 })),
      });
    };
    const failing = rig.commit(0);
    await assert.rejects(failing, {
      code: "NOT_AUTHORIZED",
      message: /TOPIC_AUTHORIZATION_FAILED: the user needs Write on topic forecasts/,
    });
  });

  test("names the positions record if a commit has no other record that could be too large", async () => {
    const rig = await openRig();
    rig.cluster.script({ step: "Produce", nth: 0, fault: { kind: "refused", code: 10 } });
    await assert.rejects(rig.transactor.commit({ records: [], topic: INPUT, nextOffset: 10 }), {
      code: "RECORD_TOO_LARGE",
      message: /a record for topic state has/,
    });
  });

  test("is reported rather than a retriable failure beside it", async () => {
    const rig = await openRig();
    rig.cluster.script(
      { step: "Produce", nth: 0, fault: { kind: "request lost" } },
      { step: "Produce", nth: 1, fault: { kind: "refused", code: 29 } },
      { step: "TxnOffsetCommit", nth: 0, fault: { kind: "request lost" } },
    );
    await assert.rejects(rig.commit(0), { code: "NOT_AUTHORIZED" });
    rig.assertCommitted([]);
  });

  test("a record that its topic does not accept is refused before anything is sent", async () => {
    const rig = await openRig();
    const large = { topic: OUTPUT, partition: 0, key: null, value: Buffer.alloc(1_000_001) };
    const failing = rig.transactor.commit({ ...commitOf(0), records: [large] });
    await assert.rejects(failing, { code: "RECORD_TOO_LARGE" });
    assert.equal(rig.sentOf("AddPartitionsToTxn").length, 0);
  });
});

async function failsWith(step: Request, fault: Fault, told: string): Promise<void> {
  const rig = await openRig();
  await rig.commit(0);
  rig.cluster.restartScript({ step, nth: 0, fault });
  await assert.rejects(rig.commit(1), { code: told });
  rig.assertOrderly();
  rig.assertCommitted([0]);
  assert.equal(rig.cluster.model.openTransactions, 0, "readers would wait for the transaction's time-out");
  await rig.commit(1);
  rig.assertCommitted([0, 1]);
}

describe("a request whose answer does not come", () => {
  const faults: readonly (readonly [string, Fault])[] = [
    ["lost on its way", { kind: "request lost" }],
    ["that took effect, with its answer lost", { kind: "answer lost" }],
    ["cut off before it took effect", { kind: "closed", isApplied: false }],
    ["cut off after it took effect", { kind: "closed", isApplied: true }],
    ...Array.from(
      { length: 16 },
      (_, behind) => [`delivered ${behind} requests late`, { kind: "delayed", behind }] as const,
    ),
  ];
  for (const step of requests) {
    for (const [what, fault] of faults) {
      test(`${step} ${what}: the commit is made once`, async () => {
        const rig = await commitThrough(step, fault);
        assert.equal(rig.epochsTaken, 1);
      });
    }
  }

  for (const step of ["AddPartitionsToTxn", "Produce", "TxnOffsetCommit"] as const) {
    for (const kind of ["partial", "twice", "unasked"] as const) {
      // An unasked partition in a Produce answer is ignored.
      if (step === "Produce" && kind === "unasked") continue;
      test(`${step} answered ${kind}: the commit is made once, under a new epoch`, async () => {
        const rig = await commitThrough(step, { kind });
        assert.equal(rig.epochsTaken, 1);
      });
    }
  }

  test("an EndTxn that took effect is not repeated, because the positions record shows it", async () => {
    const rig = await openRig();
    rig.cluster.script({ step: "EndTxn", nth: 0, fault: { kind: "answer lost" } });
    await rig.commit(0);
    assert.equal(rig.sentOf("AddPartitionsToTxn").length, 1);
    await rig.commit(1);
    rig.assertOrderly();
    rig.assertCommitted([0, 1]);
  });

  test("an EndTxn that arrives in the next transaction is refused and changes nothing", async () => {
    const rig = await openRig();
    rig.cluster.script({ step: "EndTxn", nth: 0, fault: { kind: "delayed", behind: 1_000 } });
    let isDelivered = false;
    rig.cluster.onAsk = ({ step, link }) => {
      if (step !== "TxnOffsetCommit" || link === 0 || isDelivered) return;
      isDelivered = true;
      assert.equal(rig.cluster.model.openTransactions, 1);
      rig.cluster.deliverDelayed();
      assert.equal(rig.cluster.model.openTransactions, 1, "the old end has ended the new transaction");
    };
    await rig.commit(0);
    assert.ok(rig.cluster.linksOpened > 1);
    rig.assertOrderly();
    rig.assertCommitted([0]);
  });

  test("a failed transaction waits for its other requests before it ends", async () => {
    const rig = await openRig();
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let produced = 0;
    rig.cluster.onAsk = ({ step }) => (step === "Produce" && produced++ === 1 ? held : undefined);
    rig.cluster.script({ step: "Produce", nth: 0, fault: { kind: "request lost" } });
    const committing = rig.commit(0);
    await turns(50);
    assert.deepEqual([rig.cluster.linksOpened, rig.sentOf("EndTxn").length], [1, 0]);
    release();
    await committing;
    rig.assertOrderly();
    rig.assertCommitted([0]);
  });

  test("many faults in a row are retried", async () => {
    const rig = await openRig();
    for (let nth = 0; nth < 12; nth++)
      rig.cluster.script({ step: requests[nth % 5], nth, fault: { kind: "answer lost" } });
    for (const number of [0, 1, 2, 3]) await rig.commit(number);
    rig.assertOrderly();
    rig.assertCommitted([0, 1, 2, 3]);
  });
});

describe("a transaction that the coordinator timed out", () => {
  test("is repeated when the group has confirmed the membership", async () => {
    const rig = await openRig();
    await rig.commit(0);
    let isTimedOut = false;
    rig.cluster.onAsk = ({ step }) => {
      if (step !== "EndTxn" || isTimedOut) return;
      isTimedOut = true;
      rig.cluster.model.timeOut(TRANSACTIONAL_ID);
    };
    await rig.commit(1);
    rig.assertOrderly();
    rig.assertCommitted([0, 1]);
    assert.deepEqual([rig.epochsTaken, rig.confirmedAt.length], [1, 1]);
    assert.match(rig.troubles[0], /EndTxn was answered with INVALID_PRODUCER_EPOCH/);
  });
});
