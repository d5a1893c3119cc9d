// Assigns partition numbers to members: evenly, and with as few moves as possible.

/**
 * Gives each partition number an owner among `members`. A current owner keeps its partitions as far as an even spread
 * allows. Without members, no partition has an owner.
 */
export function spreadPartitions<Member>(
  partitions: number,
  members: readonly Member[],
  current: readonly (Member | undefined)[],
): (Member | undefined)[] {
  const held = new Map(members.map((member) => [member, [] as number[]]));
  const free: number[] = [];
  for (let partition = 0; partition < partitions; partition++) {
    const owner = current[partition];
    const kept = owner === undefined ? undefined : held.get(owner);
    (kept ?? free).push(partition);
  }
  const byLoad = () => [...held.values()].sort((a, b) => a.length - b.length);
  if (members.length > 0) {
    for (const partition of free) byLoad()[0].push(partition);
    for (let loads = byLoad(); isUneven(loads); loads = byLoad()) {
      loads[0].push(...loads[loads.length - 1].splice(-1));
    }
  }
  const owners = new Array<Member | undefined>(partitions).fill(undefined);
  for (const [member, partitionsHeld] of held) {
    for (const partition of partitionsHeld) owners[partition] = member;
  }
  return owners;
}

function isUneven(loads: readonly (readonly number[])[]): boolean {
  return loads[loads.length - 1].length - loads[0].length > 1;
}
