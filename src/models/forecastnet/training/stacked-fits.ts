// Runs several trainings on one thread in lockstep. Each runs until it needs nets fitted; when all wait, their nets go to the
// engine in one call, where nets of one plan are stacked.

import { ForecastnetError } from "../../../runtime/errors.ts";
import type { Engine, FitResult, FitTask } from "../engine.ts";

interface WaitingFit {
  readonly tasks: readonly FitTask[];
  readonly resolve: (results: readonly FitResult[]) => void;
  readonly reject: (error: unknown) => void;
}

/** Runs all of them, each with an engine that collects fits. A run must not request a fit while another of its own waits. */
export function runStacked<T>(
  engine: Engine,
  runs: readonly ((engine: Engine) => Promise<T>)[],
  signal: AbortSignal,
): Promise<readonly T[]> {
  const gathering = new FitGathering(engine, runs.length, signal);
  const gatheringEngine: Engine = {
    description: engine.description,
    status: () => engine.status(),
    forecast: (tasks, options) => engine.forecast(tasks, options),
    fit: (tasks) => gathering.add(tasks),
    release: (model) => engine.release(model),
    close: () => engine.close(),
  };
  return Promise.all(runs.map((run) => run(gatheringEngine).finally(() => gathering.leave())));
}

class FitGathering {
  readonly #engine: Engine;
  readonly #signal: AbortSignal;
  #running: number;
  #waiting: WaitingFit[] = [];

  constructor(engine: Engine, running: number, signal: AbortSignal) {
    this.#engine = engine;
    this.#running = running;
    this.#signal = signal;
  }

  add(tasks: readonly FitTask[]): Promise<readonly FitResult[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ tasks, resolve, reject });
      this.#fitIfAllWait();
    });
  }

  /** A run has ended: the others no longer wait for it. */
  leave(): void {
    this.#running--;
    this.#fitIfAllWait();
  }

  #fitIfAllWait(): void {
    if (this.#waiting.length === 0 || this.#waiting.length < this.#running) return;
    void this.#fit(this.#waiting.splice(0));
  }

  async #fit(calls: readonly WaitingFit[]): Promise<void> {
    try {
      const results = await this.#engine.fit(
        calls.flatMap(({ tasks }) => tasks),
        this.#signal,
      );
      let from = 0;
      for (const { tasks, resolve } of calls) {
        resolve(results.slice(from, from + tasks.length));
        from += tasks.length;
      }
    } catch (error) {
      const isRefusal = error instanceof ForecastnetError && error.code !== "ENGINE_FAILED";
      // Whose nets were refused is unknown. Each run is fitted alone, so that only that training fails.
      if (isRefusal && calls.length > 1) for (const call of calls) await this.#fit([call]);
      else for (const { reject } of calls) reject(error);
    }
  }
}
