// Every hostile record of the table is sent among good ones, to three topics of three formats. Each becomes one dead
// letter with its reason, unchanged or marked as truncated. Every good record is forecast as if the hostile ones did
// not exist.

import assert from "node:assert/strict";
import { after, before } from "node:test";
import { type RegistryStub, startRegistryStub } from "../unit/log/codec/registry-stub.ts";
import { expectFrom, observedSlots } from "./support/expectation.ts";
import { assertForecasts, readAll } from "./support/far-end.ts";
import {
  assertDeadLetters,
  deadLetterBytes,
  hostileLimits,
  hostileStory,
  teach,
} from "./support/hostile-story.ts";
import { partitions } from "./support/load.ts";
import { tellStory } from "./support/story.ts";

let registry: RegistryStub;
let closeRegistry = () => {};
before(async () => {
  registry = await startRegistryStub({
    after: (end) => {
      closeRegistry = end;
    },
  });
  teach(registry);
});
after(() => closeRegistry());

tellStory(
  "every hostile record becomes a dead letter with its reason, and nothing else is lost",
  async (story) => {
    const { topics } = story.config;
    const [avro, json, confluent] = topics.inputs.map(({ topic }) => topic) as [string, string, string];
    const settings = { "max.message.bytes": String(deadLetterBytes) };
    await story.log.createTopics([{ topic: topics.deadLetters, partitions, compacted: false, settings }]);
    const hostile = hostileStory({ avro, json, confluent });
    const worker = await story.startReadyWorker();
    await story.log.append(hostile.first);
    await story.untilAllSettled();
    await story.log.append(hostile.rest);
    await story.untilAllSettled();
    assert.ok(await worker.isReady(), "the worker stays alive and ready");
    await story.endWorkers();

    assertDeadLetters(await readAll(story.log, topics.deadLetters), hostile);
    const expected = await expectFrom(hostile.good, story.config);
    assertForecasts(await readAll(story.log, topics.forecasts), expected);
    assert.deepEqual(observedSlots(await story.restoredStore()), observedSlots(expected.store));
  },
  () => ({
    config: (name) => ({
      topics: {
        inputs: [
          { topic: `${name}-sensors` },
          { topic: `${name}-json`, format: "json" },
          { topic: `${name}-confluent`, format: "confluent" },
        ],
        ...{ forecasts: `${name}-forecasts`, state: `${name}-state`, models: `${name}-models` },
        deadLetters: `${name}-dead-letters`,
      },
      registry: { url: registry.url },
      limits: hostileLimits,
    }),
  }),
);
