// Three brokers, one worker, an even load and no fault.

import { storyScale, tellClusterStory } from "./support/cluster-story.ts";

await tellClusterStory("input on three brokers without faults is forecast exactly once", async (story) => {
  await story.startReadyWorker();
  await story.startLoad();
  await story.untilRead(8_000 * storyScale);
});
