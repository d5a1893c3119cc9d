// Names that somebody may have meant who gave one that does not exist.

/** The names most like the given one, best first; none that has little in common with it. */
export function nearNames(given: string, names: Iterable<string>, most = 3): readonly string[] {
  const wanted = given.toLowerCase();
  const pairs = pairsOf(wanted);
  const found: { readonly name: string; readonly likeness: number }[] = [];
  for (const name of names) {
    const other = name.toLowerCase();
    const isPart = wanted.length > 1 && other.includes(wanted);
    const likeness = isPart ? 1 : likenessOf(pairs, pairsOf(other));
    if (likeness >= 0.5) found.push({ name, likeness });
  }
  return found
    .sort((a, b) => b.likeness - a.likeness || a.name.length - b.name.length || (a.name < b.name ? -1 : 1))
    .slice(0, most)
    .map(({ name }) => name);
}

/** Pairs of neighbouring letters: a slip of the finger changes two of them, and their order does not matter. */
function pairsOf(text: string): ReadonlySet<string> {
  const padded = ` ${text} `;
  return new Set(Array.from({ length: padded.length - 1 }, (_, at) => padded.slice(at, at + 2)));
}

/** Dice's coefficient: the share of pairs that both have. */
function likenessOf(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  let shared = 0;
  for (const pair of one) if (other.has(pair)) shared++;
  return (2 * shared) / (one.size + other.size);
}
