import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { GroupHealth } from "../../../../src/log/kafka/kafka-membership.ts";
import { toPositionsRecord } from "../../../../src/log/kafka/positions.ts";
import type { OwnedPartition, PartitionHandler } from "../../../../src/log/log.ts";
import { PartitionLostError } from "../../../../src/runtime/errors.ts";
import { makeDelaysInstant, turns } from "./instant-delays.ts";
import { type MemberOptions, MembershipRig } from "./membership-rig.ts";
import { never } from "./scripted-brokers.ts";

makeDelaysInstant();
/** Stands still, so that no outage occurs unless a test moves it. */
const clock = { nowMs: () => 0 };

async function join(options: Partial<MemberOptions> = {}): Promise<MembershipRig> {
  const rig = new MembershipRig({ clock, ...options });
  await rig.membership.join();
  await until(() => rig.cluster.asked("JoinGroup").length === 1);
  return rig;
}

/** A handler that records its partitions and ends with its input. */
function readingHandler() {
  const opened: OwnedPartition[] = [];
  const ended: number[] = [];
  const handler: PartitionHandler = async (owned) => {
    opened.push(owned);
    for await (const _ of owned.batches()) assert.fail("there is no input");
    ended.push(owned.partition);
  };
  return { handler, opened, ended };
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await turns(1);
}

describe("a member whose group does not answer", () => {
  test("keeps its identity and its partitions, and shows the outage until it is confirmed", async () => {
    const { handler, opened } = readingHandler();
    const rig = await join({ handler });
    rig.assign([0]);
    await until(() => opened.length === 1);
    rig.cluster.script({ step: "Heartbeat", nth: 0, fault: { kind: "answer lost" } });
    rig.heartbeat();
    await until(() => rig.membership.status().outage !== null);
    assert.match(rig.membership.status().outage ?? "", /Heartbeat to broker 3 was not answered/);
    await until(() => rig.cluster.asked("Heartbeat").length === 2);
    rig.heartbeat();
    await until(() => rig.membership.status().outage === null);
    assert.equal(opened[0].lost.aborted, false);
    assert.equal(rig.cluster.asked("JoinGroup").length, 1);
    await rig.membership.stop(1_000);
  });

  for (const [code, told, message] of [
    [-1, "LOG_FAILED", /the consumer group failed permanently/],
    [30, "NOT_AUTHORIZED", /Read on group g/],
  ] as const) {
    test(`fails with ${told} when the group refuses it with code ${code}`, async () => {
      const rig = new MembershipRig({ clock });
      rig.cluster.script({ step: "JoinGroup", nth: 0, fault: { kind: "refused", code } });
      await rig.membership.join();
      rig.assign([0]);
      await assert.rejects(rig.membership.done, { code: told, message });
      await rig.membership.stop(0);
    });
  }

  test("joins again after a retriable failure", async () => {
    const { handler, opened } = readingHandler();
    const rig = new MembershipRig({ clock, handler });
    for (const [nth, code] of [15, 16, 14].entries())
      rig.cluster.script({ step: "JoinGroup", nth, fault: { kind: "refused", code } });
    await rig.membership.join();
    rig.assign([0]);
    await until(() => opened.length === 1);
    await rig.membership.stop(1_000);
  });

  test("that cannot be found rejects the join and closes the link", async () => {
    const rig = new MembershipRig({ clock });
    rig.cluster.script({ step: "Connect", nth: 0, fault: { kind: "request lost" } });
    await assert.rejects(rig.membership.join(), { name: "NoAnswerError" });
    assert.equal(rig.cluster.openLinks.size, 0);
  });
});

