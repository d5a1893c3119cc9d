// The worker is killed repeatedly, as by the kernel or a power cut, with a transaction open, and started again. Nothing
// is lost or duplicated.

import assert from "node:assert/strict";
import { tellStory } from "./support/story.ts";

const kills = 5;

tellStory("no forecast is lost or duplicated when a worker is killed during transactions", async (story) => {
  const load = story.startLoad();
  let struck = 0;
  for (let kill = 0; kill < kills; kill++) {
    const worker = await story.startReadyWorker();
    await story.untilSettled(100 + 70 * kill);
    if (await story.strikeInTransaction(worker, "SIGKILL")) struck++;
  }
  assert.ok(struck > 0, `of ${kills} kills at least one left a transaction open`);
  await story.startReadyWorker();
  await story.count(load);
});
