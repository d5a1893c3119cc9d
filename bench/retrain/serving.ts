// A worker's engine with a fleet of trained models, asked in batches as a lane asks it. What it answers must not depend
// on what goes on beside it.

import { openThreadedEngine } from "../../src/engine/threads/threaded-engine.ts";
import { createFamilies, type Families } from "../../src/models/families.ts";
import type { ForecastOptions, ForecastTask } from "../../src/models/family.ts";
import type { Engine } from "../../src/models/forecastnet/engine.ts";
import { loadConfig } from "../../src/runtime/config/load.ts";
import type { ServedModel } from "./training-rate.ts";

export const batchSize = 16;

export class Serving {
  readonly #engine: Engine;
  readonly #families: Families;
  readonly #batches: readonly (readonly ForecastTask[])[];
  readonly #options: ForecastOptions;

  private constructor(engine: Engine, families: Families, batches: readonly (readonly ForecastTask[])[]) {
    const config = loadConfig({ argv: [], env: {} });
    this.#engine = engine;
    this.#families = families;
    this.#batches = batches;
    this.#options = { paths: config.engine.paths, levels: config.output.levels };
  }

  /** With the threads that the worker has by default. */
  static async open(models: readonly ServedModel[], batches: number): Promise<Serving> {
    const engine = await openThreadedEngine({ setup: { kind: "simd" }, threads: 0 });
    const families = createFamilies(engine);
    const tasks = Array.from({ length: batches * batchSize }, (_, i) =>
      taskOf(families, models[i % models.length], `series-${i}`),
    );
    return new Serving(
      engine,
      families,
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
  async forecast(time: number): Promise<ArrayLike<number>[]> {
    const batch = this.#batches[time % this.#batches.length];
    const answers = await this.#families.forecast(batch, this.#options);
    return answers.map((answer) => {
      if (answer instanceof Error) throw answer;
      return answer.mean;
    });
  }

  async forecastAll(): Promise<Float64Array> {
    const means: number[] = [];
    for (let time = 0; time < this.#batches.length; time++) {
      for (const mean of await this.forecast(time)) means.push(...Array.from(mean));
    }
    return Float64Array.from(means);
  }

  close(): Promise<void> {
    return this.#engine.close();
  }
}

/** Decoded from its bytes, so that every series has weights of its own, as in a worker. */
function taskOf(families: Families, { trained, history }: ServedModel, key: string): ForecastTask {
  const family = families.of(trained.model);
  const model = family.decode(family.encode({ ...trained.model, key }, "float32"), "the bench");
  const { horizon, inputSteps } = family.shapeOf(model);
  const input = {
    values: history.values.slice(-inputSteps * history.channels),
    channels: history.channels,
    settings: { horizon, season: horizon },
    originStep: 0,
    seasonalErrors: null,
  };
  return { model, input };
}
