// What only the embedded log does: its clock, its injected failures, its close.
import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { Outgoing } from "../../../src/domain.ts";
import type { Membership, PartitionHandler } from "../../../src/log/log.ts";
import { createMemoryLog, type MemoryLog, type MemoryLogOptions } from "../../../src/log/memory-log.ts";
import { systemClock } from "../../../src/runtime/clock.ts";
import { ForecastnetError } from "../../../src/runtime/errors.ts";

describe("the embedded log", () => {
  test("stamps records with the time of its clock", async (t) => {
    let nowMs = 1_000;
    const { log } = await openLog(t, { clock: { ...systemClock, nowMs: () => nowMs } });
    await log.append([input("a")]);
    nowMs = 2_000;
    await log.append([input("b")]);
    const [batch] = await take(log.follow("in", "earliest", new AbortController().signal), 1);
    assert.deepEqual(
      batch.records.map((record) => record.timestampMs),
      [1_000, 2_000],
    );
  });

  test("refuses a record without a key in a compacted topic", async (t) => {
    const { log } = await openLog(t);
    await log.createTopics([{ topic: "table", partitions: 1, compacted: true }]);
    const keyless = { topic: "table", partition: 0, key: null, value: Buffer.from("v") };
    await assert.rejects(log.append([keyless]), /table, which is compacted: give it a key/);
  });

  test("reports how many records are left to read", async (t) => {
    const { log, join } = await openLog(t);
    await log.append([input("a"), input("b"), input("c")]);
    const member = await join(async (owned) => {
      await take(owned.batches(), 1);
    });
    await until(() => member.status().lag === 2);
    await log.append([input("d")]);
    assert.equal(member.status().lag, 3);
    await member.stop(1_000);
  });

  test("fixes the latest position when the group first reads a partition", async (t) => {
    const { log, join, outputs } = await openLog(t);
    const first = await join(async () => undefined, "latest");
    await first.stop(1_000);
    await log.append([input("written while nobody was there")]);
    const second = await join(copy, "latest");
    await until(() => outputs.length === 1);
    await second.stop(1_000);
  });

  test("ends memberships and followers when it closes", async (t) => {
    const { log, join } = await openLog(t);
    const member = await join(copy);
    const followed = take(log.follow("in", "earliest", new AbortController().signal), 1);
    await log.close();
    await member.done;
    assert.deepEqual(await followed, []);
    assert.equal(member.status().isJoined, false);
  });
});

describe("a commit with a retriable failure", () => {
  for (const when of ["before", "after"] as const) {
    test(`is made once when it fails ${when} taking effect`, async (t) => {
      const { log, join, outputs } = await openLog(t);
      log.failNextCommits(3, when);
      await log.append(["a", "b", "c", "d"].map(input));
      const member = await join(copy);
      await until(() => outputs.includes("d"));
      await member.stop(1_000);
      assert.deepEqual(outputs, ["a", "b", "c", "d"]);
    });
  }
});

describe("an owner fenced at a commit", () => {
  for (const when of ["before", "after"] as const) {
    test(`is followed by a handler that continues exactly there, fenced ${when} taking effect`, async (t) => {
      const { log, join, outputs } = await openLog(t);
      let lanes = 0;
      log.failNextCommits(2, when, "fence");
      await log.append(["a", "b", "c"].map(input));
      const member = await join(async (owned) => {
        lanes++;
        await copy(owned);
      });
      await until(() => outputs.includes("c"));
      await member.stop(1_000);
      await member.done;
      assert.deepEqual(outputs, ["a", "b", "c"]);
      assert.equal(lanes, 3);
    });
  }

  test("is notified, and starts again only after it has returned", async (t) => {
    const { log, join } = await openLog(t);
    const events: string[] = [];
    const member = await join(async (owned) => {
      events.push("begun");
      for await (const _ of owned.batches()) assert.fail("there is nothing to read");
      for (let turns = 0; turns < 20; turns++) await setImmediate(); // returns slowly
      events.push(owned.lost.aborted ? "lost" : "drained");
    });
    await until(() => events.length === 1);
    log.fence(0);
    await until(() => events.length === 3);
    await member.stop(1_000);
    assert.deepEqual(events, ["begun", "lost", "begun", "drained"]);
  });
});

