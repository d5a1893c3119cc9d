// Commits records of which some may be larger than their topic takes. A queue must not stand still because of one
// model or one bad request that is too large to be passed on: a smaller record then tells what it was.

import type { Outgoing } from "../../domain.ts";
import type { Commit, OwnedPartition } from "../../log/log.ts";
import { ForecastnetError } from "../../runtime/errors.ts";

export interface Fitting {
  readonly record: Outgoing;
  /** What to write instead when the topic refuses the record, for the reason given. Null when there is nothing smaller. */
  readonly smaller: ((why: string) => Outgoing) | null;
}

/** Commits everything in one transaction, with as few records made smaller as the log allows. */
export async function commitFitting(
  owned: OwnedPartition,
  commit: Commit,
  fittings: readonly Fitting[],
): Promise<void> {
  const chosen = [...fittings];
  for (;;) {
    try {
      const records = [...chosen.map(({ record }) => record), ...commit.records];
      return await owned.commit({ ...commit, records });
    } catch (error) {
      if (!(error instanceof ForecastnetError) || error.code !== "RECORD_TOO_LARGE") throw error;
      const index = largestIn(chosen, error.context.topic);
      if (index === -1) throw error;
      const { record, smaller } = chosen[index];
      chosen[index] = { record: smaller?.(error.message) ?? record, smaller: null };
    }
  }
}

function largestIn(fittings: readonly Fitting[], topic: unknown): number {
  let found = -1;
  for (const [i, { record, smaller }] of fittings.entries()) {
    if (smaller === null || record.topic !== topic) continue;
    if (found === -1 || sizeOf(record) > sizeOf(fittings[found].record)) found = i;
  }
  return found;
}

function sizeOf({ value }: Outgoing): number {
  return value?.length ?? 0;
}
