// A worker's engine with a fleet of trained models, asked in batches as a lane asks it. What it answers must not depend
// on what goes on beside it.

import type { Engine, ForecastTask } from "../../src/engine/engine.ts";
import { openThreadedEngine } from "../../src/engine/threads/threaded-engine.ts";
import { inputLengthOf } from "../../src/models/forecastnet/model.ts";
import { decodeModel, encodeModel } from "../../src/models/forecastnet/model-bytes.ts";
import { loadConfig } from "../../src/runtime/config/load.ts";
import type { ServedModel } from "./training-rate.ts";

export const batchSize = 16;

export class Serving {
  readonly #engine: Engine;
  readonly #batches: readonly (readonly ForecastTask[])[];
  readonly #options: Parameters<Engine["forecast"]>[1];

  private constructor(engine: Engine, batches: readonly (readonly ForecastTask[])[]) {
    const config = loadConfig({ argv: [], env: {} });
    this.#engine = engine;
    this.#batches = batches;
    this.#options = { paths: config.engine.paths, levels: config.output.levels, keepPaths: false };
  }

  /** With the threads that the worker has by default. */
  static async open(models: readonly ServedModel[], batches: number): Promise<Serving> {
    const engine = await openThreadedEngine({ setup: { kind: "simd" }, threads: 0 });
    const tasks = Array.from({ length: batches * batchSize }, (_, i) =>
      taskOf(models[i % models.length], `series-${i}`),
    );
    return new Serving(
      engine,
      Array.from({ length: batches }, (_, b) => tasks.slice(b * batchSize, (b + 1) * batchSize)),
    );
  }

  get threads(): number {
    return this.#engine.description.threads;
  }

  get models(): number {
    return this.#batches.length * batchSize;
  }

  /** One batch; the batches take turns. */
  async forecast(time: number): Promise<Float64Array[]> {
    const batch = this.#batches[time % this.#batches.length];
    const answers = await this.#engine.forecast(batch, this.#options);
    return answers.map((answer) => {
      if (answer instanceof Error) throw answer;
      return answer.mean;
    });
  }

  async forecastAll(): Promise<Float64Array> {
    const means: number[] = [];
    for (let time = 0; time < this.#batches.length; time++) {
      for (const mean of await this.forecast(time)) means.push(...mean);
    }
    return Float64Array.from(means);
  }

  close(): Promise<void> {
    return this.#engine.close();
  }
}

/** Decoded from its bytes, so that every series has weights of its own, as in a worker. */
function taskOf({ trained, history }: ServedModel, key: string): ForecastTask {
  const model = decodeModel(encodeModel({ ...trained.model, key }), "the bench");
  return { model, window: history.values.slice(-inputLengthOf(model) * history.channels) };
}
