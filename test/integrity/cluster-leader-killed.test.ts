// Brokers that lead partitions are killed with -9, one after the other, and restarted.

import { storyScale, tellClusterStory } from "./support/cluster-story.ts";

await tellClusterStory("no forecast is lost or duplicated when a leader is killed with -9", async (story) => {
  await story.startReadyWorker();
  await story.startLoad();
  await story.untilRead(1_000);
  for (let round = 0; round < 2 * storyScale; round++) {
    const leaders = await story.cluster.leaders(story.config.topics.forecasts);
    await story.cluster.kill9(leaders[round % leaders.length] as number);
    // The two that are left are enough.
    await story.untilAllFlow();
    await story.cluster.restore();
    await story.cluster.electPreferred();
    await story.untilRead(500);
  }
});

await tellClusterStory(
  "a worker gives up a dead leader whose address still accepts connections",
  async (story) => {
    await story.startReadyWorker();
    await story.startLoad();
    await story.untilRead(1_000);
    const [leader] = (await story.cluster.leaders(story.config.topics.forecasts)) as [number];
    // As a load balancer in front of the broker does it.
    await story.cluster.cutFromWorkers(leader, "hang-up");
    await story.cluster.kill9(leader);
    await story.untilAllFlow();
  },
);
