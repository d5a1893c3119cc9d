// Workers join, leave in order and are killed, while the leaders of all their partitions move.

import assert from "node:assert/strict";
import { storyScale, tellClusterStory } from "./support/cluster-story.ts";

await tellClusterStory(
  "no forecast is lost or duplicated when workers join and leave while leaders move",
  async (story) => {
    const moveLeaders = () =>
      story.cluster.rotateLeaders([...story.dataTopics, ...story.coordinatorTopics], 1);
    let oldest = await story.startReadyWorker();
    await story.startLoad();
    await story.untilRead(1_000);
    for (let round = 0; round < storyScale; round++) {
      const [second] = await Promise.all([story.startReadyWorker(), moveLeaders()]);
      await story.untilAllFlow();
      const [third] = await Promise.all([story.startReadyWorker(), moveLeaders()]);
      await story.untilAllFlow();
      const [ending] = await Promise.all([story.endWorker(oldest, "SIGTERM"), moveLeaders()]);
      assert.equal(ending.code, 0, "a stopped worker ends with code 0");
      await story.untilAllFlow();
      await Promise.all([story.endWorker(second, "SIGKILL"), moveLeaders()]);
      await story.untilAllFlow();
      oldest = third;
    }
  },
);
