import assert from "node:assert/strict";
import { test } from "node:test";
import { keptKey, liveKey, readStateKey } from "../../../../src/retrain/live/state-keys.ts";

test("a key is read by what follows its last #, whatever the series is called", () => {
  for (const seriesId of ["s", "", "a#live", "b#f3", "c#7", "#"]) {
    assert.deepEqual(readStateKey(liveKey(seriesId)), { kind: "live", seriesId });
    assert.deepEqual(readStateKey(keptKey(seriesId, 12)), { kind: "kept", seriesId, place: 12 });
  }
});

test("a key of another kind is none", () => {
  for (const key of ["s", "s#3", "s#f", "s#f-1", "s#fx", "s#Live", "s#f1e3", "s#f9999999999"])
    assert.equal(readStateKey(key), null, key);
});
