// Five hundred records that are no observations lie among good ones, in an Avro topic and in a JSON topic. Each
// ends up among the dead letters once, untouched and with its reason; every good one is forecast as if the
// others were not there.

import assert from "node:assert/strict";
import type { Observation, Outgoing } from "../../src/domain.ts";
import { fromDeadLetterHeaders } from "../../src/log/codec/dead-letter.ts";
import { expectFrom, observedSlots } from "./support/expectation.ts";
import { assertForecasts, type Received, readAll } from "./support/far-end.ts";
import { firstTimeMs, partitionOf, stepMs, toRecord } from "./support/load.ts";
import { makePoison, type Poison } from "./support/poison.ts";
import { tellStory } from "./support/story.ts";

const steps = 50;
const poisonCount = 500;
const maxRecordBytes = 65_536;

tellStory(
  "every malformed record becomes a dead letter with its reason, and nothing else is lost",
  async (story) => {
    const [avro, json] = story.config.topics.inputs.map(({ topic }) => topic) as [string, string];
    const knownSeries = { avro: "plain-0", json: "json-0" };
    const poison = makePoison(poisonCount, { avro, json, knownSeries, maxRecordBytes });
    const good: Observation[] = [];
    const worker = await story.startReadyWorker();
    for (let step = 0; step < steps; step++) {
      const plain = observationsAt("plain", step);
      const text = observationsAt("json", step);
      good.push(...plain, ...text);
      const records = [
        ...plain.map((observation) => toRecord(avro, observation)),
        ...text.map((observation) => toJsonRecord(json, observation)),
      ];
      const share = poison.slice((step * poisonCount) / steps, ((step + 1) * poisonCount) / steps);
      await story.log.append(interleave(records, share));
    }
    await story.untilAllSettled();
    assert.ok(await worker.isReady(), "the worker lives on, ready");
    await story.endWorkers();

    assertDeadLetters(await readAll(story.log, story.config.topics.deadLetters), poison);
    const expected = await expectFrom(good, story.config);
    assertForecasts(await readAll(story.log, story.config.topics.forecasts), expected);
    assert.deepEqual(observedSlots(await story.restoredStore()), observedSlots(expected.store));
  },
  () => ({
    config: (name) => ({
      topics: {
        inputs: [{ topic: `${name}-sensors` }, { topic: `${name}-json`, format: "json" }],
        ...{ forecasts: `${name}-forecasts`, state: `${name}-state`, models: `${name}-models` },
        deadLetters: `${name}-dead-letters`,
      },
      limits: { recordBytes: maxRecordBytes },
    }),
  }),
);

function observationsAt(prefix: string, step: number): Observation[] {
  return Array.from({ length: 8 }, (_, index) => ({
    seriesId: `${prefix}-${index}`,
    timeMs: firstTimeMs + step * stepMs,
    values: [index + Math.sin(step)],
  }));
}

function toJsonRecord(topic: string, { seriesId, timeMs, values }: Observation): Outgoing {
  const value = Buffer.from(JSON.stringify({ seriesId, time: timeMs, value: values[0] }));
  return { topic, partition: partitionOf(seriesId), key: Buffer.from(seriesId), value };
}

/** Good records first, so that a series is known before a malformed record names it. */
function interleave(good: readonly Outgoing[], poison: readonly Poison[]): Outgoing[] {
  return good.flatMap((record, index) => {
    const { headers, topic, partition, key, value } = poison[index] ?? {};
    return topic === undefined ? [record] : [record, { topic, partition, key, value, headers } as Outgoing];
  });
}

function assertDeadLetters(letters: readonly Received[], poison: readonly Poison[]): void {
  const unanswered = new Map(poison.map((record) => [record.headers.poison, record]));
  for (const { key, value, headers } of letters) {
    const name = headers.poison?.toString() ?? "(no header)";
    const original = unanswered.get(name);
    assert.ok(original !== undefined, `dead letter ${name} is one of those sent, for the first time`);
    unanswered.delete(name);
    assert.deepEqual({ key, value }, { key: original.key, value: original.value }, `dead letter ${name}`);
    assert.deepEqual(headers.note, original.headers.note);
    const facts = fromDeadLetterHeaders(headers);
    assert.deepEqual([facts?.topic, facts?.partition], [original.topic, original.partition]);
    if (original.reason !== null) assert.equal(facts?.reason, original.reason, `${name}: ${facts?.detail}`);
  }
  assert.deepEqual([...unanswered.keys()], [], "every malformed record is among the dead letters");
}
