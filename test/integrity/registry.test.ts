// Observations are framed with schema ids of a real registry, and their schema evolves. Forecasts are framed in the
// same way. While the registry is down the worker waits and reports it; afterwards it continues.

import assert from "node:assert/strict";
import { after, before } from "node:test";
import type { Outgoing } from "../../src/domain.ts";
import { singleObjectHeader, singleObjectHeaderBytes } from "../../src/log/codec/avro.ts";
import type { AvroDefinition } from "../../src/log/codec/avro-schema.ts";
import { singleSchema } from "../../src/log/codec/forecast-codec.ts";
import {
  confluentHeaderBytes,
  defaultRegistrySettings,
  SchemaRegistry,
} from "../../src/log/codec/registry.ts";
import { schemaVersions } from "../../src/log/codec/schemas.generated.ts";
import { fromDeadLetterHeaders } from "../../src/log/dead-letter.ts";
import { type Registry, startRegistry } from "../rig/registry.ts";
import { freePorts } from "../rig/service.ts";
import type { WorkerProcess } from "../rig/worker-process.ts";
import { Door } from "./support/door.ts";
import { expectFrom } from "./support/expectation.ts";
import { assertForecasts, readAll } from "./support/far-end.ts";
import { knownObservation, toRecord } from "./support/load.ts";
import { type Story, tellStory } from "./support/story.ts";
import { until } from "./support/until.ts";

const observationSchema = schemaVersions.Observation.at(-1) as AvroDefinition;
const series = 8;
const stepsPerVersion = 30;

let registry: Registry;
let door: Door;
before(async () => {
  registry = await startRegistry();
  const [port] = await freePorts(1);
  door = new Door(registry.url, port as number);
});
after(async () => {
  await door.close();
  await registry.stop();
});

tellStory(
  "a worker reads observations of evolving schemas and waits for a registry that is down",
  async (story) => {
    const schemas = new SchemaRegistry({ ...defaultRegistrySettings, url: registry.url });
    const subject = `${story.input}-value`;
    const firstId = await schemas.register(subject, observationSchema);
    const worker = await story.startWorker();
    await untilRegistryMissed(worker);
    await door.open();
    await send(story, 0, firstId);
    await story.untilAllSettled();

    // The new field comes last and may be null: in bytes, one more zero after the fields known before.
    const evolved = { ...observationSchema, fields: [...(observationSchema.fields ?? []), unitField] };
    const secondId = await schemas.register(subject, evolved);
    assert.notEqual(secondId, firstId);
    await door.close();
    await send(story, 1, secondId, Buffer.from([0]));
    await untilRegistryMissed(worker);
    await door.open();
    await story.untilAllSettled();
    await until("the worker to be ready again", () => worker.isReady());

    await story.log.append([framed(toRecord(story.input, knownObservation(0, 0)), 1_000_000)]);
    await story.untilAllSettled();
    await story.endWorkers();
    await assertAllForecast(story, schemas);
    const letters = await readAll(story.log, story.config.topics.deadLetters);
    const reasons = letters.map(({ headers }) => fromDeadLetterHeaders(headers)?.reason);
    assert.deepEqual(reasons, ["unknown-schema"], "a record with an unregistered schema id is a dead letter");
  },
  () => ({
    config: (name) => ({
      registry: { url: door.url },
      output: { format: "confluent" },
      topics: {
        inputs: [{ topic: `${name}-sensors`, format: "confluent" }],
        ...{ forecasts: `${name}-forecasts`, state: `${name}-state`, models: `${name}-models` },
        deadLetters: `${name}-dead-letters`,
      },
    }),
  }),
);

const unitField = { name: "unit", type: ["null", "string"], default: null, doc: "Unit of the value." };

function observationsOf(version: number) {
  return Array.from({ length: stepsPerVersion * series }, (_, n) =>
    knownObservation(n % series, version * stepsPerVersion + Math.floor(n / series)),
  );
}

async function send(story: Story, version: number, schemaId: number, rest = Buffer.alloc(0)): Promise<void> {
  const records = observationsOf(version).map((observation) => toRecord(story.input, observation));
  await story.log.append(records.map((record) => framed(record, schemaId, rest)));
}

/** Replaces the header of a single object by a schema id. */
function framed(record: Outgoing, schemaId: number, rest = Buffer.alloc(0)): Outgoing {
  const header = Buffer.alloc(confluentHeaderBytes);
  header.writeInt32BE(schemaId, 1);
  const body = record.value?.subarray(singleObjectHeaderBytes) ?? Buffer.alloc(0);
  return { ...record, value: Buffer.concat([header, body, rest]) };
}

async function untilRegistryMissed(worker: WorkerProcess): Promise<void> {
  await until("the worker to report that the registry is down", async () => {
    const page = await worker.page("/readyz");
    return page?.status === 503 && /registry/.test(page.body);
  });
  assert.equal((await worker.page("/healthz"))?.status, 200, "the worker stays alive without the registry");
}

/** Reads each forecast by the schema whose id it carries, as a subscriber would. */
async function assertAllForecast(story: Story, schemas: SchemaRegistry): Promise<void> {
  const received = await readAll(story.log, story.config.topics.forecasts);
  const ids = new Set(received.map(({ value }) => value?.readInt32BE(1) ?? -1));
  assert.equal(ids.size, 1, "all forecasts have one schema");
  await schemas.load(ids);
  for (const id of ids) assert.deepEqual(schemas.get(id).schema, singleSchema);
  const asSingleObjects = received.map((record) => ({
    ...record,
    value: Buffer.concat([
      singleObjectHeader(singleSchema),
      record.value?.subarray(confluentHeaderBytes) ?? Buffer.alloc(0),
    ]),
  }));
  const sent = [...observationsOf(0), ...observationsOf(1)];
  assertForecasts(asSingleObjects, await expectFrom(sent, story.config));
}
