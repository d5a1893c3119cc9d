// A visible, bounded buffer between two stages: lets the upstream run ahead of the downstream, so that the
// next batch is computed while the one before is being committed.

export interface AheadOptions<T> {
  /** How many items may wait for the downstream. */
  readonly depth: number;
  /** Whether, while the downstream works on this item, the next ones are to be pulled already. */
  isWorthwhile(item: T): boolean;
  /** Hears how many items are waiting. */
  onDepth(waiting: number): void;
}

/** Yields what `items` yields. */
export async function* ahead<T>(items: AsyncIterable<T>, options: AheadOptions<T>): AsyncGenerator<T> {
  const { depth, isWorthwhile, onDepth } = options;
  const iterator = items[Symbol.asyncIterator]();
  const pulled: Promise<IteratorResult<T>>[] = [];
  let ready = 0;
  const pull = (): void => {
    const next = iterator.next();
    // A failure is met when its turn comes; until then it must not count as unhandled.
    next.then(
      () => onDepth(++ready),
      () => undefined,
    );
    pulled.push(next);
  };
  try {
    for (;;) {
      if (pulled.length === 0) pull();
      const result = await (pulled.shift() as Promise<IteratorResult<T>>);
      onDepth(--ready);
      if (result.done === true) return;
      if (isWorthwhile(result.value)) while (pulled.length < depth) pull();
      yield result.value;
    }
  } finally {
    // Not awaited: it waits its turn behind the pulls, and a quiet input may answer those much later or never.
    iterator.return?.().catch(() => undefined); // Whoever left early has a reason of their own to tell.
  }
}
