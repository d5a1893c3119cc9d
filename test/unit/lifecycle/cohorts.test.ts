import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cohortNeeds } from "../../../src/lifecycle/evaluate-series.ts";
import { decidingPartition } from "../../../src/models/cohort.ts";
import { dawnMs, hourMs, LifecycleFixture, recordOf } from "./lifecycle-fixture.ts";

const modelKey = "cohort:pumps";
const home = decidingPartition("pumps", 3);

function open(maxAgeMs = Number.POSITIVE_INFINITY) {
  const settings = (seriesId: string) => ({ cohort: seriesId.endsWith("-pump") ? "pumps" : "" });
  const fixture = new LifecycleFixture({ partition: home, settings, rules: { maxAgeMs } });
  const asked = async () =>
    (await cohortNeeds([fixture.lifecycle], ["pumps"])).map(({ reason, urgency }) => [reason, urgency]);
  return { fixture, asked };
}

describe("the home of a cohort", () => {
  test("is one of the partitions, the same whoever asks, and cohorts are spread over them", () => {
    const homes = Array.from({ length: 300 }, (_, i) => decidingPartition(`cohort ${i}`, 7));
    assert.ok(homes.every((partition) => Number.isInteger(partition) && partition >= 0 && partition < 7));
    const counts = Array.from({ length: 7 }, (_, p) => homes.filter((partition) => partition === p).length);
    assert.ok(
      counts.every((count) => count > 20),
      counts.join(", "),
    );
    // A cohort must not move to another home with a new release.
    assert.deepEqual(
      [decidingPartition("pumps", 12), decidingPartition("Öfen", 12), decidingPartition("", 12)],
      [7, 4, 0],
    );
  });
});

describe("a cohort", () => {
  test("needs at its home only, and only where the configuration knows it", async () => {
    const elsewhere = new LifecycleFixture({ partition: (home + 1) % 3 });
    assert.deepEqual(await cohortNeeds([elsewhere.lifecycle], ["pumps"]), []);
    assert.deepEqual(await cohortNeeds([], ["pumps"]), []);
    const { fixture } = open();
    assert.deepEqual(await cohortNeeds([fixture.lifecycle], []), []);
    const [need, ...more] = await cohortNeeds([elsewhere.lifecycle, fixture.lifecycle], ["pumps"]);
    assert.deepEqual([need.lifecycle === fixture.lifecycle, need.modelKey, more], [true, modelKey, []]);
  });

  test("without a model needs for one, unless it is in training or rests", async () => {
    const { fixture, asked } = open();
    assert.deepEqual(await asked(), [["new", 0]]);
    fixture.live(modelKey, { restsUntilMs: dawnMs + 1 });
    assert.deepEqual(await asked(), []);
    fixture.now.ms = dawnMs + 1;
    assert.deepEqual(await asked(), [["new", 0]]);
    fixture.live(modelKey, { phase: "training" });
    assert.deepEqual(await asked(), []);
  });

  test("is trained again when most of those members that can be judged are stale", async () => {
    const { fixture, asked } = open();
    fixture.serve(modelKey, "c1");
    fixture.score("a-pump", "c1", 3);
    fixture.score("b-pump", "c1", 0.5);
    fixture.score("young-pump", "c1", 9, 2); // Too little evidence.
    fixture.score("other", "c1", 9); // No member.
    fixture.serve("own-pump", "v1"); // A member with a model of its own.
    fixture.score("own-pump", "v1", 9);
    assert.deepEqual(await asked(), [], "half is not most");
    fixture.score("c-pump", "c1", 3);
    assert.deepEqual(await asked(), [["drift", 2 / 3]]);
  });

  test("is trained again when its model is older than allowed, by the wall clock", async () => {
    const { fixture, asked } = open(24 * hourMs);
    fixture.models.put(recordOf(modelKey, "c1", { trainedAt: dawnMs }));
    fixture.now.ms = dawnMs + 24 * hourMs;
    assert.deepEqual(await asked(), []);
    fixture.now.ms++;
    assert.deepEqual(await asked(), [["age", 24 * hourMs + 1]]);
  });
});
