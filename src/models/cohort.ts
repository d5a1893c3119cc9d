// Keys of cohorts. A cohort is several series that share one model. A prefix tells the key of a cohort from a series of the
// same name. Every partition stores the model; the owner of one of them decides about it.

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

/** The partition whose owner decides about the cohort's model. */
export function decidingPartition(cohort: string, partitions: number): number {
  let hash = 0;
  for (const unit of Buffer.from(cohort)) hash = (31 * hash + unit) >>> 0;
  return hash % partitions;
}

/** True for a series of the partition, and for a cohort whose model the owner of this partition decides about. */
export function isDecidedHere(
  modelKey: string,
  { partition, partitions }: { readonly partition: number; readonly partitions: number },
): boolean {
  return !isCohortKey(modelKey) || decidingPartition(cohortName(modelKey), partitions) === partition;
}
