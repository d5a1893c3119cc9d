// Leaders of the input, the forecasts and the state move between brokers and back, while all brokers stay up.

import { storyScale, tellClusterStory } from "./support/cluster-story.ts";

await tellClusterStory(
  "no forecast is lost or duplicated when leaders move back and forth",
  async (story) => {
    await story.startReadyWorker();
    await story.startLoad();
    await story.untilRead(1_000);
    for (let round = 0; round < 12 * storyScale; round++) {
      await story.cluster.rotateLeaders(story.dataTopics, round % 3 === 2 ? 2 : 1);
      if (round % 2 === 0) await story.untilRead(200);
      else await story.untilAllFlow();
    }
    await story.untilRead(1_000);
  },
);
