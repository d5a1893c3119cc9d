// An engine whose arithmetic runs on threads. A batch is cut into chunks that wait in one queue; a thread that is
// nearly done takes the next, so that uneven work evens out. Within a thread forecasts go before trainings.
//
// The first thread starts with the engine, and tells what it runs on; the others when there is work for them.

import { availableParallelism } from "node:os";
import type { TrainingSet } from "../../models/forecastnet/framing.ts";
import type { ForecastNetModel } from "../../models/forecastnet/model.ts";
import type { NetPlan } from "../../models/forecastnet/plan.ts";
import { sharedPlan } from "../../models/forecastnet/shared-plan.ts";
import type { ForecastNetSpec } from "../../models/forecastnet/spec.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import type {
  Engine,
  EngineDescription,
  EngineStatus,
  FitControl,
  FitProgress,
  FitResult,
  FitTask,
  ForecastAnswer,
  ForecastOptions,
  ForecastTask,
} from "../engine.ts";
import type { Derivatives } from "../executor.ts";
import { EngineThread } from "./engine-thread.ts";
import { packTasks, unpackAnswers } from "./packing.ts";
import type { ExecutorSetup } from "./protocol.ts";
import { ResidentModels } from "./resident-models.ts";
import { WorkQueue } from "./work-queue.ts";

/** So many forecasts are worth a message of their own, even when more threads could share them. */
const fewestPerChunk = 4;
/** A chunk takes some ten milliseconds at most: what another lane asks for meanwhile does not wait long. */
const mostPerChunk = 64;

export interface ThreadedEngineOptions {
  readonly setup: ExecutorSetup;
  /** At most; 0 leaves one core to the event loop and takes the others. */
  readonly threads: number;
}

/** Rejects with ENGINE_FAILED when the executor cannot be had. */
export async function openThreadedEngine({ setup, threads }: ThreadedEngineOptions): Promise<Engine> {
  const most = threads === 0 ? Math.max(1, availableParallelism() - 1) : threads;
  const engine = new ThreadedEngine(setup, most);
  await engine.open();
  return engine;
}

class ThreadedEngine implements Engine {
  readonly #setup: ExecutorSetup;
  readonly #mostThreads: number;
  readonly #threads: EngineThread[] = [];
  readonly #models = new ResidentModels((id) => {
    for (const thread of this.#threads) thread.forget(id);
  });
  readonly #forecasts: WorkQueue<EngineThread>;
  readonly #fits: WorkQueue<EngineThread>;
  #description: EngineDescription;
  #failure: ForecastnetError | null = null;

  constructor(setup: ExecutorSetup, mostThreads: number) {
    this.#setup = setup;
    this.#mostThreads = mostThreads;
    this.#description = { name: setup.kind, device: "unknown", threads: mostThreads, detail: "" };
    const addWorker = () => this.#addThread();
    // Two chunks a thread: the next lies ready when one is done.
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

  async forecast(
    tasks: readonly ForecastTask[],
    options: ForecastOptions,
  ): Promise<readonly ForecastAnswer[]> {
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

  async differentiate(spec: ForecastNetSpec, weights: Float32Array, rows: TrainingSet): Promise<Derivatives> {
    return this.#forecasts.add(1, (thread) => thread.start("differentiate", { spec, weights, rows }).result);
  }

  release(model: ForecastNetModel): void {
    this.#models.release(model);
  }

  async close(): Promise<void> {
    this.#refuse(new ForecastnetError("ENGINE_FAILED", "the engine was closed"));
    await Promise.all(this.#threads.splice(0).map((thread) => thread.close()));
  }

  /** Null when there are as many as may be. */
  #addThread(): EngineThread | null {
    if (this.#threads.length >= this.#mostThreads) return null;
    const thread = new EngineThread(this.#setup, (failure) => {
      this.#failure ??= failure;
      this.#refuse(failure);
    });
    this.#threads.push(thread);
    this.#forecasts.include(thread);
    this.#fits.include(thread);
    return thread;
  }

  /** From now on all work is refused; what other threads work on is still answered. */
  #refuse(failure: ForecastnetError): void {
    this.#forecasts.refuse(failure);
    this.#fits.refuse(failure);
  }

  #chunkSize(tasks: number): number {
    // Stacked arithmetic pays by the size of the stack.
    if (this.#setup.kind === "tensorflow") return tasks;
    const even = Math.ceil(tasks / (4 * this.#mostThreads));
    return Math.min(mostPerChunk, Math.max(fewestPerChunk, even));
  }

  async #forecastOn(
    thread: EngineThread,
    tasks: readonly ForecastTask[],
    options: ForecastOptions,
  ): Promise<ForecastAnswer[]> {
    const packed = packTasks(tasks, (model) => {
      const { id, shared } = this.#models.of(model);
      thread.announce(id, shared);
      return id;
    });
    const { levels, paths, keepPaths } = options;
    const job = { tasks: packed, options: { levels, paths, keepPaths } };
    return unpackAnswers(await thread.start("forecast", job).result, tasks, options);
  }

  /** Indices of the tasks that are trained together: with TensorFlow all of one plan, in one stack. */
  #fitGroups(tasks: readonly FitTask[]): (readonly number[])[] {
    if (this.#setup.kind !== "tensorflow") return tasks.map((_, index) => [index]);
    const groupByPlan = new Map<NetPlan, number[]>();
    tasks.forEach(({ spec }, index) => {
      const plan = sharedPlan(spec);
      groupByPlan.set(plan, [...(groupByPlan.get(plan) ?? []), index]);
    });
    return [...groupByPlan.values()];
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
