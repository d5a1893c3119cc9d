// What only a person can mend: the worker ends, with a reason that says what was wrong, where, and what to do.

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { TopicSpec } from "../../src/log/log.ts";
import { Fleet } from "./support/fleet.ts";
import { at, hourly } from "./support/readings.ts";
import { until } from "./support/turns.ts";

const stateTopic: TopicSpec = { topic: "forecastnet.state", partitions: 1, compacted: true };

/** A worker on a log where these topics exist already. */
async function startOn(
  t: TestContext,
  topics: readonly TopicSpec[],
  options: {
    readonly settings?: Readonly<Record<string, unknown>>;
    readonly inputs?: readonly string[];
  } = {},
): Promise<Fleet> {
  const fleet = await Fleet.openEmpty(options);
  t.after(() => fleet.close());
  await fleet.log.createTopics(topics);
  fleet.start();
  return fleet;
}

async function assertEnds(fleet: Fleet, code: string, message: RegExp): Promise<void> {
  await assert.rejects(fleet.worker.done, (error: Error & { code?: string }) => {
    assert.deepEqual([error.code, message.test(error.message)], [code, true], error.message);
    return true;
  });
  assert.equal(fleet.worker.status().reason, "failed");
  await assert.rejects(fleet.page("/healthz"), "a worker that failed must not keep its port");
}

describe("a state record that cannot be read", () => {
  test("ends the worker, naming the record and its place", async (t) => {
    const fleet = await Fleet.openEmpty();
    t.after(() => fleet.close());
    await fleet.log.createTopics([stateTopic]);
    const key = Buffer.from("a#0");
    await fleet.log.append([{ topic: stateTopic.topic, partition: 0, key, value: Buffer.from("scribble") }]);
    fleet.start();
    await assertEnds(fleet, "STATE_CORRUPT", /^a#0 in partition 0 of forecastnet\.state: .*cannot be read/);
  });
});

describe("a commit that no retry can mend", () => {
  const tight = { ...stateTopic, settings: { "max.message.bytes": "100" } };

  test("ends the worker at once, though no further input ever comes", { timeout: 10_000 }, async (t) => {
    const fleet = await startOn(t, [tight]);
    await fleet.play(...hourly("a", 0, [1, 2, 3, 4, 5, 6, 7, 8]));
    await assertEnds(fleet, "RECORD_TOO_LARGE", /topic forecastnet\.state .* max\.message\.bytes of 100/);
    assert.deepEqual(await fleet.forecasts(), []);
  });

  test("is the outcome of a stop as well, when it happens while draining", async (t) => {
    const fleet = await startOn(t, [tight]);
    await until(() => fleet.worker.status().isReady, "the worker to be ready");
    const release = fleet.connection.hold("commit");
    await fleet.play(at("a", 0, 1));
    await until(() => fleet.connection.unsettledBatches > 0, "a batch to be on its way");
    fleet.worker.stop("the test says so");
    release();
    await assertEnds(fleet, "RECORD_TOO_LARGE", /forecastnet\.state/);
  });
});

describe("a worker waits, alive and not ready, and says for what", () => {
  async function untilItSays(fleet: Fleet, reason: string): Promise<void> {
    await until(() => fleet.worker.status().reason === reason, `the worker to say: ${reason}`);
    assert.deepEqual(await fleet.page("/readyz"), { status: 503, body: `${reason}\n` });
    assert.equal((await fleet.page("/healthz")).status, 200);
  }

  test("for its input topic, and goes on once somebody has created it", async (t) => {
    const fleet = await startOn(t, [], { inputs: ["elsewhere"] });
    await untilItSays(fleet, "input topic sensors does not exist: create it first");
    await fleet.log.createTopics([{ topic: "sensors", partitions: 2, compacted: false }]);
    await until(() => fleet.worker.status().isReady, "the worker to be ready");
  });

  test("for its own topics, when it may not create them", async (t) => {
    const fleet = await startOn(t, [], { settings: { "kafka.createTopics": false } });
    const problems = [
      "topic forecasts does not exist: create it (1 partitions) or set kafka.createTopics",
      "topic forecastnet.state does not exist: create it (1 partitions, cleanup.policy=compact) or set kafka.createTopics",
      "topic forecastnet.models does not exist: create it (1 partitions, cleanup.policy=compact, max.message.bytes=16777216) or set kafka.createTopics",
      "topic forecastnet.dead-letters does not exist: create it (1 partitions) or set kafka.createTopics",
      "topic forecastnet.events does not exist: create it (1 partitions) or set kafka.createTopics",
      "topic forecastnet.training does not exist: create it (1 partitions, max.message.bytes=16777216) or set kafka.createTopics",
      "topic forecastnet.attempts does not exist: create it (1 partitions, cleanup.policy=compact) or set kafka.createTopics",
    ];
    await untilItSays(fleet, problems.join("; "));
  });

  test("for a state topic that is compacted and as wide as the input", async (t) => {
    const fleet = await startOn(t, [{ topic: "forecastnet.state", partitions: 3, compacted: false }]);
    const problems = [
      "topic forecastnet.state has 3 partitions and must have 1, as many as sensors",
      "topic forecastnet.state is not compacted: set cleanup.policy=compact on it",
    ];
    await untilItSays(fleet, problems.join("; "));
  });
});
