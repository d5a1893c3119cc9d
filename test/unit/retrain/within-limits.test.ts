import assert from "node:assert/strict";
import { test } from "node:test";
import { avroCodec } from "../../../src/log/codec/avro.ts";
import { encodeRequest } from "../../../src/retrain/requests/request-codec.ts";
import { trainingTask } from "../../rig/training-task.ts";
import { DeskFixture, decisionOf, eventsIn, recordOf, writtenIn } from "./desk-fixture.ts";

const codec = avroCodec("ModelRecord");
const wrapping = 2_048;

test("a model too large with its predecessor is written without it", () => {
  const record = { ...recordOf("a", "v2"), previousVersion: "v1", previous: Buffer.alloc(5_000) };
  const modelBytes = codec.encode(record).length + wrapping - 1;
  const { desk, shelf } = new DeskFixture({ limits: { modelBytes } });
  desk.decide(decisionOf("promoted", { record }));
  const written = desk.enact().find(({ topic }) => topic === "models");
  const stored = codec.decode(written?.value as Buffer);
  assert.deepEqual([stored.version, stored.previousVersion, stored.previous], ["v2", "v1", null]);
  assert.equal(shelf.get("a")?.facts.version, "v2");
});

test("a model too large by itself is refused, and what served goes on", () => {
  const fixture = new DeskFixture({ limits: { modelBytes: 3_000 } });
  fixture.serve("a", "v1");
  fixture.desk.decide(decisionOf("promoted", { fromVersion: "v1" }));
  const records = fixture.desk.enact();
  const [event] = eventsIn(records);
  assert.equal(event.kind, "REFUSED");
  assert.match(event.reason, /^the model has \d+ bytes and its topic takes 3000: raise max\.message\.bytes/);
  assert.deepEqual(writtenIn(records), []);
  assert.equal(fixture.shelf.get("a")?.facts.version, "v1");
});

test("a request too large for its topic is refused; one that just fits is written", () => {
  const task = trainingTask();
  const { length } = encodeRequest(task);
  const kindsWith = (trainingBytes: number) => {
    const { desk } = new DeskFixture({ limits: { trainingBytes } });
    desk.decide(decisionOf("requested", { requestId: task.id, task }));
    const records = desk.enact();
    return [...eventsIn(records).map(({ kind }) => kind), ...records.map(({ topic }) => topic)];
  };
  assert.deepEqual(kindsWith(length + wrapping), ["REQUESTED", "training", "events"]);
  assert.deepEqual(kindsWith(length + wrapping - 1), ["REFUSED", "events"]);
});
