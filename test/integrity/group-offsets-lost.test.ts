// The group's offsets are gone, as after a week without workers, or on a cluster that mirrors only topics. The next
// worker continues from the position stored with the state and logs it.

import assert from "node:assert/strict";
import { Administrator } from "./support/administrator.ts";
import { partitionOf, partitions } from "./support/load.ts";
import { Steps } from "./support/steps.ts";
import { tellStory } from "./support/story.ts";
import { until } from "./support/until.ts";

/** Has no new input when the offsets are gone. */
const quiet = 3;

tellStory(
  "a worker whose group has lost its offsets continues from the position stored with the state",
  async (story) => {
    const { group, input, probe } = story;
    const administrator = await Administrator.of(story);
    const steps = new Steps(story);
    await story.startReadyWorker();
    await steps.send(12);
    await story.untilAllSettled();
    const before = await probe.committed(group, input);
    await story.endWorkers();

    await administrator.deleteGroup();
    assert.deepEqual([...(await probe.committed(group, input)).values()], [-1, -1, -1, -1]);
    await steps.send(12, (index) => partitionOf(`series-${index}`) !== quiet);
    const worker = await story.startReadyWorker();
    const lines = worker.linesOf("position found in only one place, resuming from it");
    const told = lines.map(({ partition, position, onlyIn }) => [partition, position, onlyIn]);
    const owed = Array.from({ length: partitions }, (_, partition) => [
      partition,
      before.get(partition),
      "state",
    ]);
    assert.deepEqual(told.sort(), owed);
    await until("the group's offset of the quiet partition to be back", async () => {
      return (await probe.committed(group, input)).get(quiet) === before.get(quiet);
    });
    assert.equal(await worker.metric("forecastnet_input_gaps_total"), 0, "no input is missing");
    await story.count(steps);
  },
);
