// An engine whose arithmetic runs on threads. A batch is cut into chunks that wait in one queue; a thread that is
// nearly done takes the next, so that uneven work balances out.
//
// The first thread starts with the engine and reports the hardware; the others start when there is work for them. A
// thread that ends unexpectedly fails its pending jobs, and with them the engine, with ENGINE_FAILED.

import { availableParallelism } from "node:os";
import type { ForecastOptions } from "../../models/family.ts";
import type {
  Engine,
  EngineAnswer,
  EngineDescription,
  EngineStatus,
  EngineTask,
} from "../../models/forecastnet/engine.ts";
import type { ForecastNetModel } from "../../models/forecastnet/model.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import { JobThread } from "./job-thread.ts";
import {
  type DeviceMemory,
  type ExecutorSetup,
  type PackedTasks,
  packTasks,
  ResidentModels,
  type ThreadAnswers,
  type ThreadFacts,
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
  readonly #queue: WorkQueue<EngineThread>;
  #description: EngineDescription;
  #failure: ForecastnetError | null = null;

  constructor(setup: ExecutorSetup, maxThreads: number) {
    this.#setup = setup;
    this.#maxThreads = maxThreads;
    this.#description = { name: setup.kind, device: "unknown", threads: maxThreads, detail: "" };
    // Two chunks per thread, so that it need not wait for the next.
    this.#queue = new WorkQueue({ perWorker: 2, addWorker: () => this.#addThread() });
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
      waitingForecasts: this.#queue.waiting,
    };
  }

  async forecast(tasks: readonly EngineTask[], options: ForecastOptions): Promise<readonly EngineAnswer[]> {
    const size = this.#chunkSize(tasks.length);
    const answers = await Promise.all(
      chunksOf(tasks, size).map((chunk) =>
        this.#queue.add(chunk.length, (thread) => this.#forecastOn(thread, chunk, options)),
      ),
    );
    return answers.flat();
  }

  /** Models are trained on threads of their own, which yield to forecasts. */
  async fit(): Promise<never> {
    throw new ForecastnetError("ENGINE_FAILED", "this engine only forecasts");
  }

  release(model: ForecastNetModel): void {
    this.#models.release(model);
  }

  async close(): Promise<void> {
    this.#queue.refuse(new ForecastnetError("ENGINE_FAILED", "the engine was closed"));
    await Promise.all(this.#threads.splice(0).map((thread) => thread.close()));
  }

  /** Null if there are as many threads as allowed. */
  #addThread(): EngineThread | null {
    if (this.#threads.length >= this.#maxThreads) return null;
    const thread = new EngineThread(this.#setup, (failure) => {
      this.#failure ??= failure;
      // Rejects all waiting and later work. Other threads still answer what they have.
      this.#queue.refuse(failure);
    });
    this.#threads.push(thread);
    this.#queue.include(thread);
    return thread;
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
    return unpackAnswers(await thread.forecast(packed, { levels, paths }), tasks, options);
  }
}

function chunksOf<T>(items: readonly T[], size: number): (readonly T[])[] {
  const chunks: (readonly T[])[] = [];
  for (let from = 0; from < items.length; from += size) chunks.push(items.slice(from, from + size));
  return chunks;
}

/** An engine thread, the models that it knows, and what it keeps on its device. */
class EngineThread extends JobThread<ToThread, ThreadAnswers, ThreadFacts> {
  readonly #knownModels = new Set<number>();
  #resident: DeviceMemory | null = null;

  /** Calls `onUnexpectedEnd` if the thread ends before `close`. */
  constructor(setup: ExecutorSetup, onUnexpectedEnd: (failure: ForecastnetError) => void) {
    const entry = new URL("./thread-entry.js", import.meta.url);
    super({ setup, entry, name: "an engine thread", onUnexpectedEnd });
  }

  /** What its executor kept on its device after the last job; null if it has none of its own. */
  get resident(): DeviceMemory | null {
    return this.#resident;
  }

  /** Sends a model before the first job that needs it. */
  sendModel(id: number, model: ForecastNetModel): void {
    if (this.#knownModels.has(id)) return;
    this.#knownModels.add(id);
    this.post({ kind: "model", id, model });
  }

  forget(id: number): void {
    if (this.#knownModels.delete(id)) this.post({ kind: "forget", id });
  }

  async forecast(tasks: PackedTasks, options: ForecastOptions): Promise<ThreadAnswers["packed"]> {
    const transfer = [tasks.windows.buffer as ArrayBuffer];
    const { packed, resident } = await this.start(
      (job) => ({ kind: "forecast", job, tasks, options }),
      transfer,
    );
    this.#resident = resident;
    return packed;
  }
}
