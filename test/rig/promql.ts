// What a PromQL expression asks for: the metrics it names, with their matchers, and the labels it groups and joins by. No
// parser: promtool has judged the syntax before.

export interface Matcher {
  readonly label: string;
  readonly operator: "=" | "!=" | "=~" | "!~";
  readonly value: string;
}

export interface Selector {
  readonly metric: string;
  readonly matchers: readonly Matcher[];
}

export interface Asked {
  readonly selectors: readonly Selector[];
  /** Of `by (…)`, `on (…)` and the like. */
  readonly groupedBy: readonly string[];
}

const groupings = /\b(?:by|on|without|ignoring|group_left|group_right)\s*\(([^)]*)\)/g;
const words = new Set(["and", "or", "unless", "bool", "offset"]);
const matcher = /(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g;
/** A name that no parenthesis follows, for that is a function; not a part of a number or of a duration. */
const selector = /(?<![\w:.])([a-zA-Z_:][\w:]*)\b(?!\s*\()\s*(\{[^}]*\})?/g;

export function askedBy(expr: string): Asked {
  const groupedBy = [...expr.matchAll(groupings)].flatMap(([, labels = ""]) => labels.match(/\w+/g) ?? []);
  const bare = expr
    .replace(groupings, " ")
    .replace(/\[[^\]]*\]/g, " ")
    .replace(/\boffset\s+\w+/g, " ");
  const selectors = [...bare.matchAll(selector)]
    .filter(([, metric = ""]) => !words.has(metric))
    .map(([, metric = "", braces = ""]) => ({ metric, matchers: matchersIn(braces) }));
  return { selectors, groupedBy };
}

function matchersIn(braces: string): Matcher[] {
  return [...braces.matchAll(matcher)].map(([, label = "", operator = "", value = ""]) => ({
    label,
    operator: operator as Matcher["operator"],
    value,
  }));
}
