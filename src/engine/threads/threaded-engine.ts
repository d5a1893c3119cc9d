// An engine whose arithmetic runs on threads. A batch is cut into chunks that wait in one queue; a thread that is
// nearly done takes the next, so that uneven work balances out. Within a thread, forecasts run before trainings.
//
// The first thread starts with the engine and reports the hardware; the others start when there is work for them. A
// thread that ends unexpectedly fails its pending jobs, and with them the engine, with ENGINE_FAILED.

import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import type { ForecastOptions } from "../../models/family.ts";
import type {
  Engine,
  EngineAnswer,
  EngineDescription,
  EngineStatus,
  EngineTask,
  FitControl,
  FitProgress,
  FitResult,
  FitTask,
} from "../../models/forecastnet/engine.ts";
import type { ForecastNetModel } from "../../models/forecastnet/model.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import { settlesWithin } from "../../runtime/waiting.ts";
import { groupByPlan } from "../fit.ts";
import {
  type DeviceMemory,
  type ExecutorSetup,
  type FromThread,
  fromFailure,
  type JobKind,
  type JobMessage,
  type JobResults,
  type Jobs,
  packTasks,
  ResidentModels,
  type ToThread,
  unpackAnswers,
} from "./protocol.ts";
import { WorkQueue } from "./work-queue.ts";

/** Fewer forecasts than this are not worth a message, even if more threads could share the work. */
const minChunk = 4;
/** Such a chunk takes about ten milliseconds at most, so that requests of other lanes do not wait long. */
const maxChunk = 64;

export interface ThreadedEngineOptions {
  readonly setup: ExecutorSetup;
  /** Maximum; 0 for one less than the cores, which leaves one to the event loop. */
  readonly threads: number;
}

/** Rejects with ENGINE_FAILED if the executor cannot be created. */
export async function openThreadedEngine({ setup, threads }: ThreadedEngineOptions): Promise<Engine> {
  const maxThreads = threads === 0 ? Math.max(1, availableParallelism() - 1) : threads;
  const engine = new ThreadedEngine(setup, maxThreads);
  await engine.open();
  return engine;
}

class ThreadedEngine implements Engine {
  readonly #setup: ExecutorSetup;
  readonly #maxThreads: number;
  readonly #threads: EngineThread[] = [];
  readonly #models = new ResidentModels((id) => {
    for (const thread of this.#threads) thread.forget(id);
  });
  readonly #forecasts: WorkQueue<EngineThread>;
  readonly #fits: WorkQueue<EngineThread>;
  #description: EngineDescription;
  #failure: ForecastnetError | null = null;

  constructor(setup: ExecutorSetup, maxThreads: number) {
    this.#setup = setup;
    this.#maxThreads = maxThreads;
    this.#description = { name: setup.kind, device: "unknown", threads: maxThreads, detail: "" };
    const addWorker = () => this.#addThread();
    // Two chunks per thread, so that it need not wait for the next.
    this.#forecasts = new WorkQueue({ perWorker: 2, addWorker });
    this.#fits = new WorkQueue({ perWorker: 1, addWorker });
  }

  get description(): EngineDescription {
    return this.#description;
  }

  async open(): Promise<void> {
    const first = this.#addThread();
    try {
      const { device, detail } = await (first as EngineThread).ready;
      this.#description = { ...this.#description, device, detail };
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  status(): EngineStatus {
    const onDevice = this.#threads[0]?.resident;
    return {
      trouble: this.#failure?.message ?? null,
      residentModels: onDevice?.models ?? this.#models.count,
      residentBytes: onDevice?.bytes ?? this.#models.bytes,
      waitingForecasts: this.#forecasts.waiting,
      waitingFits: this.#fits.waiting,
    };
  }

  async forecast(tasks: readonly EngineTask[], options: ForecastOptions): Promise<readonly EngineAnswer[]> {
    const size = this.#chunkSize(tasks.length);
    const answers = await Promise.all(
      chunksOf(tasks, size).map((chunk) =>
        this.#forecasts.add(chunk.length, (thread) => this.#forecastOn(thread, chunk, options)),
      ),
    );
    return answers.flat();
  }

  async fit(tasks: readonly FitTask[], control: FitControl = {}): Promise<readonly FitResult[]> {
    const results = new Array<FitResult>(tasks.length);
    await Promise.all(
      this.#fitGroups(tasks).map(async (group) => {
        const chunk = group.map((index) => tasks[index]);
        const report = (progress: FitProgress) =>
          control.onProgress?.({ ...progress, task: group[progress.task] });
        const ofChunk = await this.#fits.add(chunk.length, (thread) =>
          fitOn(thread, chunk, report, control.signal),
        );
        ofChunk.forEach((result, i) => {
          results[group[i]] = result;
        });
      }),
    );
    return results;
  }

  release(model: ForecastNetModel): void {
    this.#models.release(model);
  }

  async close(): Promise<void> {
    this.#refuse(new ForecastnetError("ENGINE_FAILED", "the engine was closed"));
    await Promise.all(this.#threads.splice(0).map((thread) => thread.close()));
  }

  /** Null if there are as many threads as allowed. */
  #addThread(): EngineThread | null {
    if (this.#threads.length >= this.#maxThreads) return null;
    const thread = new EngineThread(this.#setup, (failure) => {
      this.#failure ??= failure;
      this.#refuse(failure);
    });
    this.#threads.push(thread);
    this.#forecasts.include(thread);
    this.#fits.include(thread);
    return thread;
  }

  /** Rejects all waiting and later work. Other threads still answer what they have. */
  #refuse(failure: ForecastnetError): void {
    this.#forecasts.refuse(failure);
    this.#fits.refuse(failure);
  }

  #chunkSize(tasks: number): number {
    // TensorFlow runs stacks of nets: the larger the stack, the faster.
    if (this.#setup.kind === "tensorflow") return tasks;
    const even = Math.ceil(tasks / (4 * this.#maxThreads));
    return Math.min(maxChunk, Math.max(minChunk, even));
  }

  async #forecastOn(
    thread: EngineThread,
    tasks: readonly EngineTask[],
    options: ForecastOptions,
  ): Promise<EngineAnswer[]> {
    const packed = packTasks(tasks, (model) => {
      const { id, shared } = this.#models.of(model);
      thread.sendModel(id, shared);
      return id;
    });
    const { levels, paths } = options;
    const job = { tasks: packed, options: { levels, paths } };
    return unpackAnswers(await thread.start("forecast", job).result, tasks, options);
  }

  /** Indices of the tasks that are trained together: with TensorFlow all of one plan, in one stack. */
  #fitGroups(tasks: readonly FitTask[]): readonly (readonly number[])[] {
    return this.#setup.kind === "tensorflow" ? groupByPlan(tasks) : tasks.map((_, index) => [index]);
  }
}

