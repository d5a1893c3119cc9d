// One thread of an engine, seen from the event loop: sends it jobs, matches its answers to them, and tells when
// it is gone. A thread that ends unasked takes its pending jobs with it; they fail with ENGINE_FAILED.

import { Worker } from "node:worker_threads";
import type { ForecastNetModel } from "../../models/forecastnet/model.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import { settlesWithin } from "../../runtime/waiting.ts";
import type { FitProgress } from "../engine.ts";
import {
  type DeviceMemory,
  type ExecutorSetup,
  type FromThread,
  fromFailure,
  type JobKind,
  type JobMessage,
  type JobResults,
  type Jobs,
  type ToThread,
} from "./protocol.ts";

/** Longer than any single training step; a thread that does not end by then is ended. */
const closingMs = 5_000;

interface PendingJob {
  readonly resolve: (result: JobResults[JobKind]) => void;
  readonly reject: (error: ForecastnetError) => void;
  readonly onProgress: ((progress: FitProgress) => void) | undefined;
}

/** What the executor of a thread found itself running on. */
export interface ThreadFacts {
  readonly device: string;
  readonly detail: string;
}

export class EngineThread {
  /** Resolves once the executor is there; rejects with the reason when it cannot be. */
  readonly ready: Promise<ThreadFacts>;
  readonly #worker: Worker;
  readonly #exited: Promise<void>;
  readonly #onGone: (failure: ForecastnetError) => void;
  readonly #pendingByJob = new Map<number, PendingJob>();
  readonly #knownModels = new Set<number>();
  #settleReady: { resolve(facts: ThreadFacts): void; reject(error: ForecastnetError): void } | null = null;
  #lastJob = 0;
  #isClosing = false;
  #crash: Error | null = null;
  #resident: DeviceMemory | null = null;

  /** `onGone` hears of an end that nobody asked for. */
  constructor(setup: ExecutorSetup, onGone: (failure: ForecastnetError) => void) {
    this.#onGone = onGone;
    this.#worker = new Worker(new URL("./thread-entry.js", import.meta.url), { workerData: setup });
    this.ready = new Promise((resolve, reject) => {
      this.#settleReady = { resolve, reject };
    });
    this.ready.catch(() => undefined); // Told to whoever awaits it, and to `onGone`.
    this.#worker.on("message", (message: FromThread) => this.#receive(message));
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

  /** What its executor kept on a device of its own when last heard of; null when it has none. */
  get resident(): DeviceMemory | null {
    return this.#resident;
  }

  /** Makes a model known before the first job that needs it. */
  announce(id: number, model: ForecastNetModel): void {
    if (this.#knownModels.has(id)) return;
    this.#knownModels.add(id);
    this.#post({ kind: "model", id, model });
  }

  forget(id: number): void {
    if (this.#knownModels.delete(id)) this.#post({ kind: "forget", id });
  }

  /** Starts a job; `number` is what to cancel it by. */
  start<K extends JobKind>(
    kind: K,
    job: Jobs[K],
    onProgress?: (progress: FitProgress) => void,
  ): { readonly number: number; readonly result: Promise<JobResults[K]> } {
    const number = ++this.#lastJob;
    const result = new Promise<JobResults[JobKind]>((resolve, reject) => {
      this.#pendingByJob.set(number, { resolve, reject, onProgress });
    });
    // An idle thread keeps no process alive; one that owes an answer does.
    this.#worker.ref();
    const message = { kind, job: number, ...job } as JobMessage;
    this.#post(message, message.kind === "forecast" ? [message.tasks.windows.buffer as ArrayBuffer] : []);
    return { number, result: result as Promise<JobResults[K]> };
  }

  cancel(job: number): void {
    if (this.#pendingByJob.has(job)) this.#post({ kind: "cancel", job });
  }

  /** Lets it answer the forecasts it was asked for, ends its trainings, and waits until it is gone. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#post({ kind: "close" });
    if (!(await settlesWithin(this.#exited, closingMs))) await this.#worker.terminate();
  }

  #post(message: ToThread, transfer: readonly ArrayBuffer[] = []): void {
    this.#worker.postMessage(message, transfer);
  }

  #receive(message: FromThread): void {
    switch (message.kind) {
      case "ready":
        this.#settleReady?.resolve({ device: message.device, detail: message.detail });
        if (this.#pendingByJob.size === 0) this.#worker.unref();
        return;
      case "progress":
        this.#pendingByJob.get(message.job)?.onProgress?.(message.progress);
        return;
      case "done":
        this.#resident = message.resident;
        this.#take(message.job)?.resolve(message.result);
        return;
      case "failed":
        this.#take(message.job)?.reject(fromFailure(message.failure));
        return;
    }
  }

  #take(job: number): PendingJob | undefined {
    const pending = this.#pendingByJob.get(job);
    this.#pendingByJob.delete(job);
    if (this.#pendingByJob.size === 0) this.#worker.unref();
    return pending;
  }

  #end(code: number): void {
    const why = this.#crash?.message ?? `exit code ${code}`;
    const failure = new ForecastnetError("ENGINE_FAILED", `a thread of the engine ended: ${why}`, {
      cause: this.#crash,
    });
    this.#settleReady?.reject(failure);
    for (const { reject } of this.#pendingByJob.values()) reject(failure);
    this.#pendingByJob.clear();
    if (!this.#isClosing) this.#onGone(failure);
  }
}
