// Retention deletes input before it is read: while no worker runs, and while a worker is behind. The loss is counted
// and logged, and reading continues with the remaining records.

import assert from "node:assert/strict";
import type { Observation } from "../../src/domain.ts";
import type { WorkerProcess } from "../rig/worker-process.ts";
import { Administrator } from "./support/administrator.ts";
import { expectFrom } from "./support/expectation.ts";
import { assertForecasts, readAll } from "./support/far-end.ts";
import { partitionOf, partitions } from "./support/load.ts";
import { Steps } from "./support/steps.ts";
import { tellStory } from "./support/story.ts";
import { untilCounted } from "./support/until.ts";

interface Gap {
  readonly partition: number;
  readonly position: number;
  readonly resumedAt: number;
}

/** What the worker has told, which must be what it has counted. */
async function gapsOf(worker: WorkerProcess): Promise<readonly Gap[]> {
  const lines = worker.linesOf("input is missing, reading continues after the gap");
  assert.ok(lines.every(({ kind }) => kind === "retention"));
  const gaps = lines.map(({ partition, position, resumedAt }) => ({ partition, position, resumedAt }) as Gap);
  const lost = gaps.reduce((sum, { position, resumedAt }) => sum + resumedAt - position, 0);
  await untilCounted(worker, "forecastnet_input_gaps_total", gaps.length, 'kind="retention"');
  await untilCounted(worker, "forecastnet_input_lost_records_total", lost);
  return gaps;
}

/** What was sent but for the records in the gaps. */
function without(gaps: readonly Gap[], sent: readonly Observation[]): Observation[] {
  const nextOffsets = Array.from({ length: partitions }, () => 0);
  return sent.filter(({ seriesId }) => {
    const partition = partitionOf(seriesId);
    const offset = nextOffsets[partition]++;
    return !gaps.some(
      (gap) => gap.partition === partition && offset >= gap.position && offset < gap.resumedAt,
    );
  });
}

tellStory(
  "input that retention deletes before it is read is counted, and the remaining input is forecast",
  async (story) => {
    const { group, input, probe } = story;
    const administrator = await Administrator.of(story);
    const steps = new Steps(story);
    await story.startReadyWorker();
    await steps.send(12);
    await story.untilAllSettled();
    await story.endWorkers();

    await steps.send(12);
    const positions = await probe.committed(group, input);
    await administrator.deleteInputBefore(
      new Map([...positions].map(([partition, at]) => [partition, at + 5])),
    );
    const worker = await story.startReadyWorker();
    await story.untilAllSettled();
    const whileAway = await gapsOf(worker);
    const facts = whileAway.map(({ partition, position, resumedAt }) => [partition, [position, resumedAt]]);
    const owed = [...positions].map(([partition, at]) => [partition, [at, at + 5]]);
    assert.deepEqual(Object.fromEntries(facts), Object.fromEntries(owed));

    // A request that was on its way when it was halted brings the first of these, and nothing later.
    worker.signal("SIGSTOP");
    await steps.send(2);
    await steps.send(22);
    const ends = await probe.ends(input);
    const kept = new Map([...ends].map(([partition, end]) => [partition, end - 6]));
    await administrator.deleteInputBefore(kept);
    worker.signal("SIGCONT");
    await story.untilAllSettled();
    const gaps = await gapsOf(worker);
    assert.deepEqual(
      Object.fromEntries(gaps.slice(partitions).map(({ partition, resumedAt }) => [partition, resumedAt])),
      Object.fromEntries(kept),
    );
    await story.endWorkers();

    const read = without(gaps, steps.sent);
    assert.ok(read.length < steps.sent.length - 5 * partitions);
    assertForecasts(
      await readAll(story.log, story.config.topics.forecasts),
      await expectFrom(read, story.config),
    );
  },
);
