// The stage where decisions about models take effect: between two batches, before the next one is forecast. Without input, an
// empty batch carries them.

import type { Batch } from "../domain.ts";
import type { PartitionLifecycle } from "./partition-lifecycle.ts";

/** How long a decision waits for input to commit with. */
const idleMs = 250;

export async function* applyDecisions<T extends { readonly seriesId: string }>(
  batches: AsyncIterable<Batch<T>>,
  lifecycle: PartitionLifecycle,
  emptyBatch: () => Batch<T>,
): AsyncGenerator<Batch<T>> {
  const iterator = batches[Symbol.asyncIterator]();
  let next: Coming<IteratorResult<Batch<T>>> | null = null;
  try {
    for (;;) {
      next ??= new Coming(iterator.next());
      let batch = emptyBatch();
      if (await comesFirst(next, lifecycle)) {
        const result: IteratorResult<Batch<T>> = await next.promise;
        next = null;
        if (result.done === true) return;
        batch = result.value;
      }
      yield applyTo(batch, lifecycle);
    }
  } finally {
    // A pending read ends with the ownership of the partition. Waiting for it here would block.
    if (next === null) await iterator.return?.();
  }
}

function applyTo<T extends { readonly seriesId: string }>(
  batch: Batch<T>,
  lifecycle: PartitionLifecycle,
): Batch<T> {
  const records = [...batch.records, ...lifecycle.apply(sendersIn(batch))];
  const countForgotten = lifecycle.expiry.takeCount();
  return {
    ...batch,
    records,
    settle: async (all) => {
      await batch.settle(all);
      countForgotten();
    },
  };
}

/** Tells whether a series sends in the batch. The set is built on the first call, which is rare. */
function sendersIn({ items }: Batch<{ readonly seriesId: string }>): (seriesId: string) => boolean {
  let ids: ReadonlySet<string> | null = null;
  return (seriesId) => {
    ids ??= new Set(items.map((item) => item.seriesId));
    return ids.has(seriesId);
  };
}

/**
 * A promise that is awaited repeatedly until it settles, with one slot for the current waiter. `Promise.race` would add a
 * listener each time, and input may not come for months.
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

/** True when input has come; false when a decision waits and no input came for `idleMs`. */
async function comesFirst(input: Coming<unknown>, lifecycle: PartitionLifecycle): Promise<boolean> {
  await new Promise<void>((resolve) => {
    input.onCome = resolve;
    lifecycle.onDecided = resolve;
    if (input.hasCome || lifecycle.isWaiting) resolve();
  });
  if (input.hasCome) return true;
  await new Promise<void>((resolve) => {
    const cancel = lifecycle.view.clock.after(idleMs, resolve);
    input.onCome = () => {
      cancel();
      resolve();
    };
  });
  return input.hasCome;
}
