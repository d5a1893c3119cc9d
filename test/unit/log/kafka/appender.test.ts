import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { Outgoing } from "../../../../src/domain.ts";
import { Appender } from "../../../../src/log/kafka/appender.ts";
import { Producer } from "../../../../src/log/kafka/producer.ts";
import { decodeRecordSet } from "../../../../src/log/kafka/wire/fetched-records.ts";
import { makeDelaysInstant, turns } from "./instant-delays.ts";
import { type Fault, ScriptedCluster } from "./scripted-link.ts";
import { topicFacts } from "./topic-facts.ts";

const { clock } = makeDelaysInstant();
const findTopic = async (topic: string) => topicFacts(topic, { maxMessageBytes: 1_000 });

function output(value: string, partition = 0): Outgoing {
  return { topic: "t", partition, key: null, value: Buffer.from(value) };
}

describe("a producer", () => {
  const sequenceOf = (bytes: Buffer) => bytes.readInt32BE(53);

  test("counts sequence numbers per partition, one per record", () => {
    const producer = new Producer(
      { transactionalId: null, producerId: 7, epoch: 3 },
      { compression: "none", clock },
    );
    const encode = (partition: number, count: number) => {
      const records = Array.from({ length: count }, () => output("v", partition));
      return sequenceOf(producer.encode({ topic: "t", partition, records }).bytes);
    };
    assert.deepEqual([encode(0, 3), encode(1, 2), encode(0, 1), encode(0, 1), encode(1, 1)], [0, 0, 3, 4, 2]);
  });

  for (const transactionalId of [null, "g-0"]) {
    test(`marks its batches with identity and time ${transactionalId === null ? "outside" : "inside"} a transaction`, () => {
      const producer = new Producer(
        { transactionalId, producerId: 7, epoch: 3 },
        { compression: "gzip", clock },
      );
      const records = [output("v".repeat(500))];
      const { bytes, topic, partition } = producer.encode({ topic: "t", partition: 2, records });
      const [batch] = decodeRecordSet(bytes, 1_000_000);
      assert.deepEqual([topic, partition], ["t", 2]);
      assert.equal(batch.producerId, 7);
      assert.equal(bytes.readInt16BE(51), 3);
      assert.equal(batch.isTransactional, transactionalId !== null);
      assert.equal(batch.records[0].timestampMs, clock.nowMs());
      assert.ok(bytes.length < 500, "it is compressed");
    });
  }
});

