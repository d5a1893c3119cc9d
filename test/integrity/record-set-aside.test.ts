// All forecasts of one series are too large for their topic. Its records are found in their batches and become dead
// letters. The records around them are forecast once and byte for byte, and the state does not contain the failed ones.

import assert from "node:assert/strict";
import type { Observation } from "../../src/domain.ts";
import { fromDeadLetterHeaders } from "../../src/log/dead-letter.ts";
import { expectFrom, observedSlots } from "./support/expectation.ts";
import { assertForecasts, readAll } from "./support/far-end.ts";
import { firstTimeMs, knownObservation, partitions, stepMs, toRecord } from "./support/load.ts";
import { tellStory } from "./support/story.ts";

const series = 16;
const steps = 40;
/** From the second record on, which is the first to be forecast, its records fail. */
const wideSteps = [8, 9, 10, 11, 12, 13];

tellStory(
  "a record whose forecast is too large becomes a dead letter, and its neighbours are forecast",
  async (story) => {
    const { topics } = story.config;
    const settings = { "max.message.bytes": "12000" };
    await story.log.createTopics([{ topic: topics.forecasts, partitions, compacted: false, settings }]);
    const good: Observation[] = [];
    const sent: Observation[] = [];
    for (let step = 0; step < steps; step++) {
      const known = Array.from({ length: series }, (_, index) => knownObservation(index, step));
      const wide = wideSteps.includes(step) ? [wideObservation(step)] : [];
      sent.push(...known.slice(0, 4), ...wide, ...known.slice(4));
      good.push(...known, ...(step === wideSteps[0] ? wide : []));
    }
    await story.log.append(sent.map((observation) => toRecord(story.input, observation)));
    const worker = await story.startReadyWorker();
    await story.untilAllSettled();
    assert.ok(await worker.isReady(), "the worker stays alive and ready");
    await story.endWorkers();

    const letters = (await readAll(story.log, topics.deadLetters)).map((letter) => ({
      key: String(letter.key),
      ...fromDeadLetterHeaders(letter.headers),
    }));
    assert.deepEqual(
      letters.map(({ key, reason, truncated }) => [key, reason, truncated]),
      wideSteps.slice(1).map(() => ["wide-0", "failed", ""]),
    );
    for (const { detail } of letters) assert.match(detail ?? "", /topic \S+-forecasts .*12000/);
    const expected = await expectFrom(good, story.config);
    assertForecasts(await readAll(story.log, topics.forecasts), expected);
    assert.deepEqual(observedSlots(await story.restoredStore()), observedSlots(expected.store));
  },
);

function wideObservation(step: number): Observation {
  const values = Array.from({ length: 64 }, (_, channel) => channel + Math.sin(step));
  return { seriesId: "wide-0", timeMs: firstTimeMs + step * stepMs, values };
}
