// The input topic is deleted and recreated under the same name. Whether the new one ends before the old position or
// after it, the worker notices, counts and logs it, and reads everything in the new topic once.

import assert from "node:assert/strict";
import type { WorkerProcess } from "../rig/worker-process.ts";
import { Administrator } from "./support/administrator.ts";
import { partitions } from "./support/load.ts";
import { Steps, series } from "./support/steps.ts";
import { tellStory } from "./support/story.ts";
import { until, untilCounted } from "./support/until.ts";

const untilRecreations = (worker: WorkerProcess, count: number) =>
  untilCounted(worker, "forecastnet_input_gaps_total", count, 'kind="recreated"');

function assertTold(worker: WorkerProcess, times: number): void {
  const lines = worker.linesOf("input is missing, reading continues after the gap");
  assert.deepEqual(
    lines.map(({ kind, resumedAt }) => [kind, resumedAt]),
    Array.from({ length: times }, () => ["recreated", 0]),
  );
}

tellStory(
  "an input topic that is recreated while no worker runs is read from its beginning",
  async (story) => {
    const administrator = await Administrator.of(story);
    const steps = new Steps(story);
    await story.startReadyWorker();
    await steps.send(12);
    await story.untilAllSettled();
    // First with fewer records than the old position, then with more.
    for (const count of [6, 18]) {
      await story.endWorkers();
      await administrator.deleteInput();
      await administrator.createInput();
      await steps.send(count);
      const worker = await story.startReadyWorker();
      await story.untilAllSettled();
      await untilRecreations(worker, partitions);
      assertTold(worker, partitions);
    }
    await story.count(steps);
  },
);

tellStory(
  "a running worker waits for an input topic that is recreated and reads it from its beginning",
  async (story) => {
    const administrator = await Administrator.of(story);
    const steps = new Steps(story);
    const worker = await story.startReadyWorker();
    await steps.send(12);
    await story.untilAllSettled();
    for (const [round, count] of [6, 18].entries()) {
      await administrator.deleteInput();
      await until("the worker to miss its input", async () => {
        const page = await worker.page("/readyz");
        return page?.status === 503 && page.body.includes(story.input);
      });
      await administrator.createInput();
      await steps.send(count);
      await until("the worker to be ready again", () => worker.isReady());
      await story.untilAllSettled();
      await untilRecreations(worker, (round + 1) * partitions);
    }
    assertTold(worker, 2 * partitions);
    await story.endWorkers();

    const next = await story.startReadyWorker();
    await steps.send(6);
    await story.untilAllSettled();
    // Zero only tells something once this worker has counted its input.
    await untilCounted(next, "forecastnet_observations_total", 6 * series, 'outcome="advanced"');
    await untilRecreations(next, 0);
    assert.equal(await next.metric("forecastnet_observations_total", 'outcome="duplicate"'), 0);
    await story.count(steps);
  },
);
