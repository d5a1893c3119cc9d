// A trainer behind a turnstile: while it is shut, trainings wait outside. Lets one worker be measured with and without
// training, by turns, while everything else about it stays as it is.

import type { ModelTrainer, TrainingResult, TrainingTask } from "../../src/training/training-task.ts";

export class Turnstile implements ModelTrainer {
  readonly #trainer: ModelTrainer;
  readonly #inside = new Set<Promise<unknown>>();
  readonly #arrived: (() => void)[] = [];
  readonly #waiting: (() => void)[] = [];
  #isShut = true;
  #trained = 0;

  constructor(trainer: ModelTrainer) {
    this.#trainer = trainer;
  }

  /** Models that came out of it so far. */
  get trained(): number {
    return this.#trained;
  }

  async train(tasks: readonly TrainingTask[], signal: AbortSignal): Promise<readonly TrainingResult[]> {
    while (this.#isShut && !signal.aborted) await this.#opening(signal);
    const training = this.#trainer.train(tasks, signal);
    this.#inside.add(training);
    for (const arrive of this.#arrived.splice(0)) arrive();
    try {
      const results = await training;
      this.#trained += results.filter(({ outcome }) => outcome === "trained").length;
      return results;
    } finally {
      this.#inside.delete(training);
    }
  }

  /** Resolves once a training is under way. */
  async open(): Promise<void> {
    this.#isShut = false;
    for (const enter of this.#waiting.splice(0)) enter();
    if (this.#inside.size === 0) await new Promise<void>((resolve) => this.#arrived.push(resolve));
  }

  /** Resolves once none is under way. */
  async shut(): Promise<void> {
    this.#isShut = true;
    await Promise.allSettled(this.#inside);
  }

  close(): Promise<void> {
    return this.#trainer.close();
  }

  #opening(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }
}
