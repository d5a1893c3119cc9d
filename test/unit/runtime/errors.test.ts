import assert from "node:assert/strict";
import { test } from "node:test";
import { errorTable, ForecastnetError, PartitionLostError } from "../../../src/runtime/errors.ts";

test("an error knows its remedy, whether to try again, its cause and its context", () => {
  const cause = new Error("ECONNREFUSED");
  const error = new ForecastnetError("BROKER_UNREACHABLE", "k:1 does not answer", {
    cause,
    context: { broker: "k:1" },
  });
  assert.ok(error instanceof Error && error.retryable);
  assert.deepEqual(
    [error.code, error.cause, error.context],
    ["BROKER_UNREACHABLE", cause, { broker: "k:1" }],
  );
  assert.equal(error.remedy, errorTable.BROKER_UNREACHABLE.remedy);
  assert.equal(Object.hasOwn(new ForecastnetError("LOG_FAILED", "x"), "cause"), false);
});

test("every remedy is a sentence that tells what to do", () => {
  for (const [code, { remedy }] of Object.entries(errorTable)) {
    assert.match(remedy, /^[A-Z].{20,}\.$/, code);
  }
});

test("a lost partition is an error of its own class that names the partition and why", () => {
  const error = new PartitionLostError(7, "fenced", "cause");
  assert.ok(error instanceof ForecastnetError && !error.retryable);
  assert.equal(error.message, "partition 7 is no longer ours: fenced");
  assert.deepEqual(
    [error.name, error.cause, error.context],
    ["PartitionLostError", "cause", { partition: 7 }],
  );
});
