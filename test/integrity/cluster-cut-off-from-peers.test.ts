// One broker and the other two cannot reach each other, but clients reach all three. The isolated broker still believes
// that it leads partitions that the others have reassigned.

import { setTimeout as pause } from "node:timers/promises";
import { storyScale, tellClusterStory } from "./support/cluster-story.ts";

// The cluster gives a broker up after 3 s.
const cutMs = 7_000 * storyScale;

await tellClusterStory(
  "a worker ignores outdated leaders from a broker that is isolated from its peers",
  async (story) => {
    await story.startReadyWorker();
    await story.startLoad();
    await story.untilRead(1_000);
    for (const [round, how] of (["silent", "refuse"] as const).entries()) {
      const leaders = await story.cluster.leaders(story.config.topics.forecasts);
      await story.cluster.cutFromPeers(leaders[round] as number, how);
      await pause(cutMs);
      await story.cluster.restore();
      await story.untilAllFlow();
      await story.cluster.electPreferred();
    }
    await story.untilRead(1_000);
  },
);

await tellClusterStory(
  "a worker that takes over partitions ignores outdated leaders from a broker that is isolated from its peers",
  async (story) => {
    let worker = await story.startReadyWorker();
    await story.startLoad();
    await story.untilRead(1_000);
    for (const [round, how] of (["silent", "refuse"] as const).entries()) {
      const leaders = await story.cluster.leaders(story.config.topics.state);
      await story.cluster.cutFromPeers(leaders[round] as number, how);
      // The others lead by now, and the worker has committed over them.
      await pause(cutMs);
      await story.endWorker(worker, "SIGKILL");
      worker = await story.startWorker();
      await story.untilAllFlow();
      await story.cluster.restore();
      await story.untilAllFlow();
      await story.cluster.electPreferred();
    }
    await story.untilRead(1_000);
  },
);
