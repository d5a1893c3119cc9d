// The stage where decisions about models take effect: between two batches, before the next one is forecast. Where no
// input comes, a batch of its own carries them.

import type { Batch } from "../domain.ts";
import type { LaneDesk } from "./lane-desk.ts";

/** So long a decision waits for input to go with. */
const idleMs = 250;

export async function* enactDecisions<T>(
  batches: AsyncIterable<Batch<T>>,
  desk: LaneDesk,
  emptyBatch: () => Batch<T>,
): AsyncGenerator<Batch<T>> {
  const iterator = batches[Symbol.asyncIterator]();
  let next: Coming<IteratorResult<Batch<T>>> | null = null;
  try {
    for (;;) {
      next ??= new Coming(iterator.next());
      let batch = emptyBatch();
      if (await comesFirst(next, desk)) {
        const result: IteratorResult<Batch<T>> = await next.promise;
        next = null;
        if (result.done === true) return;
        batch = result.value;
      }
      yield { ...batch, records: [...batch.records, ...desk.enact()] };
    }
  } finally {
    // A read that is under way ends with the ownership of the partition; nobody must wait for it here.
    if (next === null) await iterator.return?.();
  }
}

/**
 * Something that is waited for again and again until it comes. It has one slot for whoever waits at the moment: a
 * promise that is raced against others remembers every race, and input may not come for months.
 */
class Coming<T> {
  readonly promise: Promise<T>;
  onCome: () => void = () => {};
  hasCome = false;

  constructor(promise: Promise<T>) {
    this.promise = promise;
    const come = () => {
      this.hasCome = true;
      this.onCome();
    };
    promise.then(come, come);
  }
}

/** False when a decision waits and no input comes for a while. */
async function comesFirst(input: Coming<unknown>, desk: LaneDesk): Promise<boolean> {
  await new Promise<void>((resolve) => {
    input.onCome = resolve;
    desk.onWaiting = resolve;
    if (input.hasCome || desk.isWaiting) resolve();
  });
  if (input.hasCome) return true;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, idleMs);
    input.onCome = () => {
      clearTimeout(timer);
      resolve();
    };
  });
  return input.hasCome;
}
