// Patterns that series ids are matched by.

/**
 * `*` is any run of characters, `?` is one. Each stretch between stars is taken at its first occurrence and
 * never tried elsewhere (a lookahead does not backtrack), so a hostile id costs no more than a plain one.
 */
export function compileGlob(glob: string): RegExp {
  const [first, ...rest] = glob.split(/\*+/).map(stretchToPattern);
  const last = rest.pop();
  const middle = rest.map((stretch, index) => `(?=(.*?${stretch}))\\${index + 1}`).join("");
  return new RegExp(`^${first}${middle}${last === undefined ? "" : `.*${last}`}$`, "su");
}

function stretchToPattern(stretch: string): string {
  return stretch.replace(/[\\^$.*+()[\]{}|/]/g, "\\$&").replaceAll("?", ".");
}
