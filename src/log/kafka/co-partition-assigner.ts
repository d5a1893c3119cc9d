// Who owns which partition number. One owner per number across all input topics, because state is kept per
// number; even; and sticky, because a moved partition must be restored by its new owner. Each member tells
// the leader what it holds in the user data of its join request.

import type { GroupMember, PartitionAssigner } from "kafkajs";
import kafkajs from "kafkajs";

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
        userData: Buffer.from(JSON.stringify(held())),
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

/** Gives every partition to one member: shares differ by at most one, and a holder keeps what fits its share. */
export function sharePartitions(
  partitions: number,
  claims: readonly Claim[],
): ReadonlyMap<string, readonly number[]> {
  const members = [...claims].sort((a, b) => (a.memberId < b.memberId ? -1 : 1));
  const floor = Math.floor(partitions / members.length);
  let extras = partitions % members.length;
  const free = new Set(Array.from({ length: partitions }, (_, partition) => partition));
  const shares = new Map<string, number[]>();
  // Those who hold more than the even share get the extra ones, so that nothing moves in vain.
  const byHolding = [...members].sort((a, b) => b.held.length - a.held.length);
  for (const { memberId, held } of byHolding) {
    const wanted = held.filter((partition) => free.has(partition));
    const isExtra = extras > 0 && wanted.length > floor;
    if (isExtra) extras--;
    const kept = wanted.slice(0, floor + (isExtra ? 1 : 0));
    for (const partition of kept) free.delete(partition);
    shares.set(memberId, kept);
  }
  for (const partition of free) {
    let poorest: number[] | undefined;
    for (const { memberId } of members) {
      const share = shares.get(memberId) ?? [];
      if (poorest === undefined || share.length < poorest.length) poorest = share;
    }
    poorest?.push(partition);
  }
  for (const share of shares.values()) share.sort((a, b) => a - b);
  return shares;
}

function claimOf({ memberId, memberMetadata }: GroupMember): Claim {
  const userData = kafkajs.AssignerProtocol.MemberMetadata.decode(memberMetadata)?.userData;
  return { memberId, held: parseHeld(userData) };
}

/** Another program in our group may send anything here; a claim that cannot be read claims nothing. */
function parseHeld(userData: Buffer | undefined): readonly number[] {
  const text = userData?.toString() ?? "";
  if (!/^\[[\d,]*\]$/.test(text)) return [];
  return (JSON.parse(text) as number[]).filter(Number.isSafeInteger);
}
