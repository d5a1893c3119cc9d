import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import kafkajs, { type Cluster, type GroupMember } from "kafkajs";
import {
  type Claim,
  coPartitionAssigner,
  sharePartitions,
} from "../../../../src/log/kafka/co-partition-assigner.ts";

const partitionCounts = fc.integer({ min: 0, max: 40 });
/** What members say they hold: anything, double claims and partitions that no longer exist among it. */
const claims = fc.uniqueArray(
  fc.record({ memberId: fc.string({ minLength: 1 }), held: fc.array(fc.nat(50), { maxLength: 20 }) }),
  { minLength: 1, maxLength: 8, selector: ({ memberId }) => memberId },
);

const claimsOf = (shares: ReadonlyMap<string, readonly number[]>): Claim[] =>
  [...shares].map(([memberId, held]) => ({ memberId, held }));

describe("the share of partitions", () => {
  test("gives each partition to exactly one member, and nobody two more than another", () => {
    fc.assert(
      fc.property(partitionCounts, claims, (partitions, given) => {
        const shares = sharePartitions(partitions, given);
        assert.deepEqual(
          [...shares.values()].flat().sort((a, b) => a - b),
          Array.from({ length: partitions }, (_, partition) => partition),
        );
        assert.deepEqual([...shares.keys()].sort(), given.map(({ memberId }) => memberId).sort());
        const sizes = [...shares.values()].map((share) => share.length);
        assert.ok(Math.max(...sizes) - Math.min(...sizes) <= 1, `shares of ${sizes}`);
      }),
    );
  });

  test("does not depend on the order in which the members are listed", () => {
    fc.assert(
      fc.property(partitionCounts, claims, (partitions, given) => {
        const shares = sharePartitions(partitions, given);
        assert.deepEqual(new Map(sharePartitions(partitions, [...given].reverse())), new Map(shares));
      }),
    );
  });

  test("moves nothing while the members stay the same", () => {
    fc.assert(
      fc.property(partitionCounts, claims, (partitions, given) => {
        const settled = sharePartitions(partitions, given);
        assert.deepEqual(sharePartitions(partitions, claimsOf(settled)), settled);
      }),
    );
  });

  test("moves only what a newcomer gets, and only what a leaver held", () => {
    fc.assert(
      fc.property(partitionCounts, claims, (partitions, given) => {
        const before = sharePartitions(partitions, given);
        const joined = sharePartitions(partitions, [...claimsOf(before), { memberId: "", held: [] }]);
        assert.equal(movesBetween(before, joined), joined.get("")?.length);
        const left = sharePartitions(
          partitions,
          claimsOf(joined).filter(({ memberId }) => memberId !== ""),
        );
        assert.equal(movesBetween(joined, left), joined.get("")?.length);
      }),
    );
  });

  test("lets one of two that claim the same partition keep it", () => {
    const shares = sharePartitions(4, [
      { memberId: "a", held: [0, 1] },
      { memberId: "b", held: [0, 1, 2] },
    ]);
    assert.deepEqual(claimsOf(shares), [
      { memberId: "a", held: [0, 1] },
      { memberId: "b", held: [2, 3] },
    ]);
  });
});

function movesBetween(
  before: ReadonlyMap<string, readonly number[]>,
  after: ReadonlyMap<string, readonly number[]>,
): number {
  return [...after].reduce(
    (moves, [memberId, share]) =>
      moves + share.filter((partition) => !before.get(memberId)?.includes(partition)).length,
    0,
  );
}

describe("the assigner as kafkajs calls it", () => {
  const partitionsByTopic: Readonly<Record<string, number>> = { wide: 4, narrow: 2 };
  const cluster = {
    findTopicPartitionMetadata: (topic: string) => Array.from({ length: partitionsByTopic[topic] }),
  } as unknown as Cluster;
  const assignerOf = (held: readonly number[]) =>
    coPartitionAssigner(
      ["wide", "narrow"],
      () => held,
    )({ cluster, groupId: "g", logger: undefined as never });
  const memberHolding = (memberId: string, held: readonly number[]): GroupMember => ({
    memberId,
    memberMetadata: assignerOf(held).protocol({ topics: ["wide", "narrow"] }).metadata,
  });

  async function assign(members: GroupMember[]) {
    const assigned = await assignerOf([]).assign({ members, topics: ["wide", "narrow"] });
    return Object.fromEntries(
      assigned.map(({ memberId, memberAssignment }) => [
        memberId,
        kafkajs.AssignerProtocol.MemberAssignment.decode(memberAssignment)?.assignment,
      ]),
    );
  }

  test("gives equal partition numbers of all topics to one member, as its claim asks", async () => {
    assert.deepEqual(await assign([memberHolding("a", [1, 3]), memberHolding("b", [0, 2])]), {
      a: { wide: [1, 3], narrow: [1] },
      b: { wide: [0, 2], narrow: [0] },
    });
  });

  test("takes claims it cannot read for no claims", async () => {
    for (const userData of ["", ",", "null", '{"a":1}', "1.5", "-1", "[0]", "\u0000\u0001"]) {
      const memberMetadata = kafkajs.AssignerProtocol.MemberMetadata.encode({
        version: 1,
        topics: ["wide", "narrow"],
        userData: Buffer.from(userData),
      });
      const shares = await assign([{ memberId: "a", memberMetadata }, memberHolding("b", [0, 1])]);
      assert.deepEqual(shares.b, { wide: [0, 1], narrow: [0, 1] }, JSON.stringify(userData));
    }
  });
});
