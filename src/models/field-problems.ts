// Problems of single fields of data from outside, in one wording: `field: what was given; what may be given`.

/** The problem of a field that must be a whole number. */
export function countProblems(field: string, value: unknown, { least = 1, most = Infinity } = {}): string[] {
  if (isWhole(value) && value >= least && value <= most) return [];
  const range = most === Infinity ? `of ${least} or more` : `from ${least} to ${most}`;
  return [`${field}: ${shown(value)}; give a whole number ${range}`];
}

/** The problem of a field that must be one of a few names. */
export function choiceProblems(field: string, value: unknown, allowed: readonly string[]): string[] {
  if ((allowed as readonly unknown[]).includes(value)) return [];
  return [`${field}: ${shown(value)}; give ${allowed.map((name) => JSON.stringify(name)).join(" or ")}`];
}

/** A plain object: neither null nor a list. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isWhole(value: unknown): value is number {
  return Number.isInteger(value);
}

/** A value in a message: JSON, because `String` fails on some objects, cut to 60 characters. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length <= 60 ? text : `${text.slice(0, 57)}...`;
}
