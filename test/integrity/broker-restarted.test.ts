// The broker stops under a working worker, by a power cut or in order, and comes back. The worker stays alive, reports
// that it is not ready and why, and continues by itself. A worker can also start before its broker.

import assert from "node:assert/strict";
import { after, before } from "node:test";
import { type Broker, startBroker } from "../rig/kafka-broker.ts";
import type { WorkerProcess } from "../rig/worker-process.ts";
import { partitions } from "./support/load.ts";
import { graceMs, type Story, tellStory } from "./support/story.ts";
import { until } from "./support/until.ts";

let broker: Broker;
before(async () => {
  broker = await startBroker();
});
after(() => broker.stop());

/** Short: all of it is spent, since nothing can be settled. */
const stopGraceMs = 4_000;
const onOwnBroker = () => ({ bootstrap: broker.bootstrap });

tellStory(
  "no forecast is lost or duplicated when a broker is killed and restarted",
  async (story) => {
    const load = story.startLoad();
    const worker = await story.startReadyWorker();
    await story.untilSettled(300);
    await broker.kill9();
    await untilOutageIsTold(worker);
    await broker.restart();
    await untilReadyAgain(story, worker);
    await broker.restart();
    await untilReadyAgain(story, worker);
    await story.count(load);
  },
  onOwnBroker,
);

tellStory(
  "a worker started before its broker waits for it and reports the reason",
  async (story) => {
    const load = story.startLoad();
    await broker.kill9();
    const worker = await story.startWorker();
    const { body } = await untilOutageIsTold(worker);
    assert.match(body, new RegExp(broker.bootstrap), "the reason names the broker that does not answer");
    await broker.restart();
    await untilReadyAgain(story, worker);
    await story.count(load);
  },
  onOwnBroker,
);

tellStory(
  "a worker waits for a broker that is lost during a takeover of partitions",
  async (story) => {
    const load = story.startLoad();
    const first = await story.startReadyWorker();
    await story.untilSettled(300);
    await first.end("SIGKILL");
    const second = await story.startWorker();
    await until("the second worker to join", () => second.linesOf("group joined").length > 0);
    await broker.kill9();
    await untilOutageIsTold(second);
    await broker.restart();
    await untilReadyAgain(story, second);
    await story.count(load);
  },
  onOwnBroker,
);

tellStory(
  "a restore that begins during an outage of the broker completes when the broker is back",
  async ({ log, group, input, config }) => {
    const { state } = config.topics;
    const value = Buffer.from("kept");
    await log.createTopics([{ topic: state, partitions, compacted: true }]);
    await log.append([{ topic: state, partition: 0, key: value, value }]);
    let restore = () => {};
    const isBrokerGone = new Promise<void>((resolve) => {
      restore = resolve;
    });
    const restored: unknown[] = [];
    const subscription = {
      ...{ group, inputs: [input], positionsTopic: state, outputs: [state] },
      ...({ start: "earliest", maxBatchRecords: 10 } as const),
    };
    let lanes = 0;
    const member = await log.join(subscription, async (owned) => {
      lanes++;
      await isBrokerGone;
      for await (const records of owned.restore(state))
        restored.push(...records.map((record) => record.value));
    });
    await until("the lanes to begin", () => lanes === partitions);
    await broker.kill9();
    restore();
    await until("the outage to be noticed", () => member.status().outage !== null);
    await broker.restart();
    await until("the state restored", () => restored.length > 0);
    await member.stop(graceMs);
    await member.done;
  },
  onOwnBroker,
);

tellStory(
  "a worker stopped during an outage of its broker ends within its grace period",
  async (story) => {
    const load = story.startLoad();
    const worker = await story.startReadyWorker();
    await story.untilSettled(300);
    await broker.kill9();
    await untilOutageIsTold(worker);
    const askedMs = performance.now();
    const { signal } = await worker.end("SIGTERM");
    assert.equal(signal, null, "the worker ends by itself");
    assert.ok(performance.now() - askedMs < stopGraceMs + 5_000, "the worker ends in time");
    await broker.restart();
    await story.startReadyWorker();
    await story.count(load);
  },
  () => ({ ...onOwnBroker(), config: () => ({ worker: { graceMs: stopGraceMs } }) }),
);

async function untilOutageIsTold(worker: WorkerProcess): Promise<{ readonly body: string }> {
  let told = { body: "" };
  await until(
    `${worker.name} to report that it is not ready`,
    async () => {
      const page = await worker.page("/readyz");
      if (page === null || page.status !== 503 || page.body === "starting") return false;
      told = page;
      return true;
    },
    30_000,
  );
  assert.equal((await worker.page("/healthz"))?.status, 200, "the worker stays alive without its broker");
  assert.notEqual(told.body, "");
  return told;
}

async function untilReadyAgain(story: Story, worker: WorkerProcess): Promise<void> {
  await until(`${worker.name} to be ready again`, () => {
    assert.ok(worker.isAlive, `${worker.name} stays alive without its broker`);
    return worker.isReady();
  });
  await story.untilSettled(300);
}
