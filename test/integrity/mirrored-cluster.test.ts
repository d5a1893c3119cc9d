// The cluster is lost, and another one has a mirror of the input and the state, at the same offsets but without the
// group. Topics have other ids there. A worker on the mirror continues from the position in the state.

import assert from "node:assert/strict";
import { after, before } from "node:test";
import type { Log } from "../../src/log/log.ts";
import { type Broker, startBroker } from "../rig/kafka-broker.ts";
import { BrokerProbe } from "./support/broker-probe.ts";
import { expectFrom } from "./support/expectation.ts";
import { assertForecasts, readAll } from "./support/far-end.ts";
import { partitions, toRecord } from "./support/load.ts";
import { Steps } from "./support/steps.ts";
import { openLog, type Story, tellStory } from "./support/story.ts";
import { until } from "./support/until.ts";

let mirror: Broker;
before(async () => {
  mirror = await startBroker();
});
after(() => mirror.stop());

async function copyTopic({ log }: Story, far: Log, topic: string, compacted: boolean): Promise<void> {
  await far.createTopics([{ topic, partitions, compacted }]);
  const records = await readAll(log, topic);
  await far.append(
    records.map(({ partition, key, value, headers }) => ({ topic, partition, key, value, headers })),
  );
}

tellStory(
  "a worker on a mirror of the topics continues from the position stored with the state",
  async (story) => {
    const { group, input, config } = story;
    const steps = new Steps(story);
    await story.startReadyWorker();
    await steps.send(12);
    await story.untilAllSettled();
    await story.endWorkers();

    const far = await openLog(mirror.bootstrap);
    const probe = await BrokerProbe.open(mirror.bootstrap);
    story.atEnd(async () => void (await Promise.all([far.close(), probe.close()])));
    await copyTopic(story, far, input, false);
    await copyTopic(story, far, config.topics.state, true);
    const unread = steps.make(6);
    await far.append(unread.map((observation) => toRecord(input, observation)));
    const worker = await story.startWorker("worker", [`--kafka.brokers=${mirror.bootstrap}`]);
    await until("the mirror to be settled", async () => (await probe.lag(group, input)) === 0);
    assert.equal(
      await worker.metric("forecastnet_input_gaps_total"),
      0,
      "the mirrored topics are treated as the same topics",
    );
    const lines = worker.linesOf("position found in only one place, resuming from it");
    assert.deepEqual(
      lines.map(({ onlyIn }) => onlyIn),
      ["state", "state", "state", "state"],
    );
    await story.endWorkers();

    const before = await readAll(story.log, config.topics.forecasts);
    const afterwards = await readAll(far, config.topics.forecasts);
    const expected = await expectFrom([...steps.sent, ...unread], config);
    assertForecasts([...before, ...afterwards], expected);
  },
);
