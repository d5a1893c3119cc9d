// A visible, bounded buffer between two stages: lets the upstream run ahead of the downstream by so many
// items, so that the next batch is computed while the one before is being committed.

/** Yields what `items` yields, pulled up to `depth` items ahead. `onDepth` hears how many are waiting. */
export async function* ahead<T>(
  items: AsyncIterable<T>,
  depth: number,
  onDepth: (waiting: number) => void,
): AsyncGenerator<T> {
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
      while (pulled.length <= depth) pull();
      const result = await (pulled.shift() as Promise<IteratorResult<T>>);
      onDepth(--ready);
      if (result.done === true) return;
      yield result.value;
    }
  } finally {
    // Not awaited: it waits its turn behind the pulls, and a quiet input may answer those much later or never.
    iterator.return?.().catch(() => undefined); // Whoever left early has a reason of their own to tell.
  }
}
