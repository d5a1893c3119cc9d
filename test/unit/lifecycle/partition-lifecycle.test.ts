import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { DecisionKind } from "../../../src/lifecycle/decision.ts";
import { avroCodec } from "../../../src/log/codec/avro.ts";
import { decodeRequest, encodeRequest } from "../../../src/training/request-codec.ts";
import { trainingTask } from "../../rig/training-task.ts";
import {
  dawnMs,
  decisionOf,
  eventsIn,
  hourMs,
  LifecycleFixture,
  recordOf,
  writtenIn,
} from "./lifecycle-fixture.ts";

const kindsIn = (records: Parameters<typeof eventsIn>[0]) => eventsIn(records).map(({ kind }) => kind);

describe("a decision", () => {
  test("takes effect when it is enacted and not before, once", () => {
    const fixture = new LifecycleFixture();
    const { lifecycle, models } = fixture;
    let called = 0;
    lifecycle.onDecided = () => called++;
    lifecycle.decide(decisionOf("promoted"));
    assert.deepEqual(
      [lifecycle.isWaiting, lifecycle.isDecided("a"), lifecycle.isDecided("b"), called],
      [true, true, false, 1],
    );
    assert.equal(models.get("a"), undefined);
    const records = lifecycle.apply();
    assert.equal(models.get("a")?.facts.version, "v2");
    assert.deepEqual([lifecycle.isWaiting, lifecycle.isDecided("a")], [false, false]);
    assert.deepEqual(writtenIn(records), ["models/0 a v2"]);
    assert.deepEqual(lifecycle.apply(), []);
    assert.equal(fixture.counts.of("decided promoted"), 1);
  });

  test("is told by an event with its numbers, in a partition that the topic has", () => {
    const { lifecycle } = new LifecycleFixture({ partition: 5, partitions: 6, now: { ms: 77 } });
    lifecycle.decide(decisionOf("refused", { numbers: { mase: 0.25 } }));
    const records = lifecycle.apply();
    assert.deepEqual(
      records.map(({ topic, partition, key }) => [topic, partition, String(key)]),
      [["events", 1, "a"]],
    );
    assert.deepEqual(eventsIn(records), [
      {
        ...{ id: "a/refused/cold/77", modelKey: "a", kind: "REFUSED", fromVersion: null, toVersion: null },
        ...{ reason: "because", numbers: { mase: 0.25 }, time: 77 },
      },
    ]);
  });

  test("follows those that were made before it", () => {
    const fixture = new LifecycleFixture();
    fixture.place("a");
    for (const kind of ["requested", "promoted"] as const) fixture.lifecycle.decide(decisionOf(kind));
    fixture.lifecycle.decide(decisionOf("confirmed", { fromVersion: "v2" }));
    fixture.lifecycle.decide(decisionOf("refused", { modelKey: "b" }));
    const records = fixture.lifecycle.apply();
    assert.deepEqual(kindsIn(records), ["REQUESTED", "PROMOTED", "CONFIRMED", "REFUSED"]);
    const { phase, probation, restsUntilMs } = fixture.life("a");
    const restedMs = dawnMs + (50 + 10) * hourMs;
    assert.deepEqual([phase, probation, restsUntilMs], ["champion", null, restedMs]);
  });

  test("about a series without a grid rests by the wall clock", () => {
    const fixture = new LifecycleFixture();
    fixture.lifecycle.decide(decisionOf("failed"));
    fixture.lifecycle.apply();
    assert.equal(fixture.life("a").restsUntilMs, dawnMs);
  });
});

