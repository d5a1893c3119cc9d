import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { orderKey, outcomeKey, readModelKey } from "../../../../src/log/codec/model-keys.ts";

test("every key says which model it belongs to, and as what", () => {
  const seriesId = fc.string({ unit: "grapheme" }).filter((id) => !id.includes("\u0000"));
  fc.assert(
    fc.property(seriesId, (modelKey) => {
      assert.deepEqual(readModelKey(modelKey), { modelKey, part: "champion" });
      assert.deepEqual(readModelKey(outcomeKey(modelKey)), { modelKey, part: "outcome" });
      assert.deepEqual(readModelKey(orderKey(modelKey)), { modelKey, part: "order" });
    }),
  );
});

test("a series that is called like a part of a key is a series", () => {
  for (const modelKey of ["outcome", "order", "a order"]) {
    assert.deepEqual(readModelKey(modelKey), { modelKey, part: "champion" });
  }
});
