import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { avroCodec } from "../../../src/log/codec/avro.ts";
import { homeOf } from "../../../src/retrain/cohort-home.ts";
import type { Order } from "../../../src/retrain/model-desk.ts";
import { createModelDesk } from "../../../src/retrain/worker-desk.ts";
import { DeskFixture, dawnMs, recordOf } from "./desk-fixture.ts";

function open() {
  const first = new DeskFixture({
    partitions: 1,
    settings: (id) => ({ cohort: id.endsWith("-pump") ? "pumps" : "" }),
  });
  const onTopic = recordOf("b", "v1");
  const readRecord = async (modelKey: string) => (modelKey === "b" ? onTopic : null);
  const second = new DeskFixture({ partition: 1, readRecord });
  const desk = createModelDesk(() => [first.desk, second.desk], { nowMs: () => 99 });
  return { first, second, desk };
}

const orderOf = (modelKey: string, changes: Partial<Order> = {}): Order => ({
  ...{ id: "o1", modelKey, kind: "rollback", record: null, skipsGate: false },
  ...changes,
});

describe("the models of a worker", () => {
  test("are listed from all its partitions, the worst first and the unscored last", () => {
    const { first, second, desk } = open();
    first.live("unscored");
    first.score("fair", "x", 1);
    second.score("worst", "x", 3);
    second.score("good", "x", 0.2);
    assert.deepEqual(
      desk.list().map(({ modelKey, partition }) => [modelKey, partition]),
      [
        ["worst", 1],
        ["fair", 0],
        ["good", 1],
        ["unscored", 0],
      ],
    );
  });

  test("tell who serves a series, where it stands and what was decided last", () => {
    const { first, desk } = open();
    first.serve("cohort:pumps", "c1");
    first.serve("a", "v1", { trainedAt: 42 });
    const probation = { predecessorMase: 1, sinceMs: 0 };
    first.live("a", { phase: "champion", sinceMs: dawnMs, probation, verdict: "promoted: better" });
    first.live("a-pump");
    first.live("cohort:pumps", { phase: "champion" });
    assert.deepEqual(desk.show("a"), {
      ...{ modelKey: "a", kind: "series", partition: 0, phase: "champion", sinceMs: dawnMs, version: "v1" },
      ...{ servedBy: "a", scores: null, validationMase: 0.5, trainedAtMs: 42, isOnProbation: true },
      verdict: "promoted: better",
    });
    const member = desk.show("a-pump");
    assert.deepEqual([member?.phase, member?.version, member?.servedBy], ["cold", "c1", "cohort:pumps"]);
    assert.equal(desk.show("cohort:pumps")?.kind, "cohort");
    assert.equal(desk.show("unknown"), null);
  });

  test("are exported as they lie on the topic, where they lie", async () => {
    const { first, second, desk } = open();
    first.live("a");
    second.live("b");
    const bytes = await desk.exportRecord("b");
    assert.equal(avroCodec("ModelRecord").decode(bytes as Buffer).version, "v1");
    assert.deepEqual([await desk.exportRecord("a"), await desk.exportRecord("unknown")], [null, null]);
  });
});

describe("an order", () => {
  test("goes to the desk that owns the series", () => {
    const { first, second, desk } = open();
    second.live("b");
    const record = Buffer.from("bytes");
    const order = orderOf("b", { kind: "import", record, skipsGate: true });
    assert.deepEqual(desk.order(order), { outcome: "accepted" });
    assert.equal(first.desk.orders.size, 0);
    assert.deepEqual(second.desk.orders.get("b"), {
      ...{ id: "o1", modelKey: "b", kind: "IMPORT", record, skipsGate: true, askedAt: 99 },
    });
  });

  test("about a cohort goes to its home, although all partitions have its model", () => {
    const fixtures = [0, 1, 2].map((partition) => new DeskFixture({ partition }));
    for (const fixture of fixtures) fixture.serve("cohort:pumps", "c1");
    const home = homeOf("pumps", 3);
    const all = createModelDesk(() => fixtures.map(({ desk }) => desk), { nowMs: () => 99 });
    all.order(orderOf("cohort:pumps"));
    const holders = fixtures
      .filter(({ desk }) => desk.orders.size > 0)
      .map(({ desk }) => desk.parts.partition);
    assert.deepEqual(holders, [home]);
    const others = fixtures.filter((_, partition) => partition !== home);
    const elsewhere = createModelDesk(() => others.map(({ desk }) => desk), { nowMs: () => 99 });
    assert.equal(elsewhere.order(orderOf("cohort:pumps")).outcome, "unknown-model");
  });

  test("is refused while another about the same model waits", () => {
    const { first, desk } = open();
    first.live("a");
    assert.equal(desk.order(orderOf("a", { kind: "retrain" })).outcome, "accepted");
    const answer = desk.order(orderOf("a", { id: "o2" }));
    assert.deepEqual(answer, {
      outcome: "refused",
      detail: "an earlier order about a waits to be carried out",
    });
    assert.deepEqual([first.desk.orders.get("a")?.id, first.desk.orders.get("a")?.kind], ["o1", "RETRAIN"]);
  });

  test("about an unknown series is answered so", () => {
    assert.equal(open().desk.order(orderOf("unknown")).outcome, "unknown-model");
  });
});