async function fitOn(
  thread: EngineThread,
  tasks: readonly FitTask[],
  report: (progress: FitProgress) => void,
  signal: AbortSignal | undefined,
): Promise<readonly FitResult[]> {
  if (signal?.aborted) return tasks.map(() => ({ outcome: "cancelled" }));
  const { number, result } = thread.start("fit", { tasks }, report);
  const cancel = () => thread.cancel(number);
  signal?.addEventListener("abort", cancel, { once: true });
  try {
    return await result;
  } finally {
    signal?.removeEventListener("abort", cancel);
  }
}

function chunksOf<T>(items: readonly T[], size: number): (readonly T[])[] {
  const chunks: (readonly T[])[] = [];
  for (let from = 0; from < items.length; from += size) chunks.push(items.slice(from, from + size));
  return chunks;
}

/** Longer than any training step. A thread that has not ended by then is terminated. */
const closingMs = 5_000;

interface PendingJob {
  readonly resolve: (result: JobResults[JobKind]) => void;
  readonly reject: (error: ForecastnetError) => void;
  readonly onProgress: ((progress: FitProgress) => void) | undefined;
}

/** The hardware that the executor of a thread found. */
interface ThreadFacts {
  readonly device: string;
  readonly detail: string;
}

/** One thread, seen from the event loop: sends it jobs, matches answers to jobs, and notices its end. */
class EngineThread {
  /** Resolves once the executor exists; rejects with the reason if it cannot be created. */
  readonly ready: Promise<ThreadFacts>;
  readonly #worker: Worker;
  readonly #exited: Promise<void>;
  readonly #onUnexpectedEnd: (failure: ForecastnetError) => void;
  readonly #pendingByJob = new Map<number, PendingJob>();
  readonly #knownModels = new Set<number>();
  #settleReady: { resolve(facts: ThreadFacts): void; reject(error: ForecastnetError): void } | null = null;
  #lastJob = 0;
  #isClosing = false;
  #crash: Error | null = null;
  #resident: DeviceMemory | null = null;

  /** Calls `onUnexpectedEnd` if the thread ends before `close`. */
  constructor(setup: ExecutorSetup, onUnexpectedEnd: (failure: ForecastnetError) => void) {
    this.#onUnexpectedEnd = onUnexpectedEnd;
    this.#worker = new Worker(new URL("./thread-entry.js", import.meta.url), { workerData: setup });
    this.ready = new Promise((resolve, reject) => {
      this.#settleReady = { resolve, reject };
    });
    this.ready.catch(() => undefined); // `onUnexpectedEnd` gets the failure, too.
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

  /** What its executor kept on its device after the last job; null if it has none of its own. */
  get resident(): DeviceMemory | null {
    return this.#resident;
  }

  /** Sends a model before the first job that needs it. */
  sendModel(id: number, model: ForecastNetModel): void {
    if (this.#knownModels.has(id)) return;
    this.#knownModels.add(id);
    this.#post({ kind: "model", id, model });
  }

  forget(id: number): void {
    if (this.#knownModels.delete(id)) this.#post({ kind: "forget", id });
  }

  /** Starts a job; `number` identifies it for `cancel`. */
  start<K extends JobKind>(
    kind: K,
    job: Jobs[K],
    onProgress?: (progress: FitProgress) => void,
  ): { readonly number: number; readonly result: Promise<JobResults[K]> } {
    const number = ++this.#lastJob;
    const result = new Promise<JobResults[JobKind]>((resolve, reject) => {
      this.#pendingByJob.set(number, { resolve, reject, onProgress });
    });
    // An idle thread does not keep the process alive; one with a pending job does.
    this.#worker.ref();
    const message = { kind, job: number, ...job } as JobMessage;
    this.#post(message, message.kind === "forecast" ? [message.tasks.windows.buffer as ArrayBuffer] : []);
    return { number, result: result as Promise<JobResults[K]> };
  }

  cancel(job: number): void {
    if (this.#pendingByJob.has(job)) this.#post({ kind: "cancel", job });
  }

  /** Lets pending forecasts finish, cancels trainings, and waits until the thread has ended. */
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
    const failure = new ForecastnetError("ENGINE_FAILED", `an engine thread ended: ${why}`, {
      cause: this.#crash,
    });
    this.#settleReady?.reject(failure);
    for (const { reject } of this.#pendingByJob.values()) reject(failure);
    this.#pendingByJob.clear();
    if (!this.#isClosing) this.#onUnexpectedEnd(failure);
  }
}
