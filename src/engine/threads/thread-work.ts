// The work of one engine thread: keeps the models that it was sent, and forecasts in the order of the messages.

import type { ForecastOptions } from "../../models/family.ts";
import type { EngineAnswer, EngineTask } from "../../models/forecastnet/engine.ts";
import type { ForecastNetModel } from "../../models/forecastnet/model.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import { type FromThread, toFailure } from "./job-thread.ts";
import {
  type DeviceMemory,
  packAnswers,
  type ThreadAnswers,
  type ThreadFacts,
  type ToThread,
  unpackTasks,
} from "./protocol.ts";

/** What a thread works with; its entry provides it. */
interface ThreadDependencies {
  forecast(tasks: readonly EngineTask[], options: ForecastOptions): readonly EngineAnswer[];
  /** Frees what the executor holds for a model that will not be requested again. */
  release(model: ForecastNetModel): void;
  /** What the executor keeps on its device; null if it has none of its own. */
  resident(): DeviceMemory | null;
  post(message: FromThread<ThreadAnswers, ThreadFacts>, transfer: readonly ArrayBuffer[]): void;
  /** Closes the executor and ends the thread. */
  end(): void;
}

export class ThreadWork {
  readonly #dependencies: ThreadDependencies;
  readonly #modelById = new Map<number, ForecastNetModel>();

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
        this.#forecast(message);
        return;
      case "close":
        this.#dependencies.end();
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

  /** A refused job fails alone. Any other exception may have corrupted the executor, so it ends the thread. */
  #forecast({ job, tasks, options }: Extract<ToThread, { kind: "forecast" }>): void {
    const { forecast, resident, post } = this.#dependencies;
    try {
      const packed = packAnswers(
        forecast(
          unpackTasks(tasks, (id) => this.#modelOf(id)),
          options,
        ),
      );
      post({ kind: "done", job, result: { packed, resident: resident() } }, [
        packed.values.buffer as ArrayBuffer,
      ]);
    } catch (error) {
      if (!(error instanceof ForecastnetError)) throw error;
      post({ kind: "failed", job, failure: toFailure(error) }, []);
    }
  }
}
