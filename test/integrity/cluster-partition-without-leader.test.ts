// A partition with one copy loses its only broker while a transaction that wrote to it is being ended. Kafka's
// coordinator then treats the partition as deleted and never decides the records there. Aborted forecasts would
// reappear with the next commit, and committed ones would be lost with the next abort.

import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { apiKeys } from "../rig/held-requests.ts";
import {
  type ClusterStory,
  partitions,
  storyScale,
  tellClusterStory,
  transactionTimeoutMs,
} from "./support/cluster-story.ts";

const transactionStatePartitions = 6;

await tellClusterStory(
  "a transaction that times out while a partition has no leader is aborted there, too",
  async (story) => {
    await startOnOneCopy(story);
    for (let round = 0; round < storyScale; round++) {
      await loseLeaderAtEnd(story, async (hold) => {
        await pause(transactionTimeoutMs + 2_500); // The broker looks every second.
        await story.cluster.release(hold, "reset");
      });
      assertEnded(story, "aborted");
    }
  },
);

await tellClusterStory(
  "a transaction that is committed while a partition has no leader is committed there, too",
  async (story) => {
    await startOnOneCopy(story);
    for (let round = 0; round < storyScale; round++) {
      await loseLeaderAtEnd(story, async (hold) => {
        await story.cluster.release(hold, "forward");
        await pause(2_000); // The next transaction meets the partition without its leader.
      });
      assertEnded(story, "committed");
    }
  },
);

async function startOnOneCopy(story: ClusterStory): Promise<void> {
  const { forecasts } = story.config.topics;
  await story.cluster.createTopics([{ topic: forecasts, partitions, copies: 1 }]);
  await story.startReadyWorker();
  await story.startLoad();
  await story.untilRead(1_000);
}

/** Holds the end of a transaction, kills the broker that holds its forecasts, and starts it again when `end` is done. */
async function loseLeaderAtEnd(story: ClusterStory, end: (hold: number) => Promise<void>): Promise<void> {
  const { cluster, group } = story;
  const { partition, leader } = await findSeparated(story);
  const hold = await cluster.hold({
    ...{ apiKeys: [apiKeys.endTxn], transactionalId: `${group}-${partition}`, action: "stall" },
  });
  await story.until("the request to end a transaction", async () => (await cluster.holdState(hold)).isCaught);
  await cluster.kill9(leader);
  await story.until(
    "the partition to have no leader",
    async () => (await cluster.leaders(story.config.topics.forecasts))[partition] === -1,
  );
  await end(hold);
  await cluster.restore();
  await story.untilAllFlow();
}

/** A partition whose forecasts are kept by another broker than the one that coordinates its transactions. */
async function findSeparated({
  cluster,
  config,
  group,
}: ClusterStory): Promise<{ readonly partition: number; readonly leader: number }> {
  const leaders = await cluster.leaders(config.topics.forecasts);
  const coordinators = await cluster.leaders("__transaction_state");
  const partition = leaders.findIndex(
    (leader, p) => leader !== coordinators[Math.abs(javaHash(`${group}-${p}`)) % transactionStatePartitions],
  );
  assert.ok(partition >= 0, "some partition has its leader and its coordinator on different brokers");
  return { partition, leader: leaders[partition] as number };
}

/** As Java hashes text, and Kafka chooses the coordinator by it. */
function javaHash(text: string): number {
  let hash = 0;
  for (const letter of text) hash = (31 * hash + letter.charCodeAt(0)) | 0;
  return hash;
}

function assertEnded(story: ClusterStory, outcome: "committed" | "aborted"): void {
  const ended = story.workers.flatMap((worker) =>
    worker.linesOf("ended a transaction that the cluster had left open"),
  );
  assert.ok(
    ended.some((line) => line.outcome === outcome),
    `the worker ended a hanging transaction as ${outcome}`,
  );
}
