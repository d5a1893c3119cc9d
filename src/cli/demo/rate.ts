// How fast a counter grows, over the last few seconds.

const spanMs = 3_000;

export class Rate {
  readonly #samples: { readonly timeMs: number; readonly count: number }[] = [];

  /** Notes the counter and tells its growth per second since about three seconds ago. */
  update(timeMs: number, count: number): number {
    this.#samples.push({ timeMs, count });
    while (this.#samples.length > 2 && timeMs - this.#samples[1].timeMs >= spanMs) this.#samples.shift();
    const [oldest] = this.#samples;
    return timeMs === oldest.timeMs ? 0 : ((count - oldest.count) * 1000) / (timeMs - oldest.timeMs);
  }
}
