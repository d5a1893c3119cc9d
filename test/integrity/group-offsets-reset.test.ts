// Somebody resets the group's offset of one partition while no worker runs. The next worker does not guess: that
// partition waits and reports it, and the others continue. Restoring the offset resolves it, and so does
// kafka.positions.

import assert from "node:assert/strict";
import { Administrator } from "./support/administrator.ts";
import { expectFrom } from "./support/expectation.ts";
import { assertForecasts, readAll } from "./support/far-end.ts";
import { partitionOf, partitions } from "./support/load.ts";
import { Steps } from "./support/steps.ts";
import { type Story, tellStory } from "./support/story.ts";
import { until, untilCounted } from "./support/until.ts";

const reset = 1;
const isReset = (seriesId: string) => partitionOf(seriesId) === reset;

/** Some work done, no worker left. Returns the position of the partition that is about to be reset. */
async function workedOff(story: Story, steps: Steps): Promise<number> {
  await story.startReadyWorker();
  await steps.send(12);
  await story.untilAllSettled();
  await story.endWorkers();
  const position = (await story.probe.committed(story.group, story.input)).get(reset);
  assert.ok(position !== undefined && position > 10, "the group has a position");
  return position;
}

async function startWith(story: Story, rule: "state" | "group") {
  const worker = await story.startWorker("worker", [`--kafka.positions=${rule}`]);
  await until("the worker to be ready", () => worker.isReady());
  return worker;
}

tellStory(
  "a partition whose offset was reset waits and reports it, and continues when the offset is restored",
  async (story) => {
    const { group, input, probe } = story;
    const administrator = await Administrator.of(story);
    const steps = new Steps(story);
    const position = await workedOff(story, steps);

    await administrator.setOffset(reset, position - 7);
    const worker = await story.startWorker();
    const lines = () => worker.linesOf("positions contradict each other");
    await until("the contradiction to be logged", () => lines().length > 0);
    const [{ partition, code, reason, remedy }] = lines();
    assert.deepEqual([partition, code], [reset, "POSITIONS_CONTRADICT"]);
    assert.match(String(reason), new RegExp(`is at ${position - 7}, the state in \\S+ is at ${position}`));
    assert.match(String(remedy), /kafka-consumer-groups --reset-offsets/);
    const page = await worker.page("/readyz");
    assert.equal(page?.status, 503);
    assert.match(page?.body ?? "", /partition 1 .*waits/);
    assert.match(page?.body ?? "", /POSITIONS_CONTRADICT/);

    await steps.send(12);
    await until("the other partitions to be settled", async () => {
      const [committed, ends] = await Promise.all([probe.committed(group, input), probe.ends(input)]);
      return [...ends].every(([at, end]) => at === reset || committed.get(at) === end);
    });
    assert.equal(
      (await probe.committed(group, input)).get(reset),
      position - 7,
      "nothing was committed for the waiting partition",
    );
    assert.equal(lines().length, 1, "the contradiction is logged once");
    await story.endWorkers();

    await administrator.setOffset(reset, position);
    await story.startReadyWorker();
    await story.count(steps);
  },
);

tellStory(
  "a worker with kafka.positions=state continues at once and resolves the contradiction permanently",
  async (story) => {
    const administrator = await Administrator.of(story);
    const steps = new Steps(story);
    const position = await workedOff(story, steps);
    await administrator.setOffset(reset, position - 7);
    await startWith(story, "state");
    await story.untilAllSettled();
    await story.endWorkers();

    await steps.send(6);
    const plain = await story.startReadyWorker();
    assert.deepEqual(plain.linesOf("positions contradict each other"), []);
    await story.count(steps);
  },
);

tellStory(
  "a worker with kafka.positions=group reads input again without forecasting it twice, or skips input",
  async (story) => {
    const administrator = await Administrator.of(story);
    const steps = new Steps(story);
    const position = await workedOff(story, steps);
    await administrator.setOffset(reset, position - 7);
    const again = await startWith(story, "group");
    await story.untilAllSettled();
    // The state has these points: they count as duplicates, and nothing is due.
    await untilCounted(again, "forecastnet_observations_total", 7, 'outcome="duplicate"');
    await story.endWorkers();

    const skipped = await steps.send(6);
    await administrator.setOffset(reset, position + skipped.length / partitions);
    await startWith(story, "group");
    await steps.send(6);
    await story.untilAllSettled();
    await story.endWorkers();
    const read = steps.sent.filter((sent) => !(isReset(sent.seriesId) && skipped.includes(sent)));
    assert.ok(read.length < steps.sent.length);
    assertForecasts(
      await readAll(story.log, story.config.topics.forecasts),
      await expectFrom(read, story.config),
    );
  },
);