describe("a member that is assigned partitions", () => {
  test("runs a handler for each, which starts where configured", async () => {
    const { handler, opened, ended } = readingHandler();
    const rig = await join({ handler });
    rig.assign([0, 2]);
    await until(() => opened.length === 2);
    const { isJoined, partitions, lag, outage } = rig.membership.status();
    assert.deepEqual([isJoined, partitions, lag, outage], [true, [0, 2], 0, null]);
    for (const partition of [0, 2])
      assert.equal(rig.cluster.model.groupOffset("g", { topic: "sensors", partition }), 5);
    await rig.membership.stop(1_000);
    assert.deepEqual(ended.sort(), [0, 2]);
    assert.equal(rig.cluster.openLinks.size, 0);
    await rig.membership.done;
  });

  test("starts at the end if so configured", async () => {
    const { handler, opened } = readingHandler();
    const rig = await join({ handler, start: "latest" });
    rig.assign([0]);
    await until(() => opened.length === 1);
    assert.equal(rig.cluster.model.groupOffset("g", { topic: "sensors", partition: 0 }), 9);
    await rig.membership.stop(1_000);
  });

  test("keeps the partitions that it still has after a rebalance, and loses the others", async () => {
    const { handler, opened } = readingHandler();
    const rig = await join({ handler });
    rig.assign([0, 1]);
    await until(() => opened.length === 2);
    rig.assign([0, 2]);
    await until(() => opened.length === 3);
    const lostOf = (partition: number) => opened.find((one) => one.partition === partition)?.lost.aborted;
    assert.deepEqual([lostOf(0), lostOf(1), lostOf(2)], [false, true, false]);
    assert.deepEqual(rig.membership.status().partitions, [0, 2]);
    await rig.membership.stop(1_000);
  });

  test("that the group had dropped loses all partitions and opens them again, because others may have owned them", async () => {
    const { handler, opened } = readingHandler();
    const rig = await join({ handler });
    rig.assign([0]);
    await until(() => opened.length === 1);
    rig.assign([0], true);
    await until(() => opened.length === 2);
    assert.deepEqual(
      opened.map(({ lost }) => lost.aborted),
      [true, false],
    );
    assert.equal(rig.cluster.model.epochOf("g-0"), 1);
    await rig.membership.stop(1_000);
  });

  test("opens a partition that comes back only after its old handler has ended", async () => {
    const running = new Set<object>();
    let most = 0;
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let lanes = 0;
    const handler: PartitionHandler = async (owned) => {
      running.add(owned);
      most = Math.max(most, running.size);
      if (lanes++ === 0) await held;
      else for await (const _ of owned.batches());
      running.delete(owned);
    };
    const rig = await join({ handler });
    rig.assign([0]);
    await until(() => lanes === 1);
    rig.assign([]);
    await until(() => rig.membership.status().partitions.length === 0);
    rig.assign([0]);
    await until(() => rig.membership.status().partitions.length === 1);
    await turns(50);
    assert.equal(lanes, 1);
    release();
    await until(() => lanes === 2);
    assert.equal(most, 1);
    await rig.membership.stop(1_000);
  });

  test("opens no partition while it stops", async () => {
    let finish: () => void = () => undefined;
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const opened: number[] = [];
    const rig = await join({
      handler: async (owned) => {
        opened.push(owned.partition);
        for await (const _ of owned.batches());
        await finished;
      },
    });
    rig.assign([0]);
    await until(() => opened.length === 1);
    const stopping = rig.membership.stop(60_000).catch(() => undefined);
    rig.assign([0, 1]);
    await until(() => rig.logged.filter((line) => line.startsWith("group joined")).length === 2);
    await turns(50);
    finish();
    await stopping;
    await turns();
    assert.deepEqual(opened, [0]);
    assert.deepEqual(rig.membership.status().partitions, [0]);
    assert.equal(rig.cluster.openLinks.size, 0);
  });
});

describe("a member that commits", () => {
  test("continues after an uncertain answer only when the group has confirmed it, and shows the outage", async () => {
    let isCommitted = false;
    const rig = await join({
      handler: async (owned) => {
        rig.cluster.restartScript({ step: "EndTxn", nth: 0, fault: { kind: "request lost" } });
        await owned.commit({ records: [], topic: "sensors", nextOffset: 6 });
        isCommitted = true;
        for await (const _ of owned.batches());
      },
    });
    rig.assign([0]);
    await until(() => rig.membership.status().outage !== null);
    assert.match(rig.membership.status().outage ?? "", /EndTxn to broker 2 was not answered/);
    await turns(50);
    assert.equal(isCommitted, false);
    rig.heartbeat();
    await until(() => isCommitted);
    assert.equal(rig.membership.status().outage, null);
    assert.equal(rig.cluster.model.groupOffset("g", { topic: "sensors", partition: 0 }), 6);
    await rig.membership.stop(1_000);
  });

  test("waits for contradicting positions, logs them once, and continues with the other partitions", async () => {
    const { handler, opened } = readingHandler();
    const rig = await join({ handler });
    const stored = {
      commitId: "1-0-0",
      positionByTopic: new Map([["sensors", 7]]),
      topicIdByTopic: new Map(),
      stateTopicId: null,
    };
    rig.cluster.model.append(toPositionsRecord(stored, "state", 0));
    rig.cluster.model.setGroupOffset("g", { topic: "sensors", partition: 0 }, 3);
    rig.assign([0, 1]);
    await until(() => opened.length === 1 && rig.membership.status().outage !== null);
    await turns(100);
    assert.equal(opened[0].partition, 1);
    assert.match(
      rig.membership.status().outage ?? "",
      /partition 0 waits, because its stored positions contradict/,
    );
    assert.equal(rig.logged.filter((line) => line.startsWith("positions contradict")).length, 1);
    rig.cluster.model.setGroupOffset("g", { topic: "sensors", partition: 0 }, 7);
    await until(() => opened.length === 2);
    assert.equal(rig.membership.status().outage, null);
    await rig.membership.stop(1_000);
  });
});

