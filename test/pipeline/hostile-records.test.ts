// The table of hostile records on the embedded log: each becomes one dead letter with its reason, and the good record
// after it is forecast. test/integrity sends the same table to a real broker.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  assertDeadLetters,
  deadLetterBytes,
  hostileLimits,
  hostileStory,
  stepMs,
  teach,
} from "../integrity/support/hostile-story.ts";
import { startRegistryStub } from "../unit/log/codec/registry-stub.ts";
import { Fleet } from "./support/fleet.ts";
import { until } from "./support/turns.ts";

const topicOf = { avro: "plain", json: "text", confluent: "framed" };

test("each hostile record becomes one dead letter with its reason, and the good one after it is forecast", async (t) => {
  const registry = await startRegistryStub(t);
  teach(registry);
  const inputs = Object.entries(topicOf).map(([format, topic]) => ({ topic, format }));
  const settings = {
    "topics.inputs": inputs,
    "registry.url": registry.url,
    "series.interval": "PT1M",
    "limits.series": hostileLimits.series,
  };
  const fleet = Fleet.emptyFor(t, { settings, inputs: [] });
  const spec = { partitions: 1, compacted: false };
  const roomy = { "max.message.bytes": String(16 * 2 ** 20) };
  await fleet.log.createTopics(inputs.map(({ topic }) => ({ ...spec, topic, settings: roomy })));
  await fleet.log.createTopics([
    {
      ...spec,
      topic: "forecastnet.dead-letters",
      settings: { "max.message.bytes": String(deadLetterBytes) },
    },
  ]);
  fleet.start();
  const story = hostileStory(topicOf);
  for (const records of [story.first, story.rest]) {
    await fleet.log.append(records);
    await until(() => fleet.isSettled, "all to be settled", 60_000);
  }

  assertDeadLetters(await fleet.read("forecastnet.dead-letters"), story);
  const made = (await fleet.forecasts()).map(({ seriesId, origin }) => `${seriesId} ${origin}`);
  // The first point of a series gets no forecast.
  const owed = story.good.filter(({ timeMs }) => timeMs > story.good[0].timeMs);
  assert.deepEqual(made.sort(), owed.map(({ seriesId, timeMs }) => `${seriesId} ${timeMs}`).sort());
  assert.ok(fleet.worker.status().isReady);
  assert.equal(stepMs, 60_000);
});

test("unusual but valid records are read like any other", async (t) => {
  const fleet = Fleet.openFor(t, { settings: { "series.interval": "PT1M" } });
  const manyHeaders = Array.from({ length: 10_000 }, (_, n) => ({ key: `h${n % 7}`, value: null }));
  const body = (step: number) => `"time":${Date.UTC(2024, 0, 1, 0, step)},"value":${step}}`;
  const seriesId = '"Pumpe #1 / Süd 🚀"';
  const unusual = [
    { key: null, text: `{"seriesId":${seriesId},` },
    { key: Buffer.from("another text"), text: `{"seriesId":${seriesId},` },
    { key: Buffer.from([0xff, 0xfe]), text: `{"seriesId":${seriesId},` },
    { key: null, text: `{"__proto__":{"seriesId":"b"},"constructor":1,"seriesId":${seriesId},` },
    { key: null, text: `{"seriesId":"b","seriesId":${seriesId},"value":"twice",` },
    { key: null, text: `{"seriesId":${seriesId},`, headers: manyHeaders },
  ];
  await fleet.log.append(
    unusual.map(({ key, text, headers = [] }, step) => ({
      ...{ topic: "sensors", partition: 0, key, headers },
      value: Buffer.from(`${text}${body(step)}`),
    })),
  );
  await fleet.play("settle");
  assert.deepEqual(await fleet.read("forecastnet.dead-letters"), []);
  const made = await fleet.forecasts();
  assert.deepEqual([...new Set(made.map((forecast) => forecast.seriesId))], [JSON.parse(seriesId)]);
  assert.equal(made.length, unusual.length - 1, "all but the first, which has no past");
});
