import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { homeOf } from "../../../src/retrain/cohort-home.ts";
import { cohortWishes } from "../../../src/retrain/cohorts.ts";
import { DeskFixture, dawnMs, hourMs, recordOf } from "./desk-fixture.ts";

const modelKey = "cohort:pumps";
const home = homeOf("pumps", 3);

function open(maxAgeMs = Number.POSITIVE_INFINITY) {
  const settings = (seriesId: string) => ({ cohort: seriesId.endsWith("-pump") ? "pumps" : "" });
  const fixture = new DeskFixture({ partition: home, settings, rules: { maxAgeMs } });
  const asked = () =>
    cohortWishes([fixture.desk], ["pumps"]).map(({ reason, urgency }) => [reason, urgency] as const);
  return { fixture, asked };
}

describe("the home of a cohort", () => {
  test("is one of the partitions, the same whoever asks, and cohorts are spread over them", () => {
    const homes = Array.from({ length: 300 }, (_, i) => homeOf(`cohort ${i}`, 7));
    assert.ok(homes.every((partition) => Number.isInteger(partition) && partition >= 0 && partition < 7));
    const counts = Array.from({ length: 7 }, (_, p) => homes.filter((partition) => partition === p).length);
    assert.ok(
      counts.every((count) => count > 20),
      counts.join(", "),
    );
    // A cohort must not move to another home with a new release.
    assert.deepEqual([homeOf("pumps", 12), homeOf("Öfen", 12), homeOf("", 12)], [7, 4, 0]);
  });
});

describe("a cohort", () => {
  test("wishes at its home only, and only where the configuration knows it", () => {
    const elsewhere = new DeskFixture({ partition: (home + 1) % 3 });
    assert.deepEqual(cohortWishes([elsewhere.desk], ["pumps"]), []);
    assert.deepEqual(cohortWishes([], ["pumps"]), []);
    const { fixture } = open();
    assert.deepEqual(cohortWishes([fixture.desk], []), []);
    const [wish, ...more] = cohortWishes([elsewhere.desk, fixture.desk], ["pumps"]);
    assert.deepEqual([wish.desk === fixture.desk, wish.modelKey, more], [true, modelKey, []]);
  });

  test("without a model wishes for one, unless it is in training or rests", () => {
    const { fixture, asked } = open();
    assert.deepEqual(asked(), [["new", 0]]);
    fixture.live(modelKey, { restsUntilMs: dawnMs + 1 });
    assert.deepEqual(asked(), []);
    fixture.now.ms = dawnMs + 1;
    assert.deepEqual(asked(), [["new", 0]]);
    fixture.live(modelKey, { phase: "training" });
    assert.deepEqual(asked(), []);
  });

  test("is trained again when most of those members that can be judged are stale", () => {
    const { fixture, asked } = open();
    fixture.serve(modelKey, "c1");
    fixture.score("a-pump", "c1", 3);
    fixture.score("b-pump", "c1", 0.5);
    fixture.score("young-pump", "c1", 9, 2); // Too little evidence.
    fixture.score("other", "c1", 9); // No member.
    fixture.serve("own-pump", "v1"); // A member with a model of its own.
    fixture.score("own-pump", "v1", 9);
    assert.deepEqual(asked(), [], "half is not most");
    fixture.score("c-pump", "c1", 3);
    assert.deepEqual(asked(), [["drift", 2 / 3]]);
  });

  test("is trained again when its model is older than allowed, by the wall clock", () => {
    const { fixture, asked } = open(24 * hourMs);
    fixture.shelf.put(recordOf(modelKey, "c1", { trainedAt: dawnMs }));
    fixture.now.ms = dawnMs + 24 * hourMs;
    assert.deepEqual(asked(), []);
    fixture.now.ms++;
    assert.deepEqual(asked(), [["age", 24 * hourMs + 1]]);
  });
});
