// Who owns which partition number. One owner per number across all input topics, because state is kept per
// number; even; and sticky, because a moved partition must be restored by its new owner. Each member tells
// the leader what it holds in the user data of its join request.

import type { GroupMember, PartitionAssigner } from "kafkajs";
import kafkajs from "kafkajs";
import { spreadPartitions } from "../spread-partitions.ts";

export interface Claim {
  readonly memberId: string;
  readonly held: readonly number[];
}

export function coPartitionAssigner(
  inputs: readonly string[],
  held: () => readonly number[],
): PartitionAssigner {
  return ({ cluster }) => ({
    name: "forecastnet-co-partition",
    version: 1,
    protocol: ({ topics }) => ({
      name: "forecastnet-co-partition",
      metadata: kafkajs.AssignerProtocol.MemberMetadata.encode({
        version: 1,
        topics,
        userData: Buffer.from(held().join(",")),
      }),
    }),
    assign: async ({ members }) => {
      const partitionsByTopic = new Map(
        inputs.map((topic) => [topic, cluster.findTopicPartitionMetadata(topic).length]),
      );
      const shares = sharePartitions(Math.max(...partitionsByTopic.values()), members.map(claimOf));
      return members.map(({ memberId }) => {
        const share = shares.get(memberId) ?? [];
        const assignment = Object.fromEntries(
          [...partitionsByTopic].map(([topic, count]) => [
            topic,
            share.filter((partition) => partition < count),
          ]),
        );
        return {
          memberId,
          memberAssignment: kafkajs.AssignerProtocol.MemberAssignment.encode({
            version: 1,
            assignment,
            userData: Buffer.alloc(0),
          }),
        };
      });
    },
  });
}

/** Shares differ by at most one. Where two claim the same partition, the first by member id keeps it. */
export function sharePartitions(
  partitions: number,
  claims: readonly Claim[],
): ReadonlyMap<string, readonly number[]> {
  const byMemberId = [...claims].sort((a, b) => (a.memberId < b.memberId ? -1 : 1));
  const current: (string | undefined)[] = [];
  for (const { memberId, held } of byMemberId) {
    for (const partition of held) current[partition] ??= memberId;
  }
  const members = byMemberId.map(({ memberId }) => memberId);
  const shares = new Map(members.map((memberId) => [memberId, [] as number[]]));
  for (const [partition, owner] of spreadPartitions(partitions, members, current).entries()) {
    if (owner !== undefined) shares.get(owner)?.push(partition);
  }
  return shares;
}

function claimOf({ memberId, memberMetadata }: GroupMember): Claim {
  const userData = kafkajs.AssignerProtocol.MemberMetadata.decode(memberMetadata)?.userData;
  return { memberId, held: parseHeld(userData) };
}

/** Another program in our group may send anything here; a claim that cannot be read claims nothing. */
function parseHeld(userData: Buffer | undefined): readonly number[] {
  const words = (userData?.toString() ?? "").split(",");
  return words.filter((word) => /^\d{1,9}$/.test(word)).map(Number);
}
