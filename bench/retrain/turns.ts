// Conditions that are compared take turns within one run, so that whatever else the machine does meets all of them;
// ratios are taken within a round, between neighbours in time.

/**
 * What each condition gave in each round. Every second round goes backwards: a machine that grows slower throughout a
 * round favours no one.
 */
export async function inTurns<Name extends string, Facts>(
  names: readonly Name[],
  rounds: number,
  act: (name: Name, round: number) => Promise<Facts>,
): Promise<Readonly<Record<Name, readonly Facts[]>>> {
  const given = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, Facts[]>;
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? names : [...names].reverse();
    for (const name of order) given[name].push(await act(name, round));
  }
  return given;
}

/** One ratio a round. */
export function ratiosWithin<Facts>(
  above: readonly Facts[],
  below: readonly Facts[],
  read: (facts: Facts) => number,
): number[] {
  if (above.length !== below.length) {
    throw new Error(`${above.length} rounds cannot be held against ${below.length}`);
  }
  return above.map((facts, round) => read(facts) / read(below[round]));
}

export function times(ratio: number): string {
  return `${ratio.toFixed(2)} ×`;
}
