// The work of one thread. Forecasts are done when they arrive; trainings wait in a row and go on by one step
// whenever the thread has read all its messages, so that a forecast never waits for more than a step.

import type { ForecastNetModel } from "../../models/forecastnet/model.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import type { FitTask, ForecastAnswer, ForecastOptions, ForecastTask } from "../engine.ts";
import { packAnswers, unpackTasks } from "./packing.ts";
import {
  type DeviceMemory,
  type FromThread,
  type JobMessage,
  type JobResults,
  type ToThread,
  toFailure,
} from "./protocol.ts";
import type { Training } from "./training.ts";

/** What a thread works with, handed in by its entry. */
export interface ThreadSurroundings {
  forecast(tasks: readonly ForecastTask[], options: ForecastOptions): readonly ForecastAnswer[];
  train(tasks: readonly FitTask[]): Training;
  differentiate(job: Extract<JobMessage, { kind: "differentiate" }>): JobResults["differentiate"];
  /** The model will not be asked for again. */
  release(model: ForecastNetModel): void;
  /** What the executor keeps on a device of its own; null when it has none. */
  resident(): DeviceMemory | null;
  post(message: FromThread, transfer: readonly ArrayBuffer[]): void;
  /** Calls back once the messages that have arrived by then are read. */
  soon(act: () => void): void;
  /** All is done: the executor can go, and the thread end. */
  end(): void;
}

interface QueuedTraining {
  readonly job: number;
  readonly training: Training;
}

export class ThreadWork {
  readonly #around: ThreadSurroundings;
  readonly #modelById = new Map<number, ForecastNetModel>();
  /** The first is under way. */
  readonly #trainings: QueuedTraining[] = [];
  #isClosing = false;

  constructor(around: ThreadSurroundings) {
    this.#around = around;
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
        this.#answer(message.job, () => {
          const tasks = unpackTasks(message.tasks, (id) => this.#modelOf(id));
          return packAnswers(this.#around.forecast(tasks, message.options));
        });
        return;
      case "differentiate":
        this.#answer(message.job, () => this.#around.differentiate(message));
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
        if (this.#trainings.length === 0) this.#around.end();
    }
  }

  #forget(id: number): void {
    const model = this.#modelById.get(id);
    if (model !== undefined) this.#around.release(model);
    this.#modelById.delete(id);
  }

  #modelOf(id: number): ForecastNetModel {
    const model = this.#modelById.get(id);
    if (model === undefined) throw new Error(`model number ${id} was not announced to this thread`);
    return model;
  }

  #enqueue(job: number, tasks: readonly FitTask[]): void {
    this.#trainings.push({ job, training: this.#around.train(tasks) });
    if (this.#trainings.length === 1) this.#around.soon(() => this.#step());
  }

  #step(): void {
    const [{ job, training }] = this.#trainings;
    const isGoingOn = this.#attempt(job, () => {
      const step = training.next();
      if (step.done !== true) {
        if (step.value !== null) this.#around.post({ kind: "progress", job, progress: step.value }, []);
        return true;
      }
      this.#around.post({ kind: "done", job, result: step.value, resident: this.#around.resident() }, []);
      return false;
    });
    if (isGoingOn !== true) this.#trainings.shift();
    if (this.#trainings.length > 0) this.#around.soon(() => this.#step());
    else if (this.#isClosing) this.#around.end();
  }

  #answer(job: number, compute: () => JobResults["forecast" | "differentiate"]): void {
    this.#attempt(job, () => {
      const result = compute();
      const transfer = "values" in result ? [result.values.buffer as ArrayBuffer] : [];
      this.#around.post({ kind: "done", job, result, resident: this.#around.resident() }, transfer);
    });
  }

  /** A job that is refused costs itself; anything else that goes wrong may have spoilt the executor: the thread ends. */
  #attempt<T>(job: number, act: () => T): T | undefined {
    try {
      return act();
    } catch (error) {
      if (!(error instanceof ForecastnetError)) throw error;
      this.#around.post({ kind: "failed", job, failure: toFailure(error) }, []);
      return undefined;
    }
  }
}
