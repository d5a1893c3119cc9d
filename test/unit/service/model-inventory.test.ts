import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { modelRecordCodec, readExportedModel } from "../../../src/log/codec/model-record.ts";
import { decidingPartition } from "../../../src/models/cohort.ts";
import { storedFamilies } from "../../../src/models/families.ts";
import { encodeModel } from "../../../src/models/forecastnet/model-bytes.ts";
import { createModelInventory, type Order } from "../../../src/service/model-inventory.ts";
import { randomModel } from "../../rig/random-model.ts";
import { dawnMs, LifecycleFixture } from "../lifecycle/lifecycle-fixture.ts";

const inventoryOf = (...fixtures: readonly LifecycleFixture[]) =>
  createModelInventory(() => fixtures.map(({ lifecycle }) => lifecycle), storedFamilies, { nowMs: () => 99 });

function open() {
  const first = new LifecycleFixture({
    partitions: 1,
    settings: (id) => ({ cohort: id.endsWith("-pump") ? "pumps" : "" }),
  });
  const readRecord = () => assert.fail("the topic is not read");
  const second = new LifecycleFixture({ partition: 1, readRecord });
  const inventory = inventoryOf(first, second);
  return { first, second, inventory };
}

const all = { phase: null, most: 1_000 };

const orderOf = (modelKey: string, changes: Partial<Order> = {}): Order => ({
  ...{ id: "o1", modelKey, kind: "rollback", record: null, skipsGate: false },
  ...changes,
});

describe("the models of a worker", () => {
  test("are listed from all its partitions, the worst first and the unscored last", async () => {
    const { first, second, inventory } = open();
    first.live("unscored");
    first.score("fair", "x", 1);
    second.score("worst", "x", 3);
    second.score("good", "x", 0.2);
    assert.deepEqual(
      (await inventory.list(all)).models.map(({ modelKey, partition }) => [modelKey, partition]),
      [
        ["worst", 1],
        ["fair", 0],
        ["good", 1],
        ["unscored", 0],
      ],
    );
  });

  test("tell who serves a series, where it stands and what was decided last", () => {
    const { first, inventory } = open();
    first.serve("cohort:pumps", "c1");
    first.serve("a", "v1", { trainedAt: 42 });
    const probation = { predecessorMase: 1, sinceMs: 0 };
    first.live("a", { phase: "champion", sinceMs: dawnMs, probation, verdict: "promoted: better" });
    first.live("a-pump");
    first.live("cohort:pumps", { phase: "champion" });
    assert.deepEqual(inventory.show("a"), {
      ...{ modelKey: "a", kind: "series", partition: 0, phase: "champion", sinceMs: dawnMs, version: "v1" },
      ...{ servedBy: "a", scores: null, validationMase: 0.5, trainedAtMs: 42, isOnProbation: true },
      verdict: "promoted: better",
    });
    const member = inventory.show("a-pump");
    assert.deepEqual([member?.phase, member?.version, member?.servedBy], ["cold", "c1", "cohort:pumps"]);
    assert.equal(inventory.show("cohort:pumps")?.kind, "cohort");
    assert.equal(inventory.show("unknown"), null);
  });

  test("are listed as many as asked for, of the phase asked for, with the number of all", async () => {
    const { first, second, inventory } = open();
    for (const [at, mase] of [3, 1, 5, 2, 4].entries()) {
      const fixture = at % 2 === 0 ? first : second;
      fixture.score(`s${mase}`, "x", mase);
      fixture.live(`s${mase}`, { phase: mase === 4 ? "drifting" : "champion" });
    }
    const listed = async (phase: "champion" | "drifting" | null, most: number) => {
      const { total, models } = await inventory.list({ phase, most });
      return [total, ...models.map(({ modelKey }) => modelKey)];
    };
    assert.deepEqual(await listed(null, 2), [5, "s5", "s4"]);
    assert.deepEqual(await listed("champion", 2), [4, "s5", "s3"]);
    assert.deepEqual(await listed("drifting", 2), [1, "s4"]);
    assert.deepEqual(await listed(null, 9), [5, "s5", "s4", "s3", "s2", "s1"]);
  });

  for (const storage of ["FLOAT32", "FLOAT16"] as const) {
    test(`are exported from memory to the last bit, stored as ${storage}, and can be imported`, () => {
      const { first, second, inventory } = open();
      first.live("a");
      second.live("b");
      const model = randomModel({ key: "b", version: "v1" });
      const weights = Buffer.from(encodeModel(model, storage === "FLOAT16" ? "float16" : "float32"));
      const previous = Buffer.from("the predecessor");
      second.serve("b", "v1", { weights, storage, trainedAt: 42, previousVersion: "v0", previous });
      const bytes = inventory.exportRecord("b");
      assert.ok(bytes !== null);
      const record = modelRecordCodec.decode(bytes);
      assert.deepEqual([record.version, record.trainedAt, record.storage], ["v1", 42, storage]);
      assert.ok(record.weights.equals(weights), "the weights are the same bytes");
      assert.deepEqual([record.previousVersion, record.previous], [null, null]);
      assert.equal(
        readExportedModel(bytes, { modelKey: null, where: "the export" }, storedFamilies).version,
        "v1",
      );
      assert.deepEqual([inventory.exportRecord("a"), inventory.exportRecord("unknown")], [null, null]);
    });
  }
});

describe("an order", () => {
  test("goes to the lifecycle that owns the series", () => {
    const { first, second, inventory } = open();
    second.live("b");
    const record = Buffer.from("bytes");
    const order = orderOf("b", { kind: "import", record, skipsGate: true });
    assert.deepEqual(inventory.order(order), { outcome: "accepted" });
    assert.equal(first.lifecycle.orders.size, 0);
    assert.deepEqual(second.lifecycle.orders.get("b"), {
      ...{ id: "o1", modelKey: "b", kind: "IMPORT", record, skipsGate: true, askedAt: 99 },
    });
  });

  test("about a cohort goes to the partition that decides about it, although all partitions have its model", () => {
    const fixtures = [0, 1, 2].map((partition) => new LifecycleFixture({ partition }));
    for (const fixture of fixtures) fixture.serve("cohort:pumps", "c1");
    const deciding = decidingPartition("pumps", 3);
    inventoryOf(...fixtures).order(orderOf("cohort:pumps"));
    const holders = fixtures
      .filter(({ lifecycle }) => lifecycle.orders.size > 0)
      .map(({ lifecycle }) => lifecycle.view.partition);
    assert.deepEqual(holders, [deciding]);
    const others = fixtures.filter((_, partition) => partition !== deciding);
    assert.equal(inventoryOf(...others).order(orderOf("cohort:pumps")).outcome, "unknown-model");
  });

  test("is refused while another about the same model waits", () => {
    const { first, inventory } = open();
    first.live("a");
    assert.equal(inventory.order(orderOf("a", { kind: "retrain" })).outcome, "accepted");
    const answer = inventory.order(orderOf("a", { id: "o2" }));
    assert.deepEqual(answer, {
      outcome: "refused",
      detail: "an earlier order about a is still pending",
    });
    assert.deepEqual(
      [first.lifecycle.orders.get("a")?.id, first.lifecycle.orders.get("a")?.kind],
      ["o1", "RETRAIN"],
    );
  });

  test("about an unknown series is answered so", () => {
    assert.equal(open().inventory.order(orderOf("unknown")).outcome, "unknown-model");
  });
});
