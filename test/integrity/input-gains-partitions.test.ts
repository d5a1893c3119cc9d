// An input topic gains partitions while workers run. They notice, add partitions to their own topics and serve the new
// partitions, in the same processes. Records in the old partitions are forecast once, before, during and after the
// change.

import assert from "node:assert/strict";
import { avroCodec } from "../../src/log/codec/avro.ts";
import { expectFrom } from "./support/expectation.ts";
import { assertForecasts, readAll } from "./support/far-end.ts";
import { firstTimeMs, partitions, stepMs } from "./support/load.ts";
import { type Story, tellStory } from "./support/story.ts";
import { until } from "./support/until.ts";

const observationCodec = avroCodec("Observation");
const steps = 10;
const wider = partitions + 2;

/** Sends a series of its own to each of the partitions that are new. Returns what was sent. */
async function sendToNewPartitions(story: Story) {
  const sent = [];
  for (let partition = partitions; partition < wider; partition++) {
    const seriesId = `new-${partition}`;
    for (let step = 0; step < steps; step++) {
      const observation = { seriesId, time: firstTimeMs + step * stepMs, value: step, tags: {} };
      const value = observationCodec.encode(observation);
      await story.log.append([{ topic: story.input, partition, key: Buffer.from(seriesId), value }]);
      sent.push({ seriesId, timeMs: observation.time, values: [step] });
    }
  }
  return sent;
}

async function ownWidths(story: Story): Promise<readonly number[]> {
  const { state, models, training, attempts } = story.config.topics;
  const facts = await story.log.describeTopics([state, models, training, attempts]);
  return facts.map((topic) => topic.partitions);
}

tellStory(
  "workers serve new partitions of their input without a restart, and lose and duplicate nothing",
  async (story) => {
    const load = story.startLoad();
    const workers = [await story.startReadyWorker(), await story.startReadyWorker()];
    await story.untilSettled(200);

    await story.log.addPartitions(story.input, wider);
    const sent = await sendToNewPartitions(story);
    await story.untilSettled(400);
    await load.stop();
    await story.untilAllSettled();
    assert.deepEqual(await ownWidths(story), [wider, wider, wider, wider]);
    for (const worker of workers) {
      assert.ok(worker.isAlive, `${worker.name} lives`);
      await until(`${worker.name} to be ready`, () => worker.isReady());
      const lines = worker.linesOf("input topics have changed, reopening the pipeline");
      assert.equal(lines.length, 1, `${worker.name} reopened its pipeline once`);
    }
    await story.endWorkers();

    const expected = await expectFrom([...load.sent, ...sent], story.config);
    assertForecasts(await readAll(story.log, story.config.topics.forecasts), expected);
  },
  () => ({ config: () => ({ kafka: { topicCheckMs: 1_000 } }) }),
);

tellStory(
  "a worker that may not add partitions to its topics serves the old ones, reports what to do, and then serves the new ones",
  async (story) => {
    const load = story.startLoad();
    const first = await story.startReadyWorker("worker");
    await story.untilSettled(100);
    await first.end("SIGTERM");
    const worker = await story.startWorker("worker", ["--kafka.createTopics=false"]);
    await until("the worker to be ready", () => worker.isReady());

    await story.log.addPartitions(story.input, wider);
    await sendToNewPartitions(story);
    await until("the worker to report the reason", async () => {
      const page = await worker.page("/readyz");
      return (
        page?.status === 503 && /state has 4 partitions and must have 6.*kafka-topics --alter/.test(page.body)
      );
    });
    await story.untilSettled(200);
    assert.ok(worker.isAlive, "the worker stays alive and serves the old partitions");
    assert.deepEqual(await ownWidths(story), [partitions, partitions, partitions, partitions]);

    const { code, out, err } = await story.command("topics", "create");
    assert.equal(code, 0, err);
    assert.match(out, /warning: topics .* with a replication factor below 3/);
    await load.stop();
    await story.untilAllSettled();
    await until("the worker to be ready again", () => worker.isReady());
    await story.endWorkers();
  },
  () => ({ config: () => ({ kafka: { topicCheckMs: 1_000 } }) }),
);