describe("what is written with", () => {
  test("a request is the task for the trainers, and nothing when this worker trains", () => {
    const { lifecycle } = new LifecycleFixture({ partition: 2 });
    lifecycle.decide(decisionOf("requested", { task: trainingTask() }));
    lifecycle.decide(decisionOf("requested", { modelKey: "b", task: null }));
    const records = lifecycle.apply();
    assert.deepEqual(writtenIn(records), ["training/2 a"]);
    const [{ value }] = records.filter(({ topic }) => topic === "training");
    const read = decodeRequest(value);
    assert.deepEqual("task" in read && read.task.id, "request for a");
  });

  test("a promotion or a retirement of a cohort goes to every partition", () => {
    const { lifecycle, models } = new LifecycleFixture({ partition: 1 });
    const modelKey = "cohort:pumps";
    lifecycle.decide(decisionOf("promoted", { modelKey }));
    const written = (text: string) => [0, 1, 2].map((partition) => `models/${partition} ${modelKey} ${text}`);
    assert.deepEqual(writtenIn(lifecycle.apply()), written("v2"));
    lifecycle.decide(decisionOf("retired", { modelKey, fromVersion: "v2" }));
    assert.deepEqual(writtenIn(lifecycle.apply()), written("deleted"));
    assert.equal(models.get(modelKey), undefined);
  });

  test("a rollback is the model that serves again, or its end", () => {
    const fixture = new LifecycleFixture();
    const { lifecycle, models } = fixture;
    fixture.serve("a", "v2");
    lifecycle.decide(decisionOf("rolled-back", { fromVersion: "v2", record: recordOf("a", "v1") }));
    assert.deepEqual(writtenIn(lifecycle.apply()), ["models/0 a v1"]);
    assert.equal(models.get("a")?.facts.version, "v1");
    lifecycle.decide(decisionOf("rolled-back", { fromVersion: "v1" }));
    assert.deepEqual(writtenIn(lifecycle.apply()), ["models/0 a deleted"]);
    assert.equal(models.get("a"), undefined);
    assert.equal(fixture.life("a").phase, "cold");
  });

  test("what it answers is deleted first", () => {
    const { lifecycle } = new LifecycleFixture();
    lifecycle.dismiss("b", "outcome");
    lifecycle.decide(decisionOf("promoted", { answers: ["outcome", "order"] }));
    assert.deepEqual(writtenIn(lifecycle.apply()), [
      "models/0 b\u0000outcome deleted",
      "models/0 a\u0000outcome deleted",
      "models/0 a\u0000order deleted",
      "models/0 a v2",
    ]);
  });
});

describe("a confirmed model", () => {
  test("serves on, and its predecessor is let go", () => {
    const fixture = new LifecycleFixture();
    fixture.serve("a", "v1", { previous: Buffer.from("before"), previousVersion: "v0" });
    fixture.lifecycle.decide(decisionOf("confirmed", { fromVersion: "v1" }));
    assert.deepEqual(writtenIn(fixture.lifecycle.apply()), []);
    const { facts, previous } = fixture.models.get("a") ?? {};
    assert.deepEqual([facts?.version, facts?.previousVersion, previous], ["v1", "v0", null]);
  });
});

describe("a decision that comes too late", () => {
  const ending: readonly DecisionKind[] = ["failed", "refused", "promoted", "rolled-back", "retired"];
  for (const kind of ending) {
    test(`to be ${kind} is refused: another model serves, and goes on`, () => {
      const fixture = new LifecycleFixture();
      fixture.serve("a", "v9");
      fixture.live("a", { phase: "training", requestId: "r1" });
      fixture.lifecycle.decide(decisionOf(kind, { fromVersion: "v1", answers: ["outcome"] }));
      const records = fixture.lifecycle.apply();
      assert.deepEqual(writtenIn(records), ["models/0 a\u0000outcome deleted"]);
      const [{ kind: told, fromVersion, toVersion, reason }] = eventsIn(records);
      const version = kind === "promoted" ? "v2" : null;
      assert.deepEqual([told, fromVersion, toVersion], ["REFUSED", "v9", version]);
      assert.equal(reason, "it comes too late: decided about v1, and v9 serves");
      assert.equal(fixture.models.get("a")?.facts.version, "v9");
      assert.deepEqual([fixture.life("a").phase, fixture.life("a").requestId], ["champion", null]);
    });
  }

  for (const kind of ["drifted", "recovered", "confirmed", "requested"] as const) {
    test(`to be ${kind} is dropped: of the model that serves it says nothing`, () => {
      const fixture = new LifecycleFixture();
      fixture.serve("a", "v9");
      const probation = { predecessorMase: 1, sinceMs: 3 };
      fixture.live("a", { phase: "champion", probation });
      const before = fixture.life("a");
      fixture.lifecycle.decide(decisionOf(kind, { fromVersion: "v1" }));
      assert.deepEqual(fixture.lifecycle.apply(), []);
      assert.deepEqual(fixture.life("a"), before);
      assert.deepEqual(fixture.told, ["warn: decision dropped, it came too late"]);
    });
  }

  test("is also one about a model where none serves any more, and the other way round", () => {
    const fixture = new LifecycleFixture();
    fixture.lifecycle.decide(decisionOf("promoted", { fromVersion: "v1" }));
    fixture.serve("b", "v1");
    fixture.lifecycle.decide(decisionOf("promoted", { modelKey: "b", fromVersion: null }));
    const reasons = eventsIn(fixture.lifecycle.apply()).map(({ reason }) => reason);
    assert.deepEqual(reasons, [
      "it comes too late: decided about v1, and none serves",
      "it comes too late: decided about no model, and v1 serves",
    ]);
  });
});

