import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Heap } from "../../../src/runtime/heap.ts";

test("items come in order, and equal ones in the order of their arrival", () => {
  const action = fc.option(fc.nat(9));
  fc.assert(
    fc.property(fc.array(action, { maxLength: 100 }), (actions) => {
      const heap = new Heap<{ readonly rank: number; readonly at: number }>(
        (one, other) => one.rank - other.rank,
      );
      const expected: { rank: number; at: number }[] = [];
      for (const [at, rank] of actions.entries()) {
        if (rank === null) {
          assert.deepEqual(heap.first, expected[0]);
          assert.deepEqual(heap.take(), expected.shift());
        } else {
          heap.add({ rank, at });
          expected.push({ rank, at });
          expected.sort((one, other) => one.rank - other.rank || one.at - other.at);
        }
        assert.equal(heap.size, expected.length);
      }
      assert.deepEqual(new Set(heap.items()), new Set(expected));
    }),
  );
});
