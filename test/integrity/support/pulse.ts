// Watches every partition of a story's input being settled, and remembers the longest time one stood still.
// Meaningful only while sensors keep sending to all of them.

import { setTimeout as pause } from "node:timers/promises";
import type { Story } from "./story.ts";

const sampleMs = 100;

export class Pulse {
  readonly #ended: Promise<void>;
  #isStopping = false;
  #longestMs = 0;

  constructor(story: Story) {
    this.#ended = this.#watch(story);
    this.#ended.catch(() => undefined); // told by stop()
  }

  /** Ends the watch; resolves with the longest standstill of any partition. */
  async stop(): Promise<number> {
    this.#isStopping = true;
    await this.#ended;
    return this.#longestMs;
  }

  async #watch({ probe, group, input }: Story): Promise<void> {
    const lastByPartition = new Map<number, { readonly offset: number; readonly atMs: number }>();
    while (!this.#isStopping) {
      const atMs = performance.now();
      for (const [partition, offset] of await probe.committed(group, input)) {
        const last = lastByPartition.get(partition);
        if (last !== undefined) this.#longestMs = Math.max(this.#longestMs, atMs - last.atMs);
        if (offset !== last?.offset) lastByPartition.set(partition, { offset, atMs });
      }
      await pause(sampleMs);
    }
  }
}
