import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { DecisionKind } from "../../../src/retrain/decision.ts";
import { decodeRequest } from "../../../src/retrain/requests/request-codec.ts";
import { trainingTask } from "../../rig/training-task.ts";
import { DeskFixture, dawnMs, decisionOf, eventsIn, hourMs, recordOf, writtenIn } from "./desk-fixture.ts";

const kindsIn = (records: Parameters<typeof eventsIn>[0]) => eventsIn(records).map(({ kind }) => kind);

describe("a decision", () => {
  test("takes effect when it is enacted and not before, once", () => {
    const fixture = new DeskFixture();
    const { desk, shelf } = fixture;
    let called = 0;
    desk.onWaiting = () => called++;
    desk.decide(decisionOf("promoted"));
    assert.deepEqual(
      [desk.isWaiting, desk.isDecided("a"), desk.isDecided("b"), called],
      [true, true, false, 1],
    );
    assert.equal(shelf.get("a"), undefined);
    const records = desk.enact();
    assert.equal(shelf.get("a")?.facts.version, "v2");
    assert.deepEqual([desk.isWaiting, desk.isDecided("a")], [false, false]);
    assert.deepEqual(writtenIn(records), ["models/0 a v2"]);
    assert.deepEqual(desk.enact(), []);
    assert.equal(fixture.counts.of("decided promoted"), 1);
  });

  test("is told by an event with its numbers, in a partition that the topic has", () => {
    const { desk } = new DeskFixture({ partition: 5, partitions: 6, now: { ms: 77 } });
    desk.decide(decisionOf("refused", { numbers: { mase: 0.25 } }));
    const records = desk.enact();
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
    const fixture = new DeskFixture();
    fixture.place("a");
    for (const kind of ["requested", "promoted"] as const) fixture.desk.decide(decisionOf(kind));
    fixture.desk.decide(decisionOf("confirmed", { fromVersion: "v2" }));
    fixture.desk.decide(decisionOf("refused", { modelKey: "b" }));
    const records = fixture.desk.enact();
    assert.deepEqual(kindsIn(records), ["REQUESTED", "PROMOTED", "CONFIRMED", "REFUSED"]);
    const { phase, probation, restsUntilMs } = fixture.life("a");
    const restedMs = dawnMs + (50 + 10) * hourMs;
    assert.deepEqual([phase, probation, restsUntilMs], ["champion", null, restedMs]);
  });

  test("about a series without a grid rests by the wall clock", () => {
    const fixture = new DeskFixture();
    fixture.desk.decide(decisionOf("failed"));
    fixture.desk.enact();
    assert.equal(fixture.life("a").restsUntilMs, dawnMs);
  });
});

describe("what is written with", () => {
  test("a request is the task for the trainers, and nothing when this worker trains", () => {
    const { desk } = new DeskFixture({ partition: 2 });
    desk.decide(decisionOf("requested", { task: trainingTask() }));
    desk.decide(decisionOf("requested", { modelKey: "b", task: null }));
    const records = desk.enact();
    assert.deepEqual(writtenIn(records), ["training/2 a"]);
    const [{ value }] = records.filter(({ topic }) => topic === "training");
    const read = decodeRequest(value);
    assert.deepEqual("task" in read && read.task.id, "request for a");
  });

  test("a promotion or a retirement of a cohort goes to every partition", () => {
    const { desk, shelf } = new DeskFixture({ partition: 1 });
    const modelKey = "cohort:pumps";
    desk.decide(decisionOf("promoted", { modelKey }));
    const written = (text: string) => [0, 1, 2].map((partition) => `models/${partition} ${modelKey} ${text}`);
    assert.deepEqual(writtenIn(desk.enact()), written("v2"));
    desk.decide(decisionOf("retired", { modelKey, fromVersion: "v2" }));
    assert.deepEqual(writtenIn(desk.enact()), written("deleted"));
    assert.equal(shelf.get(modelKey), undefined);
  });

  test("a rollback is the model that serves again, or its end", () => {
    const fixture = new DeskFixture();
    const { desk, shelf } = fixture;
    fixture.serve("a", "v2");
    desk.decide(decisionOf("rolled-back", { fromVersion: "v2", record: recordOf("a", "v1") }));
    assert.deepEqual(writtenIn(desk.enact()), ["models/0 a v1"]);
    assert.equal(shelf.get("a")?.facts.version, "v1");
    desk.decide(decisionOf("rolled-back", { fromVersion: "v1" }));
    assert.deepEqual(writtenIn(desk.enact()), ["models/0 a deleted"]);
    assert.equal(shelf.get("a"), undefined);
    assert.equal(fixture.life("a").phase, "cold");
  });

  test("what it settles is deleted first", () => {
    const { desk } = new DeskFixture();
    desk.dismiss("b", "outcome");
    desk.decide(decisionOf("promoted", { settles: ["outcome", "order"] }));
    assert.deepEqual(writtenIn(desk.enact()), [
      "models/0 b\u0000outcome deleted",
      "models/0 a\u0000outcome deleted",
      "models/0 a\u0000order deleted",
      "models/0 a v2",
    ]);
  });
});

