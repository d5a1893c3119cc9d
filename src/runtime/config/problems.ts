// Problems of a configuration, and the wording that all messages share:
//   key: what was given (its source), what to do instead

import { ForecastnetError } from "../errors.ts";

/** What is wrong with a value, without its source. */
export interface Flaw {
  /** The part of the value: "" for the whole, "[1].topic" for a part. */
  readonly path: string;
  readonly what: string;
  readonly advice: string;
}

export interface Problem {
  readonly key: string;
  readonly what: string;
  /** "default", "file forecastnet.yaml", "environment FORECASTNET_GROUP" or "flag --group". */
  readonly source: string;
  readonly advice: string;
}

export function refusal(path: string, value: unknown, allowed: string): Flaw {
  return { path, what: `${show(value)} given`, advice: `allowed: ${allowed}` };
}

/** Omits the value: an unknown key may hold a misplaced secret. */
export function unknownKey(path: string, name: string, known: Iterable<string>): Flaw {
  return { path, what: "unknown key", advice: adviceFor(name, [...known]) };
}

function describeProblem(problem: Problem): string {
  return `${problem.key}: ${problem.what} (${problem.source}), ${problem.advice}`;
}

export function configInvalid(problems: readonly Problem[]): ForecastnetError {
  const lines = problems.map(describeProblem);
  const count = lines.length === 1 ? "1 problem" : `${lines.length} problems`;
  const message = [`the configuration is not valid (${count})`, ...lines].join("\n  ");
  return new ForecastnetError("CONFIG_INVALID", message, { context: { problems: lines } });
}

function show(value: unknown): string {
  const text = value === undefined ? "nothing" : JSON.stringify(value);
  const withoutCredentials = text.replace(/\/\/[^/\s"]*@/g, "//***@");
  return withoutCredentials.length > 120 ? `${withoutCredentials.slice(0, 117)}...` : withoutCredentials;
}

function adviceFor(name: string, known: readonly string[]): string {
  const asFile = [`${name}File`, `${name}_FILE`].find((candidate) => known.includes(candidate));
  if (asFile !== undefined) {
    return `put the secret into a file and name that file in ${asFile}`;
  }
  const nearest = nearestName(name, known);
  return nearest === null ? "remove it, or see docs/configuration.md" : `did you mean ${nearest}?`;
}

function nearestName(name: string, known: readonly string[]): string | null {
  const inGroup = known.find((candidate) => candidate.endsWith(`.${name}`));
  if (inGroup !== undefined) {
    return inGroup;
  }
  let nearest: string | null = null;
  // With more than a third of the letters wrong it is another word, not a typing error.
  let smallest = Math.max(2, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < smallest) {
      smallest = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

/** Levenshtein distance. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = row[j - 1] + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j] + 1, next[j - 1] + 1));
    }
    row = next;
  }
  return row[to.length];
}
