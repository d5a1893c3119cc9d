// Every broker is restarted in order, as in an upgrade: it shuts down, starts again and gets its leaders back.

import { setTimeout as pause } from "node:timers/promises";
import { brokerIds } from "../rig/cluster-nodes.ts";
import { storyScale, tellClusterStory } from "./support/cluster-story.ts";

const downMs = 2_000 * storyScale;

await tellClusterStory(
  "no forecast is lost or duplicated in a rolling restart with elections",
  async (story) => {
    await story.startReadyWorker();
    await story.startLoad();
    await story.untilRead(1_000);
    for (const broker of brokerIds) {
      await story.cluster.stop(broker);
      await pause(downMs); // The worker has to do without it for so long.
      await story.cluster.restore();
      await story.cluster.electPreferred();
      await story.untilAllFlow();
    }
    await story.untilRead(1_000);
  },
);
