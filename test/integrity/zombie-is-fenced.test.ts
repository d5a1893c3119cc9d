// A worker is frozen past its session timeout, as by a stalled disk or a sleeping virtual machine. Another one takes
// over its partitions. When it wakes up, it must notice that, write nothing twice and join again.

import assert from "node:assert/strict";
import type { WorkerProcess } from "../rig/worker-process.ts";
import { partitions } from "./support/load.ts";
import { ownedPartitions, type Story, tellStory } from "./support/story.ts";
import { until } from "./support/until.ts";

tellStory("a worker that wakes up after it has lost its partitions writes nothing twice", async (story) => {
  const load = story.startLoad();
  const zombie = await story.startReadyWorker();
  await story.untilSettled(500);
  zombie.signal("SIGSTOP");
  const heir = await story.startReadyWorker();
  await untilSoleOwner(heir);
  await story.untilSettled(500);
  await wake(zombie);
  await story.untilSettled(500);
  await story.count(load);
});

tellStory("a worker frozen during a transaction is fenced every time", async (story) => {
  const load = story.startLoad();
  const workers = [await story.startReadyWorker(), await story.startReadyWorker()];
  await until("both workers to have a share", () =>
    workers.every((worker) => ownedPartitions(worker).length === partitions / 2),
  );
  let struck = 0;
  for (let round = 0; round < 4; round++) {
    const [zombie, heir] = round % 2 === 0 ? workers : workers.toReversed();
    assert.ok(zombie !== undefined && heir !== undefined);
    await story.untilSettled(200);
    if (await story.strikeInTransaction(zombie, "SIGSTOP")) struck++;
    await untilSoleOwner(heir);
    await story.untilSettled(500);
    await wake(zombie);
    await untilShared(story, zombie);
  }
  assert.ok(struck > 0, "at least one of the workers was frozen with a transaction open");
  await story.count(load);
});

async function untilSoleOwner(worker: WorkerProcess): Promise<void> {
  await until(`${worker.name} to own all partitions`, () => ownedPartitions(worker).length === partitions);
}

/** Wakes the zombie, which must notice what happened to it and join again under a new name. */
async function wake(zombie: WorkerProcess): Promise<void> {
  const drops = () =>
    zombie.linesOf("group joined").filter(({ isContinuous }) => isContinuous === false).length;
  const before = drops();
  zombie.signal("SIGCONT");
  await until(`${zombie.name} to notice that it has left the group`, () => {
    assert.ok(zombie.isAlive, `${zombie.name} joins again and does not end`);
    return drops() > before;
  });
}

async function untilShared(story: Story, zombie: WorkerProcess): Promise<void> {
  await until(`${zombie.name} to have a share again`, async () => {
    return ownedPartitions(zombie).length === partitions / 2 && (await zombie.isReady());
  });
  await story.untilSettled(100);
}
