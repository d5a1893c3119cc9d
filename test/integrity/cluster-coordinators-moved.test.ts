// The coordinators of the group and of its transactions move from broker to broker repeatedly.

import { storyScale, tellClusterStory } from "./support/cluster-story.ts";

await tellClusterStory("no commit is lost or repeated when coordinators move", async (story) => {
  await story.startReadyWorker();
  await story.startLoad();
  await story.untilRead(1_000);
  for (let round = 0; round < 4 * storyScale; round++) {
    for (const topics of [["__transaction_state"], ["__consumer_offsets"], story.coordinatorTopics]) {
      await story.cluster.rotateLeaders(topics, 1 + (round % 2));
      await story.untilRead(200);
    }
    await story.untilAllFlow();
  }
});