describe("a handler that fails", () => {
  test("ends the membership", async () => {
    const rig = await join({ handler: () => Promise.reject(new Error("broken")) });
    rig.assign([0]);
    await assert.rejects(rig.membership.done, { message: "broken" });
    await rig.membership.stop(0);
  });

  test("because its partition is lost has no effect if a rebalance follows", async () => {
    const rig = await join({ handler: () => Promise.reject(new PartitionLostError(0, "fenced")) });
    rig.assign([0]);
    await turns(50);
    rig.assign([]);
    await turns(50);
    await rig.membership.stop(1_000);
    await rig.membership.done;
  });

  test("because its partition is lost is started again if no rebalance follows", async () => {
    let lanes = 0;
    const rig = await join({
      handler: async (owned) => {
        if (lanes++ === 0) throw new PartitionLostError(0, "fenced");
        for await (const _ of owned.batches());
      },
      sessionTimeoutMs: 20,
    });
    rig.assign([0]);
    await until(() => lanes === 2);
    assert.equal(rig.cluster.model.epochOf("g-0"), 1);
    await rig.membership.stop(1_000);
    await rig.membership.done;
  });

  test("after its partition was lost has no effect", async () => {
    let fail: (error: Error) => void = () => undefined;
    const failing = new Promise<void>((_, reject) => {
      fail = reject;
    });
    let isRunning = false;
    const rig = await join({
      handler: () => {
        isRunning = true;
        return failing;
      },
    });
    rig.assign([0]);
    await until(() => isRunning);
    rig.assign([]);
    await until(() => rig.membership.status().partitions.length === 0);
    fail(new Error("broken"));
    await turns();
    await rig.membership.stop(1_000);
    await rig.membership.done;
  });
});

describe("a member that stops", () => {
  test("drops handlers that do not end in time, and reports it", async () => {
    let lost: AbortSignal | undefined;
    const rig = await join({
      handler: (owned) => {
        lost = owned.lost;
        owned.batches()[Symbol.asyncIterator]().next();
        return new Promise((resolve) => owned.lost.addEventListener("abort", () => resolve()));
      },
    });
    rig.assign([0]);
    await until(() => lost !== undefined);
    await turns();
    await assert.rejects(rig.membership.stop(20), { code: "SHUTDOWN_FORCED" });
    assert.equal(lost?.aborted, true);
    assert.equal(rig.cluster.openLinks.size, 0);
    await rig.membership.done;
  });

  test("does not wait for a handler that has not started to read", async () => {
    let isRunning = false;
    const rig = await join({
      handler: ({ lost }) => {
        isRunning = true;
        return new Promise((resolve) => lost.addEventListener("abort", () => resolve()));
      },
    });
    rig.assign([0]);
    await until(() => isRunning);
    await rig.membership.stop(60_000);
    assert.equal(rig.cluster.openLinks.size, 0);
  });

  test("drops a partition that cannot be opened, and reports it", async () => {
    const rig = await join();
    const { onAsk } = rig.cluster;
    rig.cluster.onAsk = (asked) => (asked.step === "InitProducerId" ? never<void>() : onAsk(asked));
    rig.assign([0]);
    await until(() => rig.cluster.asked("InitProducerId").length === 1);
    await assert.rejects(rig.membership.stop(20), { code: "SHUTDOWN_FORCED" });
  });
});

const sessionTimeoutMs = 1_000;

function healthAt(startMs: number) {
  const clock = { ms: startMs, nowMs: () => clock.ms };
  return { clock, health: new GroupHealth(clock, sessionTimeoutMs) };
}

describe("the health of a group", () => {
  test("shows an outage when the group has been silent for longer than a session, until it answers", () => {
    const { clock, health } = healthAt(0);
    clock.ms = sessionTimeoutMs;
    assert.equal(health.outage, null);
    clock.ms = sessionTimeoutMs + 1;
    assert.equal(health.outage, "no heartbeat for 1001 ms");
    health.answered();
    assert.equal(health.outage, null);
  });

  test("shows a failure at once, until the group answers", () => {
    const { health } = healthAt(0);
    health.failed("connection refused");
    assert.equal(health.outage, "connection refused");
    health.answered();
    assert.equal(health.outage, null);
  });

  test("confirms only with an answer that comes after the call", async () => {
    const { health } = healthAt(0);
    health.answered();
    let isConfirmed = false;
    const confirmation = health.nextAnswer().then(() => {
      isConfirmed = true;
    });
    await Promise.resolve();
    assert.equal(isConfirmed, false);
    health.answered();
    await confirmation;
    assert.equal(isConfirmed, true);
  });
});
