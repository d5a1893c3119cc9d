// A worker with a complex history (late points, gaps, duplicates, jitter, intervals it had to detect, several channels)
// is lost. The state that another process restores equals the last committed state of the lost worker byte for byte,
// and a worker that continues from it makes byte for byte the forecasts of an uninterrupted run.

import assert from "node:assert/strict";
import type { Observation } from "../../src/domain.ts";
import { avroCodec } from "../../src/log/codec/avro.ts";
import { newestByKey } from "../../src/log/newest-by-key.ts";
import { restoreStore, type SeriesStore } from "../../src/window/series-store.ts";
import { createStore, expectFrom, snapshotBytes } from "./support/expectation.ts";
import { assertForecasts, readAll } from "./support/far-end.ts";
import { firstTimeMs, partitionOf, partitions, stepMs, toRecord } from "./support/load.ts";
import { seededRandom } from "./support/seeded-random.ts";
import { type Story, tellStory } from "./support/story.ts";
import { until } from "./support/until.ts";

tellStory(
  "another worker restores the state of a lost worker byte for byte and makes the same forecasts from it",
  async (story) => {
    const input = difficultPast();
    await story.log.append(input.map((observation) => toRecord(story.input, observation)));
    const worker = await story.startReadyWorker();
    await story.untilSettled(input.length / 2);
    await worker.end("SIGKILL");

    const storeByPartition = await restoreElsewhere(story);
    const settled = await story.settled();
    assert.ok(settled.length < input.length, "the worker was lost before it had finished");
    for (const [partition, store] of storeByPartition) {
      const own = settled.filter(({ seriesId }) => partitionOf(seriesId) === partition);
      const lost = (await expectFrom(own, story.config)).store;
      const options = { withRevisions: true };
      assert.ok(snapshotBytes(store, options).equals(snapshotBytes(lost, options)), `partition ${partition}`);
    }

    await story.startReadyWorker();
    await story.untilAllSettled();
    await story.endWorkers();
    const expected = await expectFrom(await story.settled(), story.config);
    assertForecasts(await readAll(story.log, story.config.topics.forecasts), expected);
    const options = { withRevisions: true };
    assert.ok(
      snapshotBytes(await story.restoredStore(), options).equals(snapshotBytes(expected.store, options)),
    );
  },
  () => ({
    config: () => ({
      // A batch per observation, as in the expectation: then even the revisions, which count batches, are equal.
      pipeline: { maxBatchRecords: 1, behindAfterMs: 0 },
      // Short enough for the ring of blocks to go round.
      series: {
        interval: "PT1M",
        horizon: 6,
        history: 80,
        overrides: [{ match: "auto-*", interval: "auto" }],
      },
    }),
  }),
);

/** What any member of the group does on assignment, in this process: fence, then restore. */
async function restoreElsewhere(story: Story): Promise<ReadonlyMap<number, SeriesStore>> {
  const { log, config, group } = story;
  const storeByPartition = new Map<number, SeriesStore>();
  const subscription = {
    ...{ group, inputs: [story.input] },
    ...{ positionsTopic: config.topics.state, outputs: [config.topics.state] },
    ...({ start: "earliest", maxBatchRecords: 1 } as const),
  };
  const member = await log.join(subscription, async (owned) => {
    const store = createStore(config);
    const state = await newestByKey(owned.restore(config.topics.state));
    await restoreStore(store, state, avroCodec("StateBlock").decode);
    storeByPartition.set(owned.partition, store);
  });
  await until("the state to be restored elsewhere", () => storeByPartition.size === partitions);
  await member.stop(10_000);
  return storeByPartition;
}

function difficultPast(): Observation[] {
  const random = seededRandom(7);
  const due: { readonly atStep: number; readonly observation: Observation }[] = [];
  for (let index = 0; index < 12; index++) {
    const isAuto = index % 3 === 0;
    const seriesId = `${isAuto ? "auto" : "fixed"}-${index}`;
    const ownStepMs = isAuto ? 5 * stepMs : stepMs;
    const channels = 1 + (index % 2);
    for (let step = 0; step < 220; step++) {
      if (random() < 0.06 || (step > 100 && step < 112 && index % 4 === 0)) continue; // a gap, short or long
      const jitterMs = index % 4 === 1 ? Math.floor((random() - 0.5) * 0.4 * ownStepMs) : 0;
      const timeMs = firstTimeMs + step * ownStepMs + jitterMs;
      const point = () => Array.from({ length: channels }, () => Math.round(1_000 * random()) / 8);
      const lateBy = random() < 0.1 ? Math.floor(1 + 20 * random()) : 0;
      due.push({ atStep: step + lateBy, observation: { seriesId, timeMs, values: point() } });
      if (random() < 0.05) due.push({ atStep: step + 2, observation: { seriesId, timeMs, values: point() } });
    }
  }
  return due.sort((a, b) => a.atStep - b.atStep).map(({ observation }) => observation);
}
