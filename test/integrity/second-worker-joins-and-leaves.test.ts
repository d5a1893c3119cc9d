// A fleet changes under load: a second worker joins and leaves in order, a third joins and is killed. No partition
// stalls for long, no partition that stays with its worker is restored, and nothing is lost or duplicated.

import assert from "node:assert/strict";
import type { WorkerProcess } from "../rig/worker-process.ts";
import { partitions } from "./support/load.ts";
import { Pulse } from "./support/pulse.ts";
import { graceMs, ownedPartitions, type Story, tellStory } from "./support/story.ts";
import { until } from "./support/until.ts";

// The killed worker's session, a rebalance and a restore take about 6 s on a quiet machine.
const longestStandstillMs = 25_000;

tellStory("every partition continues when workers join and leave under load", async (story) => {
  const load = story.startLoad();
  const first = await story.startReadyWorker();
  await story.untilSettled(300);
  const pulse = new Pulse(story);

  const second = await joinFleet(story, first);
  const askedMs = performance.now();
  assert.deepEqual(await second.end("SIGTERM"), { code: 0, signal: null });
  assert.ok(performance.now() - askedMs < graceMs, "the second worker leaves within its grace period");
  await takeAllBack(story, first);

  const third = await joinFleet(story, first);
  await third.end("SIGKILL");
  await takeAllBack(story, first);

  const standstillMs = await pulse.stop();
  assert.ok(standstillMs < longestStandstillMs, `a partition made no progress for ${standstillMs} ms`);
  await story.count(load);
  // Only now is it sure that the last partition to come back has been restored: all its observations were counted.
  assertRestoredOnlyWhatMoved(first);
});

async function joinFleet(story: Story, first: WorkerProcess): Promise<WorkerProcess> {
  const worker = await story.startReadyWorker();
  await until("both workers to have an equal share", () =>
    [first, worker].every((member) => ownedPartitions(member).length === partitions / 2),
  );
  await story.untilSettled(500);
  return worker;
}

async function takeAllBack(story: Story, first: WorkerProcess): Promise<void> {
  await until("the first worker to own all again", () => ownedPartitions(first).length === partitions);
  await story.untilSettled(500);
}

function assertRestoredOnlyWhatMoved(worker: WorkerProcess): void {
  const restores = Array.from({ length: partitions }, () => 0);
  for (const { partition } of worker.linesOf("partition restored")) restores[partition as number]++;
  // Half of them never left; the other half went to the second worker and to the third, and came back.
  assert.deepEqual(restores.toSorted(), [1, 1, 3, 3]);
}
