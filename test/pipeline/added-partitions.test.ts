// An input topic gains partitions while a fleet runs. The fleet serves them, or reports why it cannot and goes on with
// the partitions it has. No worker fails over it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { provideTopics } from "../../src/cli/topics.ts";
import { loadConfig } from "../../src/runtime/config/load.ts";
import { Fleet } from "./support/fleet.ts";
import { at, inputRecord } from "./support/readings.ts";
import { TrainerFleet } from "./support/trainer-fleet.ts";
import { until } from "./support/turns.ts";

const soon = { "kafka.topicCheckMs": 100 };
const ours = ["state", "models", "training", "attempts"].map((name) => `forecastnet.${name}`);
const readings = (seriesId: string, from: number) =>
  [0, 1, 2, 3, 4].map((hour) => at(seriesId, from + hour, hour));

async function widths(fleet: Fleet): Promise<readonly number[]> {
  return (await fleet.log.describeTopics(ours)).map(({ partitions }) => partitions);
}

/** Writes as a producer that hashes over this many partitions. */
function write(fleet: Fleet, seriesId: string, from: number, partitions: number): Promise<void> {
  return fleet.log.append(readings(seriesId, from).map((reading) => inputRecord(reading, partitions)));
}

async function untilForecast(fleet: Fleet, seriesId: string, count: number): Promise<void> {
  const made = async () =>
    (await fleet.forecasts()).filter((forecast) => forecast.seriesId === seriesId).length;
  await fleet.until(async () => (await made()) >= count, `${count} forecasts of ${seriesId}`);
  assert.equal(await made(), count, `forecasts of ${seriesId}`);
}

test("a worker serves new partitions of an input without a restart, each series once", async (t) => {
  const fleet = Fleet.openFor(t, { partitions: 1, settings: soon });
  const { worker } = fleet;
  await fleet.play(...readings("a", 0), ...readings("b", 0), "settle");
  for (const seriesId of ["a", "b"]) await untilForecast(fleet, seriesId, 4);
  await fleet.log.addPartitions("sensors", 3);
  await write(fleet, "c", 0, 3);
  await untilForecast(fleet, "c", 4);
  await write(fleet, "b", 5, 3);
  await untilForecast(fleet, "b", 4 + 5);
  // Its key now hashes to another partition, where the series starts without a past.
  await write(fleet, "a", 5, 3);
  await untilForecast(fleet, "a", 4 + 4);
  assert.deepEqual(await widths(fleet), [3, 3, 3, 3]);
  await fleet.until(() => worker.status().isReady, "the worker to be ready again");
  const [line] = fleet.logged.filter(({ message }) =>
    message.startsWith("input topics have changed, reopening"),
  );
  assert.deepEqual(line?.facts, { reason: "sensors has 3 partitions, it had 1" });
});

test("a worker that may not widen its topics serves what it has, reports what to do, and goes on once that is done", async (t) => {
  const fleet = Fleet.emptyFor(t, { partitions: 1, settings: soon });
  const creator = fleet.start();
  await fleet.until(() => creator.status().isReady, "the topics to exist");
  await fleet.play("join");
  fleet.start({ "kafka.createTopics": false });
  await fleet.play("leave", "leave");
  const { worker } = fleet;
  await fleet.until(() => worker.status().isReady, "the worker to be ready");

  await fleet.log.addPartitions("sensors", 2);
  await write(fleet, "b", 0, 2);
  const told =
    /^input topics have changed, new partitions wait: topic forecastnet.state has 1 partitions and must have 2, as many as sensors: kafka-topics --alter --topic forecastnet.state --partitions 2/;
  await fleet.until(() => told.test(worker.status().reason), "the worker to report what is missing");
  await write(fleet, "a", 0, 2);
  await untilForecast(fleet, "a", 4);
  assert.deepEqual(await widths(fleet), [1, 1, 1, 1]);
  assert.equal(fleet.logged.filter(({ message }) => message.endsWith("new partitions wait")).length, 1);

  for (const topic of ours) await fleet.log.addPartitions(topic, 2);
  await untilForecast(fleet, "b", 4);
  await fleet.until(() => worker.status().isReady, "the worker to be ready again");
});

test("a partition assigned before the worker's own topics have it waits, and the worker stays alive", async (t) => {
  // The watch looks so seldom that only the assignment itself can inform the worker.
  const fleet = Fleet.openFor(t, { partitions: 1, settings: { "kafka.createTopics": true } });
  const first = fleet.worker;
  await fleet.until(() => first.status().isReady, "the first worker to be ready");
  await fleet.log.addPartitions("sensors", 4);
  await write(fleet, "a", 0, 4);
  await write(fleet, "b", 0, 4);
  await write(fleet, "c", 0, 4);
  await write(fleet, "d", 0, 4);
  fleet.start();
  for (const seriesId of ["a", "b", "c", "d"]) await untilForecast(fleet, seriesId, 4);
  const waited = fleet.logged.filter(({ message }) => message.startsWith("partition waits"));
  assert.ok(waited.length > 0, "the first worker was assigned a partition that it did not know");
  await fleet.until(() => first.status().isReady, "the first worker to be ready again");
});

for (const mayCreate of [true, false]) {
  const state = mayCreate ? "opens new partitions" : "has waiting partitions";
  test(`a worker asked to stop while it ${state} stops cleanly`, async (t) => {
    const settings = { "kafka.topicCheckMs": 3_600_000, "kafka.createTopics": mayCreate };
    const fleet = Fleet.emptyFor(t, { partitions: 1, settings });
    await provideTopics(fleet.log, loadConfig({ argv: [], env: {} }), { isCreating: true, inputs: null });
    const worker = fleet.start();
    await fleet.until(() => worker.status().isReady, "the worker to be ready");
    await fleet.log.addPartitions("sensors", 2);
    // A member that joins and leaves makes the group notice the new partition.
    const group = {
      group: "forecastnet",
      inputs: ["sensors"],
      positionsTopic: "forecastnet.state",
      outputs: ["forecastnet.state"],
      start: "earliest",
      maxBatchRecords: 1,
    } as const;
    const other = await fleet.log.join(group, async () => {});
    await other.stop(10_000);
    const waits = () => fleet.logged.some(({ message }) => message.startsWith("partition waits"));
    await fleet.until(waits, "a partition to wait");
    worker.stop("the test says so");
    await worker.done;
  });
}

test("a request on a new partition of the training topic is answered once the other topics have that partition", async (t) => {
  const fleet = await TrainerFleet.openFor(t, { partitions: 1 });
  const { trainer } = fleet.start();
  await until(() => trainer.status().isReady, "the trainer to be ready");
  await fleet.log.addPartitions("forecastnet.training", 2);
  await fleet.ask(1, "a");
  fleet.start(); // makes the group notice the new partition
  for (const topic of ["forecastnet.models", "forecastnet.attempts"]) await fleet.log.addPartitions(topic, 2);
  const [{ partition, requestId }] = await fleet.untilAnswered(1, 10);
  assert.deepEqual([partition, requestId], [1, "request for a"]);
});
