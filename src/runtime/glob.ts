// Patterns for series ids.

/**
 * `*` stands for any characters, `?` for one. Each part between stars matches at its first occurrence only (a lookahead
 * does not backtrack), so a hostile id costs no more than a plain one.
 */
export function compileGlob(glob: string): RegExp {
  const [first, ...rest] = glob.split(/\*+/).map(partToPattern);
  const last = rest.pop();
  const middle = rest.map((part, index) => `(?=(.*?${part}))\\${index + 1}`).join("");
  return new RegExp(`^${first}${middle}${last === undefined ? "" : `.*${last}`}$`, "su");
}

function partToPattern(part: string): string {
  return part.replace(/[\\^$.*+()[\]{}|/]/g, "\\$&").replaceAll("?", ".");
}
