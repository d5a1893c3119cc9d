// The request that ends a transaction is delayed. The worker gives it up and continues. During the next transaction of
// the same producer, the request arrives. A broker that applied it to that transaction would commit half of it.

import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { apiKeys } from "../rig/held-requests.ts";
import {
  type ClusterStory,
  storyScale,
  tellClusterStory,
  transactionTimeoutMs,
} from "./support/cluster-story.ts";

await tellClusterStory("a delayed request to end a transaction does not end a later one", async (story) => {
  await story.startReadyWorker();
  await story.startLoad();
  await story.untilRead(1_000);
  for (let round = 0; round < 6 * storyScale; round++) {
    await deliverLate(story, round % 2 === 0 ? "reset" : "forward");
    await story.untilRead(300);
  }
});

await tellClusterStory("a worker repeats a transaction that the broker has timed out", async (story) => {
  await story.startReadyWorker();
  await story.startLoad();
  await story.untilRead(1_000);
  const hold = await story.cluster.hold({
    ...{ apiKeys: [apiKeys.endTxn], transactionalId: story.group, action: "stall" },
  });
  await story.until(
    "the request to end a transaction",
    async () => (await story.cluster.holdState(hold)).isCaught,
  );
  await pause(transactionTimeoutMs + 2_500); // The broker looks every second.
  await story.cluster.release(hold, "forward");
  await story.untilAllFlow();
});

/** What becomes of the next transaction's own request, once the late one has been delivered: it passes, or is lost. */
async function deliverLate(story: ClusterStory, next: "forward" | "reset"): Promise<void> {
  const { cluster, group } = story;
  const late = await cluster.hold({ apiKeys: [apiKeys.endTxn], transactionalId: group, action: "detach" });
  // The next transaction has sent records and is about to move its position, or to end.
  const middle = await cluster.hold({
    apiKeys: [apiKeys.addOffsetsToTxn, apiKeys.txnOffsetCommit, apiKeys.endTxn],
    ...{ transactionalId: group, action: "stall", after: { hold: late, apiKey: apiKeys.produce } },
  });
  await story.until(
    "the request to end a transaction to be lost",
    async () => (await cluster.holdState(late)).isCaught,
  );
  await story.until("the next transaction", async () => (await cluster.holdState(middle)).isCaught);
  await cluster.release(late, "forward");
  const { lateAnswer } = await cluster.holdState(late);
  await cluster.release(middle, next);
  assert.notEqual(lateAnswer, 0, "the broker refuses the late request");
}
