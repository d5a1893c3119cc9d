import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MaxTree } from "../../../src/runtime/max-tree.ts";

test("the largest numbers are found after any changes, the largest first", () => {
  const change = fc.record({
    place: fc.nat(40),
    value: fc.option(fc.double({ noNaN: true, min: -1e9, max: 1e9 })),
  });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 200 }), fc.nat(12), (changes, most) => {
      const tree = new MaxTree();
      const valueByPlace = new Map<number, number>();
      for (const { place, value } of changes) {
        if (value === null) {
          tree.remove(place);
          valueByPlace.delete(place);
        } else {
          tree.set(place, value);
          valueByPlace.set(place, value);
        }
      }
      const expected = [...valueByPlace.values()].sort((one, other) => other - one).slice(0, most);
      const places = tree.largest(most);
      assert.deepEqual(
        places.map((place) => valueByPlace.get(place)),
        expected,
      );
      assert.equal(new Set(places).size, places.length);
    }),
  );
});
