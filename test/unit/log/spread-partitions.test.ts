import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { spreadPartitions } from "../../../src/log/spread-partitions.ts";

const names = ["a", "b", "c", "d", "e"];
const membersOf = (count: number) => names.slice(0, count);
const owner = fc.option(fc.constantFrom(...names), { nil: undefined });

describe("the spread of partitions", () => {
  test("gives every partition to a member, with loads that differ by at most one", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), fc.array(owner, { maxLength: 20 }), (count, current) => {
        const members = membersOf(count);
        const owners = spreadPartitions(current.length, members, current);
        const loads = members.map((member) => owners.filter((name) => name === member).length);
        assert.equal(
          loads.reduce((sum, load) => sum + load, 0),
          current.length,
        );
        assert.ok(Math.max(...loads) - Math.min(...loads) <= 1, `loads ${loads}`);
      }),
    );
  });

  test("moves nothing when the spread is already even", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), fc.array(owner, { maxLength: 20 }), (count, current) => {
        const even = spreadPartitions(current.length, membersOf(count), current);
        assert.deepEqual(spreadPartitions(current.length, membersOf(count), even), even);
      }),
    );
  });

  test("moves only the share of the new member when a member joins", () => {
    const before = spreadPartitions(12, ["a", "b"], []);
    const after = spreadPartitions(12, ["a", "b", "c"], before);
    const moved = after.filter((member, partition) => member !== before[partition]);
    assert.deepEqual(moved, ["c", "c", "c", "c"]);
  });

  test("leaves every partition without an owner when there are no members", () => {
    assert.deepEqual(spreadPartitions(2, [], ["gone", "gone"]), [undefined, undefined]);
  });
});
