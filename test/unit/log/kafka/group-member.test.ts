import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import kafkajs from "kafkajs";
import {
  assignPartitions,
  type Claim,
  GroupMember,
  groupProtocol,
  readAssignment,
  sharePartitions,
} from "../../../../src/log/kafka/group-member.ts";
import type { JoinedMember } from "../../../../src/log/kafka/wire/cluster-requests.ts";
import { makeDelaysInstant, turns } from "./instant-delays.ts";
import { ScriptedCluster } from "./scripted-link.ts";

makeDelaysInstant();
const MEMBER_ID_REQUIRED = 79;

/** A member whose join requests get scripted answers. */
function openMember(answerJoin: (member: GroupMember, memberId: unknown) => object) {
  const cluster = new ScriptedCluster();
  const { model } = cluster;
  const apply = model.apply.bind(model);
  model.apply = (nodeId, request) => {
    if (request.api === "JoinGroup") return answerJoin(member, request.facts.memberId);
    return request.api === "LeaveGroup" ? { errorCode: 0 } : apply(nodeId, request);
  };
  const failures: unknown[] = [];
  const member = new GroupMember({
    ...{ openLink: cluster.openLink, group: "g", inputs: ["sensors"], sessionTimeoutMs: 10_000 },
    held: () => [],
    onAssigned: () => assert.fail("nothing was assigned"),
    onConfirmed: () => assert.fail("the group has confirmed nobody"),
    onTrouble: () => undefined,
    onFailed: (error) => failures.push(error),
  });
  return { cluster, member, failures };
}

describe("a member of a group", () => {
  test("that leaves while it waits for its first join does not join again", async () => {
    let leaving: Promise<void> | null = null;
    const { cluster, member } = openMember((self, memberId) => {
      assert.equal(memberId, "", "it joins although it has left");
      leaving = self.leave();
      return { errorCode: MEMBER_ID_REQUIRED, memberId: "m1" };
    });
    await member.start();
    while (leaving === null) await turns(1);
    await leaving;
    await turns();
    assert.equal(cluster.asked("JoinGroup").length, 1);
    assert.equal(cluster.openLinks.size, 0, "a link is left open");
  });

  test("that the group refuses permanently closes its link", async () => {
    const { cluster, member, failures } = openMember(() => ({ errorCode: 23, memberId: "" }));
    await member.start();
    while (failures.length === 0) await turns(1);
    await turns();
    assert.match(String(failures[0]), /JoinGroup was answered with INCONSISTENT_GROUP_PROTOCOL/);
    assert.equal(cluster.openLinks.size, 0, "a link is left open");
  });
});

const partitionCounts = fc.integer({ min: 0, max: 40 });
/** Claims of members, including double claims and partitions that no longer exist. */
const claims = fc.uniqueArray(
  fc.record({ memberId: fc.string({ minLength: 1 }), held: fc.array(fc.nat(50), { maxLength: 20 }) }),
  { minLength: 1, maxLength: 8, selector: ({ memberId }) => memberId },
);

const claimsOf = (shares: ReadonlyMap<string, readonly number[]>): Claim[] =>
  [...shares].map(([memberId, held]) => ({ memberId, held }));

describe("the assignment of partitions", () => {
  test("gives each partition to exactly one member, and shares differ by at most one", () => {
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

  test("moves no partition while the members stay the same", () => {
    fc.assert(
      fc.property(partitionCounts, claims, (partitions, given) => {
        const settled = sharePartitions(partitions, given);
        assert.deepEqual(sharePartitions(partitions, claimsOf(settled)), settled);
      }),
    );
  });

  test("moves only the share of a new member, or the partitions of one that left", () => {
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

  test("lets one of two members that claim the same partition keep it", () => {
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

describe("the assignment that a leader sends", () => {
  const partitionsByTopic = new Map([
    ["wide", 4],
    ["narrow", 2],
  ]);
  const memberHolding = (memberId: string, held: readonly number[]): JoinedMember => ({
    memberId,
    metadata: groupProtocol(["wide", "narrow"], held).metadata,
  });

  function assign(members: readonly JoinedMember[]) {
    const assigned = assignPartitions(partitionsByTopic, members);
    return Object.fromEntries(
      assigned.map(({ memberId, assignment }) => [memberId, Object.fromEntries(readAssignment(assignment))]),
    );
  }

  test("gives a member equal partition numbers of all topics, as it claims", () => {
    assert.deepEqual(assign([memberHolding("a", [1, 3]), memberHolding("b", [0, 2])]), {
      a: { wide: [1, 3], narrow: [1] },
      b: { wide: [0, 2], narrow: [0] },
    });
  });

  test("ignores a claim that cannot be read", () => {
    for (const userData of ["", ",", "null", '{"a":1}', "1.5", "-1", "[0]", "\u0000\u0001"]) {
      const metadata = kafkajs.AssignerProtocol.MemberMetadata.encode({
        version: 1,
        topics: ["wide", "narrow"],
        userData: Buffer.from(userData),
      });
      const shares = assign([{ memberId: "a", metadata }, memberHolding("b", [0, 1])]);
      assert.deepEqual(shares.b, { wide: [0, 1], narrow: [0, 1] }, JSON.stringify(userData));
    }
  });

  test("is empty for a member that receives no bytes", () => {
    assert.deepEqual(readAssignment(Buffer.alloc(0)), new Map());
  });
});
