// Where a cohort is at home: its model lies in every partition, and the lane of one of them decides about it.

import { cohortName, isCohortKey } from "../models/cohort.ts";

export function homeOf(cohort: string, partitions: number): number {
  let hash = 0;
  for (const unit of Buffer.from(cohort)) hash = (31 * hash + unit) >>> 0;
  return hash % partitions;
}

export interface Place {
  readonly partition: number;
  /** How many there are. */
  readonly partitions: number;
}

/** Whether a model that is found here is decided about here: false for a cohort that is at home elsewhere. */
export function isAtHome(modelKey: string, { partition, partitions }: Place): boolean {
  return !isCohortKey(modelKey) || homeOf(cohortName(modelKey), partitions) === partition;
}
