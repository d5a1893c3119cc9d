// One worker and two trainers, one of which is killed during its work: every request is answered once, and the models
// serve without a restart. Then the behaviour of one series changes, and only that series is retrained.

import assert from "node:assert/strict";
import type { WorkerProcess } from "../rig/worker-process.ts";
import { partitionOf, partitions } from "./support/load.ts";
import { assertAnsweredOnce, assertOneModelEach, countForecasts } from "./support/model-accounts.ts";
import { EventWatch, history, learning, readAttempts, readModelTopics } from "./support/model-story.ts";
import { noisy, Sensors, wave } from "./support/sensors.ts";
import { ownedPartitions, type Story, tellStory } from "./support/story.ts";
import { until } from "./support/until.ts";

const series = 8;
const changing = "series-0";

tellStory(
  "no request is lost when a trainer is killed during a training, and a series that changes is retrained",
  async (story) => {
    const sensors = new Sensors(story.log, story.input, laws());
    const worker = await story.startReadyWorker();
    const trainers = [await story.startReadyWorker("trainer"), await story.startReadyWorker("trainer")];
    const watch = EventWatch.over(story);
    await untilShared(trainers);

    await sensors.send(history);
    const held = await killAtWork(story, trainers[0]);
    await until("every series to have a model", () => watch.count("PROMOTED") === series);
    // A few steps more than a probation lasts, so that a model is fit to be called stale.
    const isConfirmed = () => watch.count("CONFIRMED") + watch.count("ROLLED_BACK") >= series;
    await sensors.sendUntil("the models to pass their probation", isConfirmed, 400);

    sensors.change(changing, noisy(wave(9, 11), 0.5, 101));
    const isBack = () => watch.of(changing).filter(({ kind }) => kind === "PROMOTED").length === 2;
    await sensors.sendUntil(`${changing} to get another model`, isBack, 800);
    await sensors.send(10);
    await story.untilAllSettled();
    await watch.stop();
    await story.endWorkers();

    const topics = await readModelTopics(story);
    assertAnsweredOnce(topics);
    assertOneModelEach(topics);
    const attempts = await readAttempts(story);
    for (const id of held) assert.equal(attempts.get(id), 2, `${id} was started again`);
    const forecastsBySeries = await countForecasts(story, sensors, topics);
    for (const [seriesId, forecasts] of forecastsBySeries)
      assert.equal(forecasts.at(-1)?.tier, "MODEL", `${seriesId} is forecast by its model`);
    assert.deepEqual(kindsOf(watch, changing), [
      ...["REQUESTED", "PROMOTED", "CONFIRMED"],
      ...["DRIFTED", "REQUESTED", "PROMOTED"],
    ]);
    const others = sensors.seriesIds.filter((seriesId) => seriesId !== changing);
    for (const seriesId of others)
      assert.deepEqual(kindsOf(watch, seriesId), ["REQUESTED", "PROMOTED", "CONFIRMED"], seriesId);
    for (const { modelKey, numbers } of watch.events.filter(({ kind }) => kind === "CONFIRMED"))
      assert.ok(numbers.steps > 0, `${modelKey} was confirmed on data after its promotion`);
    assert.equal(
      worker.linesOf("partition restored").length,
      partitions,
      "the worker served without interruption",
    );
  },
  () => learning({ where: "trainers" }),
);

function laws() {
  return Object.fromEntries(
    Array.from({ length: series }, (_, index) => [
      `series-${index}`,
      noisy(wave(2 + (index % 4), 7 + (index % 5)), 0.4, index + 1),
    ]),
  );
}

async function untilShared(trainers: readonly WorkerProcess[]): Promise<void> {
  await until("the trainers to have an equal share", () =>
    trainers.every((trainer) => ownedPartitions(trainer).length === partitions / trainers.length),
  );
}

/** Returns the requests that it had begun and not answered. */
async function killAtWork(story: Story, trainer: WorkerProcess): Promise<readonly string[]> {
  await until(
    `${trainer.name} to train`,
    async () => ((await trainer.metric("forecastnet_trainings_in_flight")) ?? 0) > 0,
  );
  await trainer.end("SIGKILL");
  const partitionsLost = ownedPartitions(trainer);
  const { requests, outcomes } = await readModelTopics(story);
  const begun = await readAttempts(story);
  const answered = new Set(outcomes.map(({ requestId }) => requestId));
  const held = requests
    .filter(({ id, modelKey }) => partitionsLost.includes(partitionOf(modelKey)) && begun.has(id))
    .map(({ id }) => id)
    .filter((id) => !answered.has(id));
  assert.ok(held.length > 0, `${trainer.name} was killed during its work`);
  return held;
}

function kindsOf(watch: EventWatch, modelKey: string): string[] {
  return watch.of(modelKey).map(({ kind }) => kind);
}