describe("an outage", () => {
  test("delays reads and commits until it is over, and shows in the status", async (t) => {
    const { log, join, outputs } = await openLog(t);
    const member = await join(copy);
    await log.append([input("a")]);
    await until(() => outputs.length === 1);
    log.setOutage("the power went");
    assert.equal(member.status().outage, "the power went");
    await assert.rejects(log.append([input("refused")]), isUnreachable);
    log.setOutage(null);
    await log.append([input("b")]);
    await until(() => outputs.length === 2);
    await member.stop(1_000);
    assert.deepEqual(outputs, ["a", "b"]);
  });

  test("lets a commit in flight take effect only afterwards", async (t) => {
    const { log, join, outputs } = await openLog(t);
    let hasCommitted = false;
    await log.append([input("a")]);
    const member = await join(async (owned) => {
      for await (const { nextOffset } of owned.batches()) {
        log.setOutage("the power went");
        await owned.commit({ topic: "in", nextOffset, records: [output("a")] });
        hasCommitted = true;
      }
    });
    await until(() => member.status().outage !== null);
    for (let turns = 0; turns < 20; turns++) await setImmediate();
    assert.equal(hasCommitted, false);
    log.setOutage(null);
    await until(() => hasCommitted && outputs.length === 1);
    await member.stop(1_000);
  });

  test("delays a tail and a read, and ends neither", async (t) => {
    const { log, join } = await openLog(t);
    await log.append([input("a")]);
    const heard: string[] = [];
    const member = await join(async (owned) => {
      for await (const records of owned.tail("in", 0))
        heard.push(...records.map(({ value }) => String(value)));
    });
    await until(() => heard.length === 1);
    log.setOutage("the power went");
    const read = take(log.read("in", new AbortController().signal), 2);
    for (let turns = 0; turns < 20; turns++) await setImmediate();
    log.setOutage(null);
    await log.append([input("b")]);
    await until(() => heard.length === 2);
    assert.deepEqual(
      (await read).flatMap(({ records }) => records.map(({ value }) => String(value))),
      ["a"],
      "what was there when asked",
    );
    await member.stop(1_000);
  });

  for (const [end, reason] of [
    ["its signal fires", /nobody waits/],
    ["the log closes", /was closed/],
  ] as const) {
    test(`ends a read when ${end}`, async (t) => {
      const { log } = await openLog(t);
      await log.append([input("a")]);
      log.setOutage("the power went");
      const abort = new AbortController();
      const read = take(log.read("in", abort.signal), 1);
      for (let turns = 0; turns < 20; turns++) await setImmediate();
      if (end === "the log closes") await log.close();
      else abort.abort(new Error("nobody waits any more"));
      await assert.rejects(read, reason);
    });
  }

  test("does not keep a member from stopping", async (t) => {
    const { log, join } = await openLog(t);
    const member = await join(async (owned) => {
      await Promise.all([copy(owned), take(owned.tail("out", 0), 1)]);
    });
    log.setOutage("the power went");
    await member.stop(1_000);
    await member.done;
  });
});

interface Opened {
  readonly log: MemoryLog;
  /** Values of the output topic so far. */
  readonly outputs: readonly string[];
  join(lane: PartitionHandler, start?: "earliest" | "latest"): Promise<Membership>;
}

/** A log that closes with the test, with an input and an output topic of one partition each. */
async function openLog(t: TestContext, options: MemoryLogOptions = {}): Promise<Opened> {
  const log = createMemoryLog(options);
  t.after(() => log.close());
  await log.createTopics(["in", "out"].map((topic) => ({ topic, partitions: 1, compacted: false })));
  const outputs: string[] = [];
  const follow = async () => {
    for await (const { records } of log.follow("out", "earliest", new AbortController().signal)) {
      outputs.push(...records.map(({ value }) => String(value)));
    }
  };
  void follow();
  const join = (lane: PartitionHandler, start: "earliest" | "latest" = "earliest") =>
    log.join(
      { group: "g", inputs: ["in"], positionsTopic: "out", outputs: ["out"], start, maxBatchRecords: 1 },
      lane,
    );
  return { log, outputs, join };
}

const copy: PartitionHandler = async (owned) => {
  for await (const { records, nextOffset } of owned.batches()) {
    const copies = records.map(({ value }) => output(String(value)));
    await owned.commit({ topic: "in", nextOffset, records: copies });
  }
};

const input = (value: string): Outgoing => ({
  topic: "in",
  partition: 0,
  key: Buffer.from("k"),
  value: Buffer.from(value),
});

const output = (value: string): Outgoing => ({ ...input(value), topic: "out" });

function isUnreachable(error: unknown): boolean {
  return error instanceof ForecastnetError && error.code === "BROKER_UNREACHABLE" && error.retryable;
}

async function take<T>(source: AsyncIterable<T>, count: number): Promise<T[]> {
  const taken: T[] = [];
  for await (const item of source) {
    taken.push(item);
    if (taken.length === count) break;
  }
  return taken;
}

/** Yields to the event loop until the claim holds, which takes only a few turns here. */
async function until(isSo: () => boolean): Promise<void> {
  for (let turns = 0; !isSo(); turns++) {
    assert.ok(turns < 10_000, "waited 10,000 turns of the event loop in vain");
    await setImmediate();
  }
}