describe("a confirmed model", () => {
  test("serves on, and its predecessor is let go", () => {
    const fixture = new DeskFixture();
    fixture.serve("a", "v1", { previous: Buffer.from("before"), previousVersion: "v0" });
    fixture.desk.decide(decisionOf("confirmed", { fromVersion: "v1" }));
    assert.deepEqual(writtenIn(fixture.desk.enact()), []);
    const { facts, previous } = fixture.shelf.get("a") ?? {};
    assert.deepEqual([facts?.version, facts?.previousVersion, previous], ["v1", "v0", null]);
  });
});

describe("a decision that comes too late", () => {
  const ending: readonly DecisionKind[] = ["failed", "refused", "promoted", "rolled-back", "retired"];
  for (const kind of ending) {
    test(`to be ${kind} is refused: another model serves, and goes on`, () => {
      const fixture = new DeskFixture();
      fixture.serve("a", "v9");
      fixture.live("a", { phase: "training", requestId: "r1" });
      fixture.desk.decide(decisionOf(kind, { fromVersion: "v1", settles: ["outcome"] }));
      const records = fixture.desk.enact();
      assert.deepEqual(writtenIn(records), ["models/0 a\u0000outcome deleted"]);
      const [{ kind: told, fromVersion, toVersion, reason }] = eventsIn(records);
      const version = kind === "promoted" ? "v2" : null;
      assert.deepEqual([told, fromVersion, toVersion], ["REFUSED", "v9", version]);
      assert.equal(reason, "it comes too late: decided about v1, and v9 serves");
      assert.equal(fixture.shelf.get("a")?.facts.version, "v9");
      assert.deepEqual([fixture.life("a").phase, fixture.life("a").requestId], ["champion", null]);
    });
  }

  for (const kind of ["drifted", "recovered", "confirmed", "requested"] as const) {
    test(`to be ${kind} is dropped: of the model that serves it says nothing`, () => {
      const fixture = new DeskFixture();
      fixture.serve("a", "v9");
      const probation = { predecessorMase: 1, sinceMs: 3 };
      fixture.live("a", { phase: "champion", probation });
      const before = fixture.life("a");
      fixture.desk.decide(decisionOf(kind, { fromVersion: "v1" }));
      assert.deepEqual(fixture.desk.enact(), []);
      assert.deepEqual(fixture.life("a"), before);
      assert.deepEqual(fixture.told, ["warn: decision comes too late"]);
    });
  }

  test("is also one about a model where none serves any more, and the other way round", () => {
    const fixture = new DeskFixture();
    fixture.desk.decide(decisionOf("promoted", { fromVersion: "v1" }));
    fixture.serve("b", "v1");
    fixture.desk.decide(decisionOf("promoted", { modelKey: "b", fromVersion: null }));
    const reasons = eventsIn(fixture.desk.enact()).map(({ reason }) => reason);
    assert.deepEqual(reasons, [
      "it comes too late: decided about v1, and none serves",
      "it comes too late: decided about no model, and v1 serves",
    ]);
  });
});

describe("a model that cannot serve", () => {
  const unfit = recordOf("a", "v2", { weights: Buffer.from("scribble") });

  test("is refused instead of promoted, and the one before goes on", () => {
    const fixture = new DeskFixture();
    fixture.serve("a", "v1");
    fixture.live("a", { phase: "training" });
    fixture.desk.decide(decisionOf("promoted", { fromVersion: "v1", record: unfit }));
    const records = fixture.desk.enact();
    const [{ kind, toVersion, reason, numbers }] = eventsIn(records);
    assert.deepEqual([kind, toVersion, numbers], ["REFUSED", "v2", { mase: 0.5 }]);
    assert.match(reason, /^it cannot serve: /);
    assert.deepEqual([writtenIn(records), fixture.shelf.get("a")?.facts.version], [[], "v1"]);
    assert.deepEqual([fixture.life("a").phase, fixture.life("a").probation], ["champion", null]);
    assert.deepEqual([fixture.counts.of("decided promoted"), fixture.counts.of("decided refused")], [0, 1]);
  });

  test("is not what one goes back to either", () => {
    const fixture = new DeskFixture();
    fixture.serve("a", "v3");
    fixture.live("a", { phase: "champion" });
    fixture.desk.decide(decisionOf("rolled-back", { fromVersion: "v3", record: unfit, isByHand: true }));
    const records = fixture.desk.enact();
    assert.deepEqual(kindsIn(records), ["REFUSED"]);
    assert.deepEqual([writtenIn(records), fixture.shelf.get("a")?.facts.version], [[], "v3"]);
    assert.equal(fixture.life("a").phase, "champion");
  });

  test("and was brought by hand leaves a training under way alone", () => {
    const fixture = new DeskFixture();
    fixture.live("a", { phase: "training", requestId: "r1" });
    fixture.desk.decide(decisionOf("promoted", { record: unfit, isByHand: true }));
    fixture.desk.enact();
    assert.deepEqual([fixture.life("a").phase, fixture.life("a").requestId], ["training", "r1"]);
  });
});