describe("an appender", () => {
  const patienceMs = 60_000;
  const open = (cluster: ScriptedCluster, ms = patienceMs) =>
    new Appender({
      ...{ openLink: cluster.openLink, findTopic, patienceMs: ms, compression: "none", clock },
    });
  const values = (cluster: ScriptedCluster, partition = 0) => cluster.model.committedValues("t", partition);

  test("uses one producer id and one link for many appends", async () => {
    const cluster = new ScriptedCluster();
    const appender = open(cluster);
    for (const value of ["a", "b", "c"]) await appender.append([output(value), output(value, 1)]);
    assert.deepEqual(
      [values(cluster), values(cluster, 1)],
      [
        ["a", "b", "c"],
        ["a", "b", "c"],
      ],
    );
    assert.deepEqual([cluster.asked("InitProducerId").length, cluster.linksOpened], [1, 1]);
    await appender.close();
    assert.equal(cluster.openLinks.size, 0);
  });

  for (const [what, fault] of [
    ["was lost in transit", { kind: "request lost" }],
    ["was written and its answer lost", { kind: "answer lost" }],
    ["was cut off after it was written", { kind: "closed", isApplied: true }],
    ["was refused by a former leader", { kind: "refused", code: 6 }],
    ["lacked replicas after it was written", { kind: "refused", code: 20, only: "first" }],
    ["was answered twice", { kind: "twice" }],
    ["was left out of the answer", { kind: "partial" }],
  ] as const satisfies readonly (readonly [string, Fault])[]) {
    test(`writes a batch that ${what} once, because it resends it under the same sequence number`, async () => {
      const cluster = new ScriptedCluster();
      cluster.script({ step: "Produce", nth: 1, fault });
      const appender = open(cluster);
      for (const value of ["a", "b", "c"]) await appender.append([output(value)]);
      assert.deepEqual(values(cluster), ["a", "b", "c"]);
      assert.equal(cluster.asked("Produce").length, 4);
      assert.equal(cluster.asked("InitProducerId").length, 1, "a new producer id would write it twice");
      assert.equal(cluster.linksOpened, 2);
    });
  }

  test("resends only batches that were not written", async () => {
    const cluster = new ScriptedCluster();
    cluster.script({ step: "Produce", nth: 1, fault: { kind: "request lost" } });
    await open(cluster).append([output("a", 0), output("b", 1), output("c", 2)]);
    assert.deepEqual(
      cluster.asked("Produce").map(({ nodeId }) => nodeId),
      ["1", "2", "3", "2"],
    );
    assert.deepEqual(
      [0, 1, 2].map((partition) => values(cluster, partition)),
      [["a"], ["b"], ["c"]],
    );
  });

  test("treats a batch that the broker calls a duplicate as written", async () => {
    const cluster = new ScriptedCluster();
    cluster.script({ step: "Produce", nth: 0, fault: { kind: "refused", code: 46 } });
    await open(cluster).append([output("a")]);
    assert.equal(cluster.asked("Produce").length, 1);
  });

  test("keeps the order of concurrent appends across a failure", async () => {
    const cluster = new ScriptedCluster();
    for (const nth of [0, 1, 4]) cluster.script({ step: "Produce", nth, fault: { kind: "answer lost" } });
    const appender = open(cluster);
    await Promise.all(["a", "b", "c", "d"].map((value) => appender.append([output(value)])));
    assert.deepEqual(values(cluster), ["a", "b", "c", "d"]);
  });

  test("writes many records in consecutive rounds", async () => {
    const cluster = new ScriptedCluster();
    const many = Array.from({ length: 40 }, (_, i) =>
      output(`${String(i).padStart(3, "0")}${"x".repeat(97)}`),
    );
    await open(cluster).append(many);
    assert.ok(cluster.asked("Produce").length > 4);
    assert.deepEqual(
      values(cluster).map((value) => Number(value.slice(0, 3))),
      many.map((_, i) => i),
    );
  });

  test("waits for a cluster that cannot be reached", async () => {
    const cluster = new ScriptedCluster();
    cluster.script(
      { step: "Connect", nth: 0, fault: { kind: "request lost" } },
      { step: "InitProducerId", nth: 0, fault: { kind: "refused", code: 14 } },
      { step: "InitProducerId", nth: 1, fault: { kind: "answer lost" } },
    );
    const appender = open(cluster);
    await appender.append([output("a")]);
    assert.deepEqual(values(cluster), ["a"]);
    await appender.close();
    assert.equal(cluster.openLinks.size, 0);
  });

  test("gives up after its patience with a retriable error, and starts afresh with the next append", async () => {
    const cluster = new ScriptedCluster();
    let isDown = true;
    cluster.onAsk = ({ step }) => {
      if (isDown && step === "Produce") cluster.openLinks.clear();
    };
    const appender = open(cluster, 30);
    await assert.rejects(appender.append([output("a")]), { retriable: true });
    isDown = false;
    await appender.append([output("b")]);
    assert.deepEqual(values(cluster), ["b"]);
    assert.equal(
      cluster.asked("InitProducerId").length,
      2,
      "the sequence numbers of the abandoned append are gone",
    );
  });

  test("does not retry a permanent failure, and continues with the next append", async () => {
    const cluster = new ScriptedCluster();
    cluster.script({ step: "Produce", nth: 0, fault: { kind: "refused", code: 29 } });
    const appender = open(cluster);
    await assert.rejects(appender.append([output("a")]), { type: "TOPIC_AUTHORIZATION_FAILED" });
    assert.equal(cluster.asked("Produce").length, 1);
    await appender.append([output("b")]);
    assert.deepEqual(values(cluster), ["b"]);
  });

  test("closes only after the appends in progress", async () => {
    const cluster = new ScriptedCluster();
    const appender = open(cluster);
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    cluster.onAsk = ({ step }) => (step === "Produce" ? held : undefined);
    const appending = appender.append([output("a")]);
    const closing = appender.close();
    await turns();
    assert.equal(cluster.openLinks.size, 1);
    release();
    await Promise.all([appending, closing]);
    assert.deepEqual([values(cluster), cluster.openLinks.size], [["a"], 0]);
  });

  test("writes every record once and in order, whichever answers are lost", async () => {
    const fault = fc.constantFrom<Fault>(
      { kind: "answer lost" },
      { kind: "request lost" },
      { kind: "partial" },
      { kind: "refused", code: 6 },
      { kind: "refused", code: 20, only: "first" },
    );
    const script = fc.array(fc.record({ step: fc.constant("Produce" as const), nth: fc.nat(20), fault }), {
      maxLength: 10,
    });
    await fc.assert(
      fc.asyncProperty(script, async (faults) => {
        const cluster = new ScriptedCluster();
        cluster.script(...faults);
        const appender = open(cluster);
        const expected = ["a", "b", "c", "d", "e"];
        for (const value of expected) await appender.append([0, 1, 2].map((part) => output(value, part)));
        for (const partition of [0, 1, 2]) assert.deepEqual(values(cluster, partition), expected);
      }),
      { numRuns: 60 },
    );
  });
});
