// SIGTERM during a large backlog: the worker settles the batches it holds, leaves the group and ends with code 0. Its
// commits are complete, and its successor continues from there.

import assert from "node:assert/strict";
import { expectFrom } from "./support/expectation.ts";
import { assertForecasts, readAll } from "./support/far-end.ts";
import { knownObservation, toRecord } from "./support/load.ts";
import { graceMs, type Story, tellStory } from "./support/story.ts";
import { until } from "./support/until.ts";

tellStory("a worker stopped under full load drains and leaves nothing incomplete", async (story) => {
  await repeatFirstStep(story);
  const load = story.startLoad({ series: 40, pauseMs: 0 });
  await until("a backlog", () => load.sent.length > 10_000);
  const worker = await story.startReadyWorker();
  await story.untilSettled(1_000);

  const askedMs = performance.now();
  assert.deepEqual(await worker.end("SIGTERM"), { code: 0, signal: null });
  assert.ok(performance.now() - askedMs < graceMs, "the worker ends within its grace period");
  await load.stop();
  assert.ok(
    (await story.probe.lag(story.group, story.input)) > 0,
    "the worker was stopped with input left to read",
  );

  const { forecasts } = story.config.topics;
  const settled = await story.settled();
  assertForecasts(await readAll(story.log, forecasts), await expectFrom(settled, story.config));

  await story.startReadyWorker();
  await story.count(load);
});

/** As a sensor does whose answer was lost: offsets of one partition then run ahead of its observations. */
async function repeatFirstStep({ log, input }: Story): Promise<void> {
  const firstStep = Array.from({ length: 40 }, (_, index) => toRecord(input, knownObservation(index, 0)));
  const ofOnePartition = firstStep.filter(({ partition }) => partition === 1);
  for (let repeat = 0; repeat < 3; repeat++) await log.append(ofOnePartition);
}
