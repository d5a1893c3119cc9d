import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { LargestFew } from "../../../src/runtime/largest-few.ts";

test("the largest few are the first items of a stable sort", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: -3, max: 30 })),
      fc.integer({ min: 0, max: 12 }),
      (scores, most) => {
        const few = new LargestFew<number>(most);
        for (const [place, score] of scores.entries()) few.offer(place, score);
        const places = scores.map((_, place) => place);
        const sorted = places.sort((one, other) => scores[other] - scores[one] || one - other);
        assert.deepEqual(few.items(), sorted.slice(0, most));
        assert.equal(few.offered, scores.length);
      },
    ),
  );
});