describe("a model that cannot serve", () => {
  const unfit = recordOf("a", "v2", { weights: Buffer.from("scribble") });

  test("is refused instead of promoted, and the previous one continues", () => {
    const fixture = new LifecycleFixture();
    fixture.serve("a", "v1");
    fixture.live("a", { phase: "training" });
    fixture.lifecycle.decide(decisionOf("promoted", { fromVersion: "v1", record: unfit }));
    const records = fixture.lifecycle.apply();
    const [{ kind, toVersion, reason, numbers }] = eventsIn(records);
    assert.deepEqual([kind, toVersion, numbers], ["REFUSED", "v2", { mase: 0.5 }]);
    assert.match(reason, /^it cannot serve: /);
    assert.deepEqual([writtenIn(records), fixture.models.get("a")?.facts.version], [[], "v1"]);
    assert.deepEqual([fixture.life("a").phase, fixture.life("a").probation], ["champion", null]);
    assert.deepEqual([fixture.counts.of("decided promoted"), fixture.counts.of("decided refused")], [0, 1]);
  });

  test("is not what one goes back to either", () => {
    const fixture = new LifecycleFixture();
    fixture.serve("a", "v3");
    fixture.live("a", { phase: "champion" });
    fixture.lifecycle.decide(decisionOf("rolled-back", { fromVersion: "v3", record: unfit, isByHand: true }));
    const records = fixture.lifecycle.apply();
    assert.deepEqual(kindsIn(records), ["REFUSED"]);
    assert.deepEqual([writtenIn(records), fixture.models.get("a")?.facts.version], [[], "v3"]);
    assert.equal(fixture.life("a").phase, "champion");
  });

  test("and was brought by hand leaves a training under way alone", () => {
    const fixture = new LifecycleFixture();
    fixture.live("a", { phase: "training", requestId: "r1" });
    fixture.lifecycle.decide(decisionOf("promoted", { record: unfit, isByHand: true }));
    fixture.lifecycle.apply();
    assert.deepEqual([fixture.life("a").phase, fixture.life("a").requestId], ["training", "r1"]);
  });
});

const codec = avroCodec("ModelRecord");
const wrapping = 2_048;

test("a model too large with its predecessor is written without it", () => {
  const record = { ...recordOf("a", "v2"), previousVersion: "v1", previous: Buffer.alloc(5_000) };
  const modelBytes = codec.encode(record).length + wrapping - 1;
  const { lifecycle, models } = new LifecycleFixture({ limits: { modelBytes } });
  lifecycle.decide(decisionOf("promoted", { record }));
  const written = lifecycle.apply().find(({ topic }) => topic === "models");
  const stored = codec.decode(written?.value as Buffer);
  assert.deepEqual([stored.version, stored.previousVersion, stored.previous], ["v2", "v1", null]);
  assert.equal(models.get("a")?.facts.version, "v2");
});

test("a model too large by itself is refused, and what served goes on", () => {
  const fixture = new LifecycleFixture({ limits: { modelBytes: 3_000 } });
  fixture.serve("a", "v1");
  fixture.lifecycle.decide(decisionOf("promoted", { fromVersion: "v1" }));
  const records = fixture.lifecycle.apply();
  const [event] = eventsIn(records);
  assert.equal(event.kind, "REFUSED");
  assert.match(
    event.reason,
    /^the model needs \d+ bytes with key and headers, its topic allows 3000: raise max\.message\.bytes/,
  );
  assert.deepEqual(writtenIn(records), []);
  assert.equal(fixture.models.get("a")?.facts.version, "v1");
});

test("a request too large for its topic is refused; one that just fits is written", () => {
  const task = trainingTask();
  const { length } = encodeRequest(task);
  const kindsWith = (trainingBytes: number) => {
    const { lifecycle } = new LifecycleFixture({ limits: { trainingBytes } });
    lifecycle.decide(decisionOf("requested", { requestId: task.id, task }));
    const records = lifecycle.apply();
    return [...eventsIn(records).map(({ kind }) => kind), ...records.map(({ topic }) => topic)];
  };
  assert.deepEqual(kindsWith(length + wrapping), ["REQUESTED", "training", "events"]);
  assert.deepEqual(kindsWith(length + wrapping - 1), ["REFUSED", "events"]);
});
