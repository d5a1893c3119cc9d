// Requests that no trainer can complete, and answers that no worker can use, are among good ones. Each bad request
// becomes a dead letter with its reason, the requests behind it are processed, and the serving models continue to
// serve.

import assert from "node:assert/strict";
import type { DeadLetterReason } from "../../src/domain.ts";
import { avroCodec } from "../../src/log/codec/avro.ts";
import { outcomeKey } from "../../src/log/codec/model-keys.ts";
import type { ModelRecord, TrainingRequestRecord } from "../../src/log/codec/schemas.generated.ts";
import { fromDeadLetterHeaders } from "../../src/log/dead-letter.ts";
import { encodeRequest } from "../../src/training/request-codec.ts";
import { trainingTask } from "../rig/training-task.ts";
import type { WorkerProcess } from "../rig/worker-process.ts";
import { partitionOf } from "./support/load.ts";
import { countForecasts } from "./support/model-accounts.ts";
import { EventWatch, history, learning, readModelTopics, readTopic } from "./support/model-story.ts";
import { noisy, Sensors, wave } from "./support/sensors.ts";
import { type Story, tellStory } from "./support/story.ts";
import { until } from "./support/until.ts";

const seriesId = "series-0";
const partition = partitionOf(seriesId);

const requestCodec = avroCodec("TrainingRequest");
const outcomeCodec = avroCodec("TrainingOutcome");
const modelCodec = avroCodec("ModelRecord");

interface Poison {
  readonly name: string;
  readonly reason: DeadLetterReason;
  readonly detail: RegExp;
  readonly value: Buffer | null;
}

tellStory(
  "a request that no trainer can complete becomes a dead letter, and the next requests are processed",
  async (story) => {
    const sensors = new Sensors(story.log, story.input, { [seriesId]: noisy(wave(3, 8), 0.4, 1) });
    const worker = await story.startReadyWorker();
    const watch = EventWatch.over(story);
    const poison = makePoison();
    // In front of a good request, and once more when a model serves.
    await writePoison(story, poison);
    await sensors.send(history);
    await until("the request to be written", () => watch.count("REQUESTED") === 1);
    const trainer = await story.startReadyWorker("trainer");
    await until("the model to be promoted", () => watch.count("PROMOTED") === 1);
    await writePoison(story, poison);
    await until("all dead letters to be counted", async () => {
      const counted = await trainer.metric("forecastnet_dead_letters_total");
      return counted === 2 * poison.length;
    });
    for (const reason of new Set(poison.map((one) => one.reason))) {
      const expected = 2 * poison.filter((one) => one.reason === reason).length;
      const counted = await trainer.metric("forecastnet_dead_letters_total", `reason="${reason}"`);
      assert.equal(counted, expected, reason);
    }
    await scribbleOutcomes(story, worker);
    await sensors.send(10);
    await story.untilAllSettled();
    await until("unusable answers to be deleted", async () => {
      return (await readModelTopics(story)).waiting.length === 0;
    });
    await watch.stop();
    await story.endWorkers();

    await assertDeadLetters(story, [...poison, ...poison]);
    const topics = await readModelTopics(story);
    assert.deepEqual(
      topics.events.map(({ kind }) => kind),
      ["REQUESTED", "PROMOTED"],
      "answers without a request cause no decision",
    );
    const forecasts = (await countForecasts(story, sensors, topics)).get(seriesId);
    assert.equal(forecasts?.at(-1)?.modelVersion, topics.models[0].version);
  },
  () => learning({ where: "trainers" }),
);

/** Those that can be read name a series with a model, and a request that it never made. */
function makePoison(): readonly Poison[] {
  const task = trainingTask({ modelKey: seriesId });
  const request = requestCodec.decode(encodeRequest(task));
  const spec = JSON.parse(request.spec);
  const [past] = request.histories;
  const changed = (changes: Partial<TrainingRequestRecord>) =>
    requestCodec.encode({ ...request, ...changes });
  const withSpec = (changes: object) => changed({ spec: JSON.stringify({ ...spec, ...changes }) });
  const bad = "bad-request";
  return [
    { name: "text", reason: "undecodable", detail: /./, value: Buffer.from("train this") },
    { name: "nothing", reason: "undecodable", detail: /no value/, value: null },
    { name: "cut short", reason: "undecodable", detail: /./, value: encodeRequest(task).subarray(0, 100) },
    { name: "form", reason: bad, detail: /form: "FN9"/, value: withSpec({ form: "FN9" }) },
    { name: "field", reason: bad, detail: /"layers" is not a field/, value: withSpec({ layers: 3 }) },
    { name: "no spec", reason: bad, detail: /give a JSON object/, value: changed({ spec: "?" }) },
    {
      ...{ name: "short history", reason: bad, detail: /has 5 steps/ },
      value: changed({ histories: [{ ...past, values: past.values.subarray(0, 40), filled: null }] }),
    },
    { name: "no history", reason: bad, detail: /histories: none/, value: changed({ histories: [] }) },
  ];
}

async function writePoison(story: Story, poison: readonly Poison[]): Promise<void> {
  const { training: topic } = story.config.topics;
  await story.log.append(
    poison.map(({ name, value }) => ({ topic, partition, key: Buffer.from(name), value })),
  );
}

/** Text, and a damaged copy of the model that serves, where a trainer would lay its answer. */
async function scribbleOutcomes(story: Story, worker: WorkerProcess): Promise<void> {
  const { models: topic } = story.config.topics;
  const [model] = (await readModelTopics(story)).models;
  const weights = Buffer.from(model.weights);
  weights[weights.length >> 1] ^= 0xff;
  const damaged: ModelRecord = { ...model, weights };
  const outcome = { requestId: "nobody's", modelKey: seriesId, reason: null, endedAt: 0, cpuSeconds: null };
  const values = [
    Buffer.from("a model"),
    outcomeCodec.encode({ ...outcome, challengers: [modelCodec.encode(damaged)] }),
  ];
  const key = Buffer.from(outcomeKey(seriesId));
  await story.log.append(values.map((value) => ({ topic, partition, key, value })));
  await until("both to be counted", async () => {
    return (await worker.metric("forecastnet_model_messages_refused_total")) === values.length;
  });
}

async function assertDeadLetters(story: Story, poison: readonly Poison[]): Promise<void> {
  const { deadLetters, training } = story.config.topics;
  const letters = await readTopic(story.log, deadLetters);
  const names = letters.map(({ key }) => String(key));
  assert.deepEqual(
    names.toSorted(),
    poison.map(({ name }) => name).sort(),
    "each is exactly one dead letter",
  );
  for (const { key, value, headers } of letters) {
    const sent = poison.find(({ name }) => name === String(key)) as Poison;
    const facts = fromDeadLetterHeaders(headers);
    assert.deepEqual([value, facts?.topic, facts?.partition], [sent.value, training, partition], sent.name);
    assert.equal(facts?.reason, sent.reason, sent.name);
    assert.match(facts?.detail ?? "", sent.detail, sent.name);
  }
}
