// Text for a terminal: times, numbers, tables, and suggestions for a misspelt name. Text from outside never reaches the
// terminal with control characters in it.

/** UTC, to the second. */
export function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")}Z`;
}

export function optionalTime(ms: number | null): string {
  return ms === null ? "–" : timeText(ms);
}

/** Four significant digits, without trailing zeros. */
export function numberText(value: number): string {
  return Number.isFinite(value) ? String(Number(value.toPrecision(4))) : "–";
}

export function optionalNumber(value: number | null): string {
  return value === null ? "–" : numberText(value);
}

/** Series ids and reasons come from outside: control characters are shown as escapes. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) => {
    const code = character.codePointAt(0) as number;
    return `\\u{${code.toString(16)}}`;
  });
}

export interface Column<T> {
  readonly title: string;
  readonly text: (row: T) => string;
  readonly isNumber?: boolean;
}

/** A header and one line per row; each column is as wide as its widest text. */
export function tableLines<T>(columns: readonly Column<T>[], rows: readonly T[]): readonly string[] {
  const cells = [
    columns.map(({ title }) => title),
    ...rows.map((row) => columns.map(({ text }) => printable(text(row)))),
  ];
  const widths = columns.map((_, c) => cells.reduce((most, line) => Math.max(most, lengthOf(line[c])), 0));
  return cells.map((line) =>
    line
      .map((cell, c) => {
        const space = " ".repeat(widths[c] - lengthOf(cell));
        return columns[c].isNumber ? space + cell : cell + space;
      })
      .join("  ")
      .trimEnd(),
  );
}

function lengthOf(text: string): number {
  return [...text].length;
}

/** The last words of a message about an unknown name: similar names, or else `fallback`. */
export function suggestion(given: string, names: Iterable<string>, fallback: string): string {
  const similar = similarNames(given, names);
  return similar.length > 0 ? `did you mean ${similar.join(" or ")}?` : fallback;
}

/** At most three names, most similar first. */
function similarNames(given: string, names: Iterable<string>): readonly string[] {
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
    .slice(0, 3)
    .map(({ name }) => name);
}

/** Pairs of neighbouring letters: a typing error changes only two of them. */
function pairsOf(text: string): ReadonlySet<string> {
  const padded = ` ${text} `;
  return new Set(Array.from({ length: padded.length - 1 }, (_, at) => padded.slice(at, at + 2)));
}

/** Dice's coefficient: the share of pairs that both texts have. */
function likenessOf(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  let shared = 0;
  for (const pair of one) if (other.has(pair)) shared++;
  return (2 * shared) / (one.size + other.size);
}
