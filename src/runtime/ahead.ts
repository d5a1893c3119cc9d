// A bounded buffer between two stages. It lets the upstream run ahead of the downstream, so that the next batch is
// computed while the last one is being committed.

interface AheadOptions<T> {
  /** Most items that wait for the downstream. */
  readonly depth: number;
  /** Whether to pull the next items while the downstream works on this one. */
  isWorthwhile(item: T): boolean;
  /** Receives the number of waiting items. */
  onDepth(waiting: number): void;
}

export async function* ahead<T>(items: AsyncIterable<T>, options: AheadOptions<T>): AsyncGenerator<T> {
  const { depth, isWorthwhile, onDepth } = options;
  const iterator = items[Symbol.asyncIterator]();
  const pulled: Promise<IteratorResult<T>>[] = [];
  let ready = 0;
  const pull = (): void => {
    const next = iterator.next();
    // A failure is thrown in its turn; until then it must not count as unhandled.
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
    // Not awaited: it queues behind the pulls, and a quiet input may answer those much later or never.
    iterator.return?.().catch(() => undefined); // A reader that left early has its own error.
  }
}
