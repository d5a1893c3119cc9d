// The key of a model that several series share. A prefix keeps a cohort apart from a series of the same name.

const prefix = "cohort:";

export function cohortKey(name: string): string {
  return prefix + name;
}

export function isCohortKey(modelKey: string): boolean {
  return modelKey.startsWith(prefix);
}

export function cohortName(modelKey: string): string {
  return modelKey.slice(prefix.length);
}
