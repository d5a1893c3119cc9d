// The work of one thread. Forecasts run when they arrive. Trainings wait in a queue; the first advances by one step
// whenever the thread has read all its messages, so that a forecast waits for one step at most.

import type { ForecastOptions } from "../../models/family.ts";
import type {
  EngineAnswer,
  EngineTask,
  FitProgress,
  FitResult,
  FitTask,
} from "../../models/forecastnet/engine.ts";
import type { ForecastNetModel } from "../../models/forecastnet/model.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import type { NetExecutor } from "../executor.ts";
import { fitNets } from "../fit.ts";
import {
  type DeviceMemory,
  type FromThread,
  type JobKind,
  type JobResults,
  type PackedTasks,
  packAnswers,
  sharedFloats,
  type ToThread,
  toFailure,
  unpackTasks,
} from "./protocol.ts";

/** What a thread works with; its entry provides it. */
interface ThreadDependencies {
  forecast(tasks: readonly EngineTask[], options: ForecastOptions): readonly EngineAnswer[];
  train(tasks: readonly FitTask[]): Training;
  /** Frees what the executor holds for a model that will not be requested again. */
  release(model: ForecastNetModel): void;
  /** What the executor keeps on its device; null if it has none of its own. */
  resident(): DeviceMemory | null;
  post(message: FromThread, transfer: readonly ArrayBuffer[]): void;
  /** Calls back after the messages that have arrived are handled. */
  afterMessages(act: () => void): void;
  /** Closes the executor and ends the thread. */
  end(): void;
}

interface QueuedTraining {
  readonly job: number;
  readonly training: Training;
}

export class ThreadWork {
  readonly #dependencies: ThreadDependencies;
  readonly #modelById = new Map<number, ForecastNetModel>();
  /** The first is running. */
  readonly #trainings: QueuedTraining[] = [];
  #isClosing = false;

  constructor(dependencies: ThreadDependencies) {
    this.#dependencies = dependencies;
  }

  handle(message: ToThread): void {
    switch (message.kind) {
      case "model":
        this.#modelById.set(message.id, message.model);
        return;
      case "forget":
        this.#forget(message.id);
        return;
      case "forecast":
        this.#forecast(message.job, message.tasks, message.options);
        return;
      case "fit":
        this.#enqueue(message.job, message.tasks);
        return;
      case "cancel":
        this.#trainings.find(({ job }) => job === message.job)?.training.cancel();
        return;
      case "close":
        this.#isClosing = true;
        for (const { training } of this.#trainings) training.cancel();
        if (this.#trainings.length === 0) this.#dependencies.end();
    }
  }

  #forget(id: number): void {
    const model = this.#modelById.get(id);
    if (model !== undefined) this.#dependencies.release(model);
    this.#modelById.delete(id);
  }

  #modelOf(id: number): ForecastNetModel {
    const model = this.#modelById.get(id);
    if (model === undefined) throw new Error(`this thread was not sent model number ${id}`);
    return model;
  }

  #enqueue(job: number, tasks: readonly FitTask[]): void {
    this.#trainings.push({ job, training: this.#dependencies.train(tasks) });
    if (this.#trainings.length === 1) this.#dependencies.afterMessages(() => this.#step());
  }

  #step(): void {
    const [{ job, training }] = this.#trainings;
    const hasMore = this.#attempt(job, () => {
      const step = training.next();
      if (step.done !== true) {
        if (step.value !== null) this.#dependencies.post({ kind: "progress", job, progress: step.value }, []);
        return true;
      }
      this.#postDone(job, step.value);
      return false;
    });
    if (hasMore !== true) this.#trainings.shift();
    if (this.#trainings.length > 0) this.#dependencies.afterMessages(() => this.#step());
    else if (this.#isClosing) this.#dependencies.end();
  }

  #forecast(job: number, packed: PackedTasks, options: ForecastOptions): void {
    this.#attempt(job, () => {
      const tasks = unpackTasks(packed, (id) => this.#modelOf(id));
      const result = packAnswers(this.#dependencies.forecast(tasks, options));
      this.#postDone(job, result, [result.values.buffer as ArrayBuffer]);
    });
  }

  #postDone(job: number, result: JobResults[JobKind], transfer: readonly ArrayBuffer[] = []): void {
    this.#dependencies.post({ kind: "done", job, result, resident: this.#dependencies.resident() }, transfer);
  }

  /** A refused job fails alone. Any other exception may have corrupted the executor, so it ends the thread. */
  #attempt<T>(job: number, act: () => T): T | undefined {
    try {
      return act();
    } catch (error) {
      if (!(error instanceof ForecastnetError)) throw error;
      this.#dependencies.post({ kind: "failed", job, failure: toFailure(error) }, []);
      return undefined;
    }
  }
}

/** A training that advances step by step and can be cancelled between two steps. */
interface Training {
  /** Runs one step. Returns the progress of a net whose epoch it ended, or null; after the last step, the results. */
  next(): IteratorResult<FitProgress | null, readonly FitResult[]>;
  /** Makes the next call of `next` the last. */
  cancel(): void;
}

/** Trains nets of one plan. */
export function createTraining(executor: NetExecutor, tasks: readonly FitTask[]): Training {
  const fitting = fitNets(executor, tasks);
  let hasStarted = false;
  let isCancelled = false;
  return {
    next: () => {
      // A generator ignores the argument of the first `next`.
      if (isCancelled && !hasStarted)
        return { done: true, value: tasks.map(() => ({ outcome: "cancelled" })) };
      hasStarted = true;
      const step = fitting.next(isCancelled ? "cancel" : undefined);
      return step.done === true ? { done: true, value: step.value.map(toShared) } : step;
    },
    cancel: () => {
      isCancelled = true;
    },
  };
}

/** Puts the weights into shared memory, so that serving them needs no copy. */
function toShared(result: FitResult): FitResult {
  return result.outcome === "fitted" ? { ...result, weights: sharedFloats(result.weights) } : result;
}
