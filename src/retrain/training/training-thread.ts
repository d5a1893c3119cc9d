// One training thread, seen from the event loop: hands it jobs, matches its answers, and tells when it is gone. A thread
// that ends unasked takes its jobs with it; they fail with ENGINE_FAILED.

import { Worker } from "node:worker_threads";
import type { ExecutorSetup } from "../../engine/threads/protocol.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import { settlesWithin } from "../../runtime/waiting.ts";
import type { TrainingResult, TrainingTask } from "../training-task.ts";
import type { FromTrainingThread, ToTrainingThread } from "./thread-messages.ts";

/** Longer than any stretch of training without a breath; a thread that does not end by then is ended. */
const closingMs = 5_000;

/** What a training keeps lies outside the heap; one that still fills this much would take the worker's memory. */
const heapMb = 1_024;

interface PendingJob {
  readonly resolve: (results: readonly TrainingResult[]) => void;
  readonly reject: (error: ForecastnetError) => void;
}

export class TrainingThread {
  /** Resolves once its engine is there; rejects with the reason when it cannot be. */
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
    this.ready.catch(() => undefined); // Told to whoever awaits it; a job on such a thread is rejected, too.
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

  /** Whether it can be given no more jobs. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** Trains all of them side by side. */
  async train(tasks: readonly TrainingTask[], signal: AbortSignal): Promise<readonly TrainingResult[]> {
    const job = ++this.#lastJob;
    const results = new Promise<readonly TrainingResult[]>((resolve, reject) => {
      this.#pendingByJob.set(job, { resolve, reject });
    });
    // An idle thread keeps no process alive; one that owes an answer does.
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

  /** Cancels its trainings, and waits until it is gone. */
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
