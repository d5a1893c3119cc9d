import assert from "node:assert/strict";
import { test } from "node:test";
import { servingFacts } from "../../../src/log/codec/model-record.ts";
import { LifecycleFixture, recordOf } from "./lifecycle-fixture.ts";

function factsOf(key: string, scoredSteps: number) {
  const fixture = new LifecycleFixture();
  const { validation } = recordOf(key);
  const told = { ...validation, naiveErrors: [4], scoredSteps };
  fixture.serve(key, "v1", { trainedAt: 7, trainedTo: 5, validation: told });
  const serving = fixture.models.get(key);
  assert.ok(serving !== undefined);
  return servingFacts(serving);
}

test("a model is measured by the naive errors of what it learnt from", () => {
  assert.deepEqual(factsOf("a", 24), {
    ...{
      modelKey: "a",
      version: "v1",
      naiveErrors: [4],
      validationMase: 0.5,
      trainedAtMs: 7,
      trainedToMs: 5,
    },
  });
});

test("a cohort's members are each measured by their own", () => {
  assert.deepEqual(factsOf("cohort:pumps", 24).naiveErrors, []);
});

test("a model that validated on nothing has no validation MASE", () => {
  assert.equal(factsOf("a", 0).validationMase, null);
});
