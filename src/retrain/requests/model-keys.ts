// The keys of the models topic. A model lies under its own key; what trainers and people have to say of it lies
// beside it, under the same key with a suffix that no series id can have: it begins with a NUL.

const suffixByPart = { outcome: "\u0000outcome", order: "\u0000order" } as const;

export interface ModelKey {
  /** A series id, or the name of a cohort. */
  readonly modelKey: string;
  readonly part: "champion" | "outcome" | "order";
}

/** Where the outcome of a training lies until the model's owner has judged it. */
export function outcomeKey(modelKey: string): string {
  return modelKey + suffixByPart.outcome;
}

/** Where a person's order lies until the model's owner has carried it out. */
export function orderKey(modelKey: string): string {
  return modelKey + suffixByPart.order;
}

export function readModelKey(key: string): ModelKey {
  for (const part of ["outcome", "order"] as const) {
    const suffix = suffixByPart[part];
    if (key.endsWith(suffix)) return { modelKey: key.slice(0, -suffix.length), part };
  }
  return { modelKey: key, part: "champion" };
}
