// Producers choose their compression, and each batch names its codec. The worker reads every codec, and other clients
// read every codec that it writes. A batch that is too large when decompressed is one dead letter; the next one is
// forecast.

import assert from "node:assert/strict";
import type { Observation } from "../../src/domain.ts";
import { decodeForecast } from "../../src/log/codec/forecast-codec.ts";
import { fromDeadLetterHeaders } from "../../src/log/dead-letter.ts";
import { LibrdkafkaProgram, needsLibrdkafka } from "../rig/librdkafka.ts";
import { writeWithLibrdkafka } from "../rig/librdkafka-records.ts";
import { Administrator } from "./support/administrator.ts";
import { expectFrom } from "./support/expectation.ts";
import { assertForecasts, readAll } from "./support/far-end.ts";
import { knownObservation, partitions, toRecord } from "./support/load.ts";
import { seededRandom } from "./support/seeded-random.ts";
import { type Story, tellStory } from "./support/story.ts";
import { untilCounted } from "./support/until.ts";

const librdkafka = await needsLibrdkafka();
const codecs = ["none", "gzip", "snappy", "lz4", "zstd"] as const;
const stepsPerBatch = 4;

/** Two series of partition 0, which is the one that librdkafka writes to here. */
class Sensors {
  readonly sent: Observation[] = [];
  readonly #story: Story;
  #step = 0;

  constructor(story: Story) {
    this.#story = story;
  }

  /** One batch of the next steps. */
  async write(codec: string): Promise<void> {
    const batch: Observation[] = [];
    for (let left = stepsPerBatch; left > 0; left--, this.#step++)
      batch.push(knownObservation(0, this.#step), knownObservation(partitions, this.#step));
    const { input: topic } = this.#story;
    const records = batch.map((observation) => ({ ...toRecord(topic, observation), headers: [] }));
    await writeWithLibrdkafka(placeOf(this.#story), codec, records);
    this.sent.push(...batch);
  }
}

function placeOf({ config, input: topic }: Story) {
  return { bootstrap: config.kafka.brokers.join(), topic };
}

/** All forecasts, as another client reads them. */
async function forecastsByLibrdkafka({ config }: Story): Promise<readonly Buffer[]> {
  const { brokers } = config.kafka;
  const values: Buffer[] = [];
  const task = {
    ...{ brokers: brokers.join(), topic: config.topics.forecasts, partitions },
    transactionSeconds: 20,
  };
  const subscriber = await LibrdkafkaProgram.start("subscriber", task, (line) => {
    const { value } = line as { readonly value?: string };
    if (value !== undefined) values.push(Buffer.from(value, "base64"));
  });
  await subscriber.finish();
  return values;
}

tellStory(
  "input in every compression format is forecast once, and other clients read forecasts in every compression format",
  async (story) => {
    const administrator = await Administrator.of(story);
    const sensors = new Sensors(story);
    for (const [turn, codec] of codecs.entries()) {
      // Each worker meets every codec, some of it written before it starts.
      const inTurn = [...codecs.slice(turn), ...codecs.slice(0, turn)];
      for (const written of inTurn.slice(0, 2)) await sensors.write(written);
      await story.startWorker("worker", [`--kafka.compression=${codec}`]);
      for (const written of inTurn.slice(2)) await sensors.write(written);
      await story.untilAllSettled();
      await story.endWorkers();
    }
    assert.deepEqual([...(await administrator.compressionsOf(story.input, 0))].sort(), [...codecs].sort());
    const { forecasts } = story.config.topics;
    const used = new Set<string>();
    for (let partition = 0; partition < partitions; partition++)
      for (const codec of await administrator.compressionsOf(forecasts, partition)) used.add(codec);
    assert.deepEqual([...used].sort(), [...codecs].sort());

    const expected = await expectFrom(sensors.sent, story.config);
    const read = await forecastsByLibrdkafka(story);
    const byId = new Map(read.map((value) => [decodeForecast(value).id, value]));
    assert.equal(read.length, byId.size, "each forecast appears once");
    assert.deepEqual([...byId.keys()].sort(), [...expected.forecastById.keys()].sort());
    for (const [id, value] of expected.forecastById)
      assert.ok(byId.get(id)?.equals(value), `${id} is equal byte for byte`);
  },
  () => ({}),
  librdkafka,
);

tellStory(
  "a batch larger than limits.batchBytes becomes one dead letter, and the next batch is forecast",
  async (story) => {
    const { deadLetters, forecasts } = story.config.topics;
    const settings = { "max.message.bytes": "1048588" };
    await story.log.createTopics([{ topic: deadLetters, partitions, compacted: false, settings }]);
    const sensors = new Sensors(story);
    const random = seededRandom(7);
    // Text of 64 letters: smaller when compressed, and still too large for a dead letter as a whole.
    const wide = Array.from({ length: 2 }, () => ({
      ...{ key: Buffer.from("series-0"), headers: [] },
      value: Buffer.from(Array.from({ length: 900_000 }, () => 33 + Math.floor(64 * random()))),
    }));
    await sensors.write("zstd");
    await writeWithLibrdkafka(placeOf(story), "zstd", wide);
    await sensors.write("zstd");
    const worker = await story.startReadyWorker();
    await story.untilAllSettled();
    await untilCounted(worker, "forecastnet_dead_letters_total", 1, 'reason="unreadable-batch"');
    await story.endWorkers();

    const letters = await readAll(story.log, deadLetters);
    assert.equal(letters.length, 1);
    const { reason, detail, truncated } = fromDeadLetterHeaders(letters[0].headers) ?? {};
    assert.equal(reason, "unreadable-batch");
    assert.match(detail ?? "", /record batch at offset 8 cannot be read: .*1048576/);
    assert.match(truncated ?? "", /value/);
    assertForecasts(await readAll(story.log, forecasts), await expectFrom(sensors.sent, story.config));
  },
  () => ({ config: () => ({ limits: { batchBytes: 1024 * 1024 } }) }),
  librdkafka,
);
