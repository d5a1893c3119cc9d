// The worker cannot reach one broker, which all other clients reach. In one case packets are dropped silently and
// requests in flight arrive late; in another, connections break and are refused; in the third, they are accepted and
// closed.

import { setTimeout as pause } from "node:timers/promises";
import { storyScale, tellClusterStory } from "./support/cluster-story.ts";

const cutMs = 5_000 * storyScale;

await tellClusterStory("a worker waits for a broker that only it cannot reach", async (story) => {
  await story.startReadyWorker();
  await story.startLoad();
  await story.untilRead(1_000);
  for (const [round, how] of (["silent", "refuse", "hang-up"] as const).entries()) {
    const leaders = await story.cluster.leaders(story.config.topics.forecasts);
    await story.cluster.cutFromWorkers(leaders[round] as number, how);
    await pause(cutMs);
    await story.cluster.heal();
    await story.untilAllFlow();
  }
  await story.untilRead(1_000);
});
