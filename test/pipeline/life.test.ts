// A worker from start to stop as seen from outside: readiness with its reason, metrics, a stop that drains.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { stages } from "../../src/runtime/metric-table.ts";
import { Fleet } from "./support/fleet.ts";
import { at, hourly, raw } from "./support/readings.ts";
import { until } from "./support/turns.ts";

const ramp = (length: number) => Array.from({ length }, (_, i) => i);

describe("readiness", () => {
  test("is reported only once every owned partition is restored", async (t) => {
    const fleet = Fleet.openFor(t, { partitions: 2 });
    const release = fleet.connection.hold("restore");
    const reasons = new Set<string>();
    await until(() => {
      const { isReady, reason } = fleet.worker.status();
      assert.ok(!isReady, "ready before its partitions were restored");
      return reasons.add(reason).has("restoring partitions 0, 1");
    }, "the worker to say that it restores");
    assert.ok([...reasons].every((reason) => /^(starting|joining|restoring partitions)/.test(reason)));
    assert.deepEqual(await fleet.page("/readyz"), { status: 503, body: "restoring partitions 0, 1\n" });
    assert.equal((await fleet.page("/healthz")).status, 200);
    release();
    await until(() => fleet.worker.status().isReady, "the worker to be ready");
    assert.deepEqual(await fleet.page("/readyz"), { status: 200, body: "ready\n" });
  });

  test("is withdrawn while the log does not answer, and returns by itself; the worker stays alive", async (t) => {
    const fleet = Fleet.openFor(t);
    await fleet.play(at("a", 0, 1), "settle", at("a", 1, 2), "outage", "pause");
    const answer = { status: 503, body: "the log does not answer: the test says so\n" };
    assert.deepEqual(await fleet.page("/readyz"), answer);
    assert.deepEqual(await fleet.page("/healthz"), {
      status: 200,
      body: "running, engine reference on cpu\n",
    });
    await fleet.play("recovery", "settle");
    assert.equal((await fleet.page("/readyz")).status, 200);
    assert.equal((await fleet.forecasts()).length, 1);
  });
});

test("the metrics of a run match what the run did", async (t) => {
  const fleet = Fleet.openFor(t, { partitions: 2, settings: { "pipeline.maxBatchRecords": 4 } });
  await fleet.play(...hourly("a", 0, ramp(10)), ...hourly("b", 0, ramp(2)), raw("b", "?"), "settle");
  const { body } = await fleet.page("/metrics");
  const expected = [
    `forecastnet_build_info{version="test",node="${process.version}"} 1`,
    'forecastnet_observations_total{outcome="advanced"} 12',
    'forecastnet_dead_letters_total{reason="undecodable"} 1',
    'forecastnet_forecasts_total{tier="cold",method="persistence"} 7',
    'forecastnet_forecasts_total{tier="cold",method="seasonal-naive"} 3',
    "forecastnet_batch_records_sum 13",
    "forecastnet_batch_records_count 4",
    "forecastnet_commit_duration_seconds_count 4",
    ...stages.map((stage) => `forecastnet_stage_duration_seconds_count{stage="${stage}"} 4`),
    "forecastnet_arrival_to_commit_seconds_count 4",
    "forecastnet_event_to_commit_seconds_count 4",
    "forecastnet_ready 1",
    "forecastnet_partitions_restoring 0",
    "forecastnet_restore_duration_seconds_count 2",
    "forecastnet_partitions_owned 2",
    "forecastnet_series 2",
    "forecastnet_lag_records 0",
    "forecastnet_buffered_batches 0",
    'forecastnet_worker_state{state="running"} 1',
    'forecastnet_state_changes_total{from="joining",to="running"} 1',
  ];
  const lines = body.split("\n");
  assert.deepEqual(
    expected.filter((line) => !lines.includes(line)),
    [],
  );
  const facts = JSON.parse((await fleet.page("/")).body);
  assert.deepEqual(
    [facts.state, facts.series, facts.isReady, facts.quality],
    ["running", 2, true, undefined],
  );
});

describe("stopping", () => {
  test("settles the batches taken, takes no more, and leaves the rest to the next worker", async (t) => {
    const fleet = Fleet.openFor(t, { settings: { "pipeline.maxBatchRecords": 1 } });
    await fleet.play("settle");
    const { worker, connection } = fleet;
    const release = connection.hold("commit");
    await fleet.play(...hourly("a", 0, ramp(20)));
    await until(() => connection.unsettledBatches >= 2, "the buffer to fill");
    worker.stop("the test says so");
    await fleet.play("pause");
    assert.deepEqual(worker.status(), { isReady: false, reason: "stopping" });
    release();
    await worker.done;
    const taken = connection.takenBatches;
    assert.ok(taken < 20, "a stopping worker read on to the end");
    assert.equal((await fleet.forecasts()).length, taken - 1);
    await assert.rejects(fleet.page("/healthz"), "a stopped worker serves no pages");
    await fleet.play("crash", "settle");
    assert.equal((await fleet.forecasts()).length, 19);
  });

  test("ends by force after the grace period and says so, and the next worker does what was left", async (t) => {
    const fleet = Fleet.openFor(t, { settings: { "worker.graceMs": 1000 } });
    await fleet.play("settle");
    const { worker, connection } = fleet;
    connection.hold("commit");
    await fleet.play(...hourly("a", 0, ramp(3)));
    await until(() => connection.unsettledBatches > 0, "a batch to be in flight");
    worker.stop("the test says so");
    const ended = fleet.wait(worker.done, "the worker to end by force");
    await assert.rejects(ended, { code: "SHUTDOWN_FORCED", message: /still busy after 750 ms/ });
    assert.deepEqual(worker.status(), { isReady: false, reason: "failed" });
    await assert.rejects(fleet.page("/healthz"), "a worker that failed must not keep its port");
    await fleet.play("crash", "settle");
    assert.equal((await fleet.forecasts()).length, 2);
  });
});
