import assert from "node:assert/strict";
import { test } from "node:test";
import { bookOf, forecastOf, placementAt, servingOf, windowAt } from "./fixtures.ts";

test("the scores that metrics tell wait for a horizon of slots, and their CRPS is in naive errors", () => {
  const live = bookOf().of("s");
  live.publish(windowAt(0), forecastOf(windowAt(0), [0, 0, 0]), servingOf("v1", [4]));
  for (const slot of [1, 2]) live.place(placementAt(slot, [8]));
  assert.equal(live.quality(), null);
  live.place(placementAt(3, [8]));
  assert.deepEqual(live.quality(), {
    ...{ seriesId: "s", mase: 2, scaledCrps: 2 },
    coverage: [{ stated: 0.8, observed: 0 }],
  });
});
