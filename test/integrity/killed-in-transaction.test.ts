// The worker is killed again and again, as by the kernel or a power cut, most of the time with a transaction
// open, and started again. Nothing is lost, nothing is doubled.

import assert from "node:assert/strict";
import { type Story, tellStory } from "./support/story.ts";
import { until } from "./support/until.ts";

const kills = 5;

tellStory("a worker killed in the middle of transactions loses and doubles nothing", async (story) => {
  const load = story.startLoad();
  let hits = 0;
  for (let kill = 0; kill < kills; kill++) {
    const worker = await story.startReadyWorker();
    await story.untilSettled(100 + 70 * kill);
    await untilTransactionOpen(story);
    await worker.end("SIGKILL");
    const { forecasts } = story.config.topics;
    if ((await story.probe.openTransactions(forecasts)).length > 0) hits++;
  }
  assert.ok(hits > 0, `none of ${kills} kills left a transaction open`);
  await story.startReadyWorker();
  await story.count(load);
});

async function untilTransactionOpen({ probe, config }: Story): Promise<void> {
  await until("an open transaction", async () => {
    for (let look = 0; look < 100; look++) {
      if ((await probe.openTransactions(config.topics.forecasts)).length > 0) return true;
    }
    return false;
  });
}
