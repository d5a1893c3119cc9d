// The worker is killed just before, during and just after committing a promotion. Its successor serves the same model,
// and the promotion has one event.

import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { WorkerProcess } from "../rig/worker-process.ts";
import { partitions } from "./support/load.ts";
import { assertAnsweredOnce, assertOneModelEach, countForecasts } from "./support/model-accounts.ts";
import { EventWatch, history, learning, readModelTopics } from "./support/model-story.ts";
import { noisy, Sensors, wave } from "./support/sensors.ts";
import { tellStory } from "./support/story.ts";
import { until } from "./support/until.ts";

tellStory(
  "a worker killed during a promotion leaves one model and one event",
  async (story) => {
    // One series a partition: their promotions are transactions of their own.
    const sensors = new Sensors(story.log, story.input, laws());
    const first = await story.startReadyWorker();
    const watch = EventWatch.over(story);
    await sensors.send(history);
    await until("all requests to be written", () => watch.count("REQUESTED") === partitions);
    await story.startReadyWorker("trainer");

    const killed = [first];
    await killAt(first, () => promotionsBy(first).length > 0);
    killed.push(await story.startWorker());
    await killAt(killed[1], () => promotionsBy(killed[1]).length > 0);
    killed.push(await story.startWorker());
    await killAt(killed[2], () => watch.count("PROMOTED") > 0);

    const last = await story.startReadyWorker();
    await until("all models to be promoted", () => watch.count("PROMOTED") >= partitions);
    await sensors.send(10);
    await story.untilAllSettled();
    await watch.stop();
    await story.endWorkers();

    const topics = await readModelTopics(story);
    assertAnsweredOnce(topics);
    assertOneModelEach(topics);
    for (const [seriesId, forecasts] of await countForecasts(story, sensors, topics))
      assert.equal(forecasts.at(-1)?.tier, "MODEL", `${seriesId} is forecast by its model`);
    const decided = [...killed, last].flatMap(promotionsBy);
    assert.ok(decided.length > new Set(decided).size, "a promotion was decided and not committed");
    assert.equal(new Set(decided).size, partitions, "the promotion was decided the same way again");
  },
  () => learning({ where: "trainers" }),
);

function laws() {
  return Object.fromEntries(
    Array.from({ length: partitions }, (_, index) => [
      `series-${index}`,
      noisy(wave(3 + index, 7 + index), 0.4, index + 1),
    ]),
  );
}

/** Logged when it is decided, a few milliseconds before it is committed. */
function promotionsBy(worker: WorkerProcess): string[] {
  return worker.linesOf("model promoted").map(({ modelKey, toVersion }) => `${modelKey}@${toVersion}`);
}

/** Looks without a pause: what is to be met takes a few milliseconds. */
async function killAt(worker: WorkerProcess, isSo: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + 60_000;
  while (!isSo()) {
    assert.ok(performance.now() < deadlineMs && worker.isAlive, `${worker.name} promotes a model`);
    await nextTurn();
  }
  await worker.end("SIGKILL");
}
