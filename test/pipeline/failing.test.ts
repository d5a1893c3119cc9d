// Failures that only a person can fix: the worker ends or waits, and its reason says what is wrong, where, and what to do.

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { TopicSpec } from "../../src/log/log.ts";
import { ForecastnetError } from "../../src/runtime/errors.ts";
import { Fleet } from "./support/fleet.ts";
import { at, hourly } from "./support/readings.ts";
import { until } from "./support/turns.ts";

const stateTopic: TopicSpec = { topic: "forecastnet.state", partitions: 1, compacted: true };

/** A worker on a log where these topics already exist. */
async function startOn(
  t: TestContext,
  topics: readonly TopicSpec[],
  options: {
    readonly settings?: Readonly<Record<string, unknown>>;
    readonly inputs?: readonly string[];
  } = {},
): Promise<Fleet> {
  const fleet = Fleet.emptyFor(t, options);
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
  test("ends the worker with a reason that names the record and its position", async (t) => {
    const fleet = Fleet.emptyFor(t);
    await fleet.log.createTopics([stateTopic]);
    const key = Buffer.from("a#0");
    await fleet.log.append([{ topic: stateTopic.topic, partition: 0, key, value: Buffer.from("scribble") }]);
    fleet.start();
    await assertEnds(fleet, "STATE_CORRUPT", /^a#0 in partition 0 of forecastnet\.state: .*cannot be read/);
  });
});

describe("a commit that no retry can fix", () => {
  const refusal = () => new ForecastnetError("LOG_FAILED", "the test says so");

  test("ends the worker at once, even if no more input arrives", { timeout: 10_000 }, async (t) => {
    const fleet = await startOn(t, []);
    fleet.connection.commitFailure = refusal();
    await fleet.play(...hourly("a", 0, [1, 2, 3, 4, 5, 6, 7, 8]));
    await assertEnds(fleet, "LOG_FAILED", /^the test says so$/);
    assert.deepEqual(await fleet.forecasts(), []);
    assert.deepEqual(await fleet.read("forecastnet.dead-letters"), []);
  });

  test("makes a stop fail when it happens while the worker drains", async (t) => {
    const fleet = await startOn(t, []);
    await until(() => fleet.worker.status().isReady, "the worker to be ready");
    const release = fleet.connection.hold("commit");
    await fleet.play(at("a", 0, 1));
    await until(() => fleet.connection.unsettledBatches > 0, "a batch to be in flight");
    fleet.worker.stop("the test says so");
    fleet.connection.commitFailure = refusal();
    release();
    await assertEnds(fleet, "LOG_FAILED", /^the test says so$/);
  });
});

describe("a worker that is alive and not ready", () => {
  async function untilItSays(fleet: Fleet, reason: string): Promise<void> {
    await until(() => fleet.worker.status().reason === reason, `the worker to say: ${reason}`);
    assert.deepEqual(await fleet.page("/readyz"), { status: 503, body: `${reason}\n` });
    assert.equal((await fleet.page("/healthz")).status, 200);
  }

  test("waits for its input topic, says so, and goes on once the topic exists", async (t) => {
    const fleet = await startOn(t, [], { inputs: ["elsewhere"] });
    await untilItSays(fleet, "input topic sensors does not exist: create it first");
    await fleet.log.createTopics([{ topic: "sensors", partitions: 2, compacted: false }]);
    await fleet.until(() => fleet.worker.status().isReady, "the worker to be ready");
  });

  test("waits for its own topics if it may not create them, and lists what is missing", async (t) => {
    const fleet = await startOn(t, [], { settings: { "kafka.createTopics": false } });
    const problems = [
      "topic forecasts does not exist: create it (1 partitions) or set kafka.createTopics",
      "topic forecastnet.state does not exist: create it (1 partitions, cleanup.policy=compact) or set kafka.createTopics",
      "topic forecastnet.models does not exist: create it (1 partitions, cleanup.policy=compact, max.message.bytes=16777216) or set kafka.createTopics",
      "topic forecastnet.dead-letters does not exist: create it (1 partitions, max.message.bytes=16777216) or set kafka.createTopics",
      "topic forecastnet.events does not exist: create it (1 partitions) or set kafka.createTopics",
      "topic forecastnet.attempts does not exist: create it (1 partitions, cleanup.policy=compact) or set kafka.createTopics",
      "topic forecastnet.training does not exist: create it (1 partitions, max.message.bytes=16777216) or set kafka.createTopics",
    ];
    await untilItSays(fleet, problems.join("; "));
  });

  test("waits for a state topic that is compacted and as wide as the input, and says what to change", async (t) => {
    const fleet = await startOn(t, [{ topic: "forecastnet.state", partitions: 3, compacted: false }]);
    const problems = [
      "topic forecastnet.state has 3 partitions and must have 1, as many as sensors",
      "topic forecastnet.state has cleanup.policy=delete and must have exactly compact, so that only outdated values are removed: kafka-configs --alter --entity-type topics --entity-name forecastnet.state --add-config cleanup.policy=compact",
    ];
    await untilItSays(fleet, problems.join("; "));
  });
});
