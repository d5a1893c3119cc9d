// Keys of the models topic. A model is stored under its own key. Outcomes of trainings and orders by hand are stored under the
// same key with a suffix that starts with NUL, which no series id contains.

const suffixByPart = { outcome: "\u0000outcome", order: "\u0000order" } as const;

export interface ModelKey {
  /** A series id, or the name of a cohort. */
  readonly modelKey: string;
  readonly part: "champion" | "outcome" | "order";
}

/** Key of a training's outcome until the owner of the model has judged it. */
export function outcomeKey(modelKey: string): string {
  return modelKey + suffixByPart.outcome;
}

/** Key of an order until the owner of the model has carried it out. */
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
