// Trains on threads of this process, so that the event loop only sends histories and receives models. Tasks wait in one queue
// for a free thread. A thread that broke fails its jobs with ENGINE_FAILED and is replaced before the next task. The first
// thread starts at once and shows whether the engine works; the others start when there is work for them. A thread without work
// ends after a while, which gives back its 30 to 100 MB, and starts again with the next task.

import { availableParallelism } from "node:os";
import { type FromThread, JobThread } from "../engine/threads/job-thread.ts";
import type { ExecutorSetup } from "../engine/threads/protocol.ts";
import { WorkQueue } from "../engine/threads/work-queue.ts";
import { type Cancel, systemClock, type Timers } from "../runtime/clock.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import type { ModelTrainer, TrainingResult, TrainingTask } from "./training-task.ts";

export interface TrainingThreadsOptions {
  readonly setup: ExecutorSetup;
  /** Most threads; 0 for all cores but one. TensorFlow always has one, since it runs its own threads. */
  readonly threads: number;
  /** How long a thread without work stays. */
  readonly idleMs?: number;
  readonly clock?: Timers;
}

/** Rejects with ENGINE_FAILED when the engine cannot be opened. */
export async function openTrainingThreads(options: TrainingThreadsOptions): Promise<ModelTrainer> {
  const trainer = new TrainingThreads(options);
  await trainer.open();
  return trainer;
}

interface SlotParts {
  readonly setup: ExecutorSetup;
  readonly idleMs: number;
  readonly clock: Timers;
}

/** Holds one thread: ends it when it has no work, and starts another when there is work again or the thread is gone. */
class ThreadSlot {
  readonly #parts: SlotParts;
  #thread: TrainingThread | null = null;
  #ending: Promise<void> = Promise.resolve();
  #stopTimer: Cancel = () => {};

  constructor(parts: SlotParts) {
    this.#parts = parts;
  }

  async open(): Promise<void> {
    await this.#started().ready;
    this.#endLater();
  }

  async train(tasks: readonly TrainingTask[], signal: AbortSignal): Promise<readonly TrainingResult[]> {
    this.#stopTimer();
    try {
      return await this.#started().train(tasks, signal);
    } finally {
      this.#endLater();
    }
  }

  async close(): Promise<void> {
    this.#end();
    await this.#ending;
  }

  #started(): TrainingThread {
    if (this.#thread === null || this.#thread.isGone) this.#thread = new TrainingThread(this.#parts.setup);
    return this.#thread;
  }

  #endLater(): void {
    const { clock, idleMs, setup } = this.#parts;
    this.#stopTimer();
    // TensorFlow takes seconds to start.
    if (this.#thread === null || setup.kind === "tensorflow") return;
    this.#stopTimer = clock.after(idleMs, () => this.#end());
  }

  #end(): void {
    this.#stopTimer();
    const thread = this.#thread;
    this.#thread = null;
    if (thread !== null && !thread.isGone) this.#ending = this.#ending.then(() => thread.close());
  }
}

/** Starting a thread costs about a quarter of a second of processor time; most trainings come in runs. */
const usualIdleMs = 20_000;

class TrainingThreads implements ModelTrainer {
  readonly #slotParts: SlotParts;
  readonly #maxSlots: number;
  readonly #slots: ThreadSlot[] = [];
  readonly #queue: WorkQueue<ThreadSlot>;

  constructor({ setup, threads, idleMs = usualIdleMs, clock = systemClock }: TrainingThreadsOptions) {
    this.#slotParts = { setup, idleMs, clock };
    const wanted = threads === 0 ? Math.max(1, availableParallelism() - 1) : threads;
    this.#maxSlots = setup.kind === "tensorflow" ? 1 : wanted;
    this.#queue = new WorkQueue({ perWorker: 1, addWorker: () => this.#addSlot() });
  }

  async open(): Promise<void> {
    const first = this.#addSlot() as ThreadSlot;
    this.#queue.include(first);
    await first.open();
  }

  async train(tasks: readonly TrainingTask[], signal: AbortSignal): Promise<readonly TrainingResult[]> {
    if (tasks.length === 0) return [];
    // Stacked arithmetic is faster the larger the stack. Otherwise every task goes to the first free thread.
    const groups = this.#slotParts.setup.kind === "tensorflow" ? [tasks] : tasks.map((task) => [task]);
    // Waits for all, so that nothing is running when this rejects.
    const settled = await Promise.allSettled(groups.map((group) => this.#trainGroup(group, signal)));
    return settled.flatMap((one) => {
      if (one.status === "rejected") throw one.reason;
      return one.value;
    });
  }

  async close(): Promise<void> {
    this.#queue.refuse(new ForecastnetError("ENGINE_FAILED", "the trainer was closed"));
    await Promise.all(this.#slots.splice(0).map((slot) => slot.close()));
  }

  #trainGroup(tasks: readonly TrainingTask[], signal: AbortSignal): Promise<readonly TrainingResult[]> {
    const cancelled = () => tasks.map((): TrainingResult => ({ outcome: "cancelled" }));
    return new Promise((resolve, reject) => {
      // Answers at once while the tasks wait for a thread; once they run, the thread answers.
      const giveUp = () => resolve(cancelled());
      const stopWaiting = () => signal.removeEventListener("abort", giveUp);
      signal.addEventListener("abort", giveUp, { once: true });
      this.#queue
        .add(tasks.length, async (slot) => {
          stopWaiting();
          return signal.aborted ? cancelled() : slot.train(tasks, signal);
        })
        .finally(stopWaiting)
        .then(resolve, reject);
    });
  }

  /** Null when the limit is reached. */
  #addSlot(): ThreadSlot | null {
    if (this.#slots.length >= this.#maxSlots) return null;
    const slot = new ThreadSlot(this.#slotParts);
    this.#slots.push(slot);
    return slot;
  }
}

/** Training data is outside the heap. The limit protects the worker from a training that fills its memory. */
const heapMb = 1_024;

class TrainingThread extends JobThread<ToTrainingThread, readonly TrainingResult[], null> {
  constructor(setup: ExecutorSetup) {
    super({ setup, entry: new URL("./thread-entry.js", import.meta.url), name: "a training thread", heapMb });
  }

  /** Trains all tasks together. */
  async train(tasks: readonly TrainingTask[], signal: AbortSignal): Promise<readonly TrainingResult[]> {
    let cancel = () => {};
    const results = this.start((job) => {
      cancel = () => this.post({ kind: "cancel", job });
      return { kind: "train", job, tasks };
    });
    signal.addEventListener("abort", cancel, { once: true });
    if (signal.aborted) cancel();
    try {
      return await results;
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  }
}

/** Messages to a training thread. Histories are copied, which takes microseconds and leaves the caller's own alone. */
export type ToTrainingThread =
  | { readonly kind: "train"; readonly job: number; readonly tasks: readonly TrainingTask[] }
  | { readonly kind: "cancel"; readonly job: number }
  | { readonly kind: "close" };

/** Messages from a training thread. Weights come back in shared memory, ready to serve. */
export type FromTrainingThread = FromThread<readonly TrainingResult[], null>;
