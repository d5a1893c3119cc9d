// The stage where decisions about models take effect: between two batches, before the next one is forecast. Where no
// input comes, a batch of its own carries them.

import type { Batch } from "../domain.ts";
import { settlesWithin } from "../runtime/waiting.ts";
import type { LaneDesk } from "./lane-desk.ts";

/** So long a decision waits for input to go with. */
const idleMs = 250;

export async function* enactDecisions<T>(
  batches: AsyncIterable<Batch<T>>,
  desk: LaneDesk,
  emptyBatch: () => Batch<T>,
): AsyncGenerator<Batch<T>> {
  const iterator = batches[Symbol.asyncIterator]();
  let next: Promise<IteratorResult<Batch<T>>> | null = null;
  try {
    for (;;) {
      next ??= iterator.next();
      let batch = emptyBatch();
      if (await comesFirst(next, desk)) {
        const result: IteratorResult<Batch<T>> = await next;
        next = null;
        if (result.done === true) return;
        batch = result.value;
      }
      yield { ...batch, records: [...batch.records, ...desk.enact()] };
    }
  } finally {
    // A read that is under way ends with the ownership of the partition; nobody must wait for it here.
    if (next === null) await iterator.return?.();
    else next.catch(() => undefined);
  }
}

/** False when a decision waits and no input comes for a while. */
async function comesFirst(next: Promise<unknown>, desk: LaneDesk): Promise<boolean> {
  const isInput = await new Promise<boolean>((resolve) => {
    const settled = () => resolve(true);
    next.then(settled, settled);
    // A slot, not a promise: one that is raced against every batch would remember every race.
    desk.onWaiting = () => resolve(false);
    if (desk.isWaiting) resolve(false);
  });
  return isInput || settlesWithin(next, idleMs);
}
