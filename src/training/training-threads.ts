// Trains on threads of this process, so that the event loop only sends histories and receives models. Tasks wait in one queue
// for a free thread. A thread that broke fails its jobs with ENGINE_FAILED and is replaced before the next task. The first
// thread starts at once and shows whether the engine works; the others start when there is work for them.

import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import type { ExecutorSetup } from "../engine/threads/protocol.ts";
import { WorkQueue } from "../engine/threads/work-queue.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import { settlesWithin } from "../runtime/waiting.ts";
import type { ModelTrainer, TrainingResult, TrainingTask } from "./training-task.ts";

export interface TrainingThreadsOptions {
  readonly setup: ExecutorSetup;
  /** Most threads; 0 for all cores but one. TensorFlow always has one, since it runs its own threads. */
  readonly threads: number;
}

/** Rejects with ENGINE_FAILED when the engine cannot be opened. */
export async function openTrainingThreads(options: TrainingThreadsOptions): Promise<ModelTrainer> {
  const trainer = new TrainingThreads(options);
  await trainer.open();
  return trainer;
}

/** Holds one thread, and replaces it when it is gone. */
class ThreadSlot {
  readonly #setup: ExecutorSetup;
  #thread: TrainingThread | null = null;

  constructor(setup: ExecutorSetup) {
    this.#setup = setup;
  }

  get thread(): TrainingThread {
    if (this.#thread === null || this.#thread.isGone) this.#thread = new TrainingThread(this.#setup);
    return this.#thread;
  }

  async close(): Promise<void> {
    if (this.#thread !== null && !this.#thread.isGone) await this.#thread.close();
  }
}

class TrainingThreads implements ModelTrainer {
  readonly #setup: ExecutorSetup;
  readonly #maxSlots: number;
  readonly #slots: ThreadSlot[] = [];
  readonly #queue: WorkQueue<ThreadSlot>;

  constructor({ setup, threads }: TrainingThreadsOptions) {
    this.#setup = setup;
    const wanted = threads === 0 ? Math.max(1, availableParallelism() - 1) : threads;
    this.#maxSlots = setup.kind === "tensorflow" ? 1 : wanted;
    this.#queue = new WorkQueue({ perWorker: 1, addWorker: () => this.#addSlot() });
  }

  async open(): Promise<void> {
    const first = this.#addSlot() as ThreadSlot;
    this.#queue.include(first);
    await first.thread.ready;
  }

  async train(tasks: readonly TrainingTask[], signal: AbortSignal): Promise<readonly TrainingResult[]> {
    if (tasks.length === 0) return [];
    // Stacked arithmetic is faster the larger the stack. Otherwise every task goes to the first free thread.
    const groups = this.#setup.kind === "tensorflow" ? [tasks] : tasks.map((task) => [task]);
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
          return signal.aborted ? cancelled() : slot.thread.train(tasks, signal);
        })
        .finally(stopWaiting)
        .then(resolve, reject);
    });
  }

  /** Null when the limit is reached. */
  #addSlot(): ThreadSlot | null {
    if (this.#slots.length >= this.#maxSlots) return null;
    const slot = new ThreadSlot(this.#setup);
    this.#slots.push(slot);
    return slot;
  }
}

/** Longer than any stretch of training that does not yield. A thread that has not ended by then is terminated. */
const closingMs = 5_000;

/** Training data is outside the heap. The limit protects the worker from a training that fills its memory. */
const heapMb = 1_024;

interface PendingJob {
  readonly resolve: (results: readonly TrainingResult[]) => void;
  readonly reject: (error: ForecastnetError) => void;
}

export class TrainingThread {
  /** Resolves once the engine is open; rejects with the reason when it cannot be opened. */
  readonly ready: Promise<void>;
  readonly #worker: Worker;
  readonly #exited: Promise<void>;
  readonly #pendingByJob = new Map<number, PendingJob>();
  #settleReady: { resolve(): void; reject(error: ForecastnetError): void } | null = null;
  #lastJob = 0;
  #isGone = false;
  #crash: Error | null = null;

  constructor(setup: ExecutorSetup) {
    this.#worker = new Worker(new URL("./thread-entry.js", import.meta.url), {
      workerData: setup,
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
    });
    this.ready = new Promise((resolve, reject) => {
      this.#settleReady = { resolve, reject };
    });
    this.ready.catch(() => undefined); // Not unhandled: jobs of this thread are rejected with the same reason.
    this.#worker.on("message", (message: FromTrainingThread) => this.#receive(message));
    this.#worker.on("error", (error: Error) => {
      this.#crash = error;
    });
    this.#exited = new Promise((resolve) => {
      this.#worker.on("exit", (code) => {
        this.#end(code);
        resolve();
      });
    });
  }

  /** True when it takes no more jobs. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** Trains all tasks together. */
  async train(tasks: readonly TrainingTask[], signal: AbortSignal): Promise<readonly TrainingResult[]> {
    const job = ++this.#lastJob;
    const results = new Promise<readonly TrainingResult[]>((resolve, reject) => {
      this.#pendingByJob.set(job, { resolve, reject });
    });
    // An idle thread must not keep the process alive; one with a job must.
    this.#worker.ref();
    this.#post({ kind: "train", job, tasks });
    const cancel = () => this.#post({ kind: "cancel", job });
    signal.addEventListener("abort", cancel, { once: true });
    if (signal.aborted) cancel();
    try {
      return await results;
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  }

  /** Cancels its trainings, and waits for its end. */
  async close(): Promise<void> {
    this.#worker.ref();
    this.#post({ kind: "close" });
    if (!(await settlesWithin(this.#exited, closingMs))) await this.#worker.terminate();
  }

  #post(message: ToTrainingThread): void {
    this.#worker.postMessage(message);
  }

  #receive(message: FromTrainingThread): void {
    if (message.kind === "ready") this.#settleReady?.resolve();
    else {
      this.#pendingByJob.get(message.job)?.resolve(message.results);
      this.#pendingByJob.delete(message.job);
    }
    if (this.#pendingByJob.size === 0) this.#worker.unref();
  }

  #end(code: number): void {
    this.#isGone = true;
    const why = this.#crash?.message ?? `exit code ${code}`;
    const failure = new ForecastnetError("ENGINE_FAILED", `a training thread ended: ${why}`, {
      cause: this.#crash,
    });
    this.#settleReady?.reject(failure);
    for (const { reject } of this.#pendingByJob.values()) reject(failure);
    this.#pendingByJob.clear();
  }
}

/** Messages to a training thread. Histories are copied, which takes microseconds and leaves the caller's own alone. */
export type ToTrainingThread =
  | { readonly kind: "train"; readonly job: number; readonly tasks: readonly TrainingTask[] }
  | { readonly kind: "cancel"; readonly job: number }
  | { readonly kind: "close" };

/** Messages from a training thread. Weights come back in shared memory, ready to serve. */
export type FromTrainingThread =
  /** Its engine is open. */
  | { readonly kind: "ready" }
  /** One answer per job, unless the thread ends before. */
  | { readonly kind: "done"; readonly job: number; readonly results: readonly TrainingResult[] };
