// The model families of this release. To add a family, add its folder and one line to `familyByName`.

import { ForecastnetError } from "../runtime/errors.ts";
import type { BaselineModel } from "./baseline-family.ts";
import { boundAnswer } from "./bounds.ts";
import { createEnsemble } from "./ensemble/family.ts";
import type { ForecastAnswer, ForecastOptions, ForecastTask, Model, ModelFamily } from "./family.ts";
import type { Engine } from "./forecastnet/engine.ts";
import { createForecastNet } from "./forecastnet/family.ts";
import { linear } from "./linear/family.ts";
import { persistence } from "./persistence/family.ts";
import { seasonalNaive } from "./seasonal-naive/family.ts";

const familyByName = {
  forecastnet: createForecastNet,
  linear: () => linear,
  "seasonal-naive": () => seasonalNaive,
  persistence: () => persistence,
  ensemble: (_, all) => createEnsemble(all, averaged),
} satisfies Record<string, (engine: Engine, all: () => Families) => ModelFamily>;

export const familyNames: readonly string[] = Object.keys(familyByName);

/** In place of a family: a linear model first, then an ensemble where that promises more. */
export const anyFamily = "auto";

/** The families whose models an ensemble averages, the cheapest first. */
const averaged: readonly string[] = ["linear", "forecastnet"];

export function createFamilies(engine: Engine): Families {
  const all: Families = new Families(Object.values(familyByName).map((create) => create(engine, () => all)));
  return all;
}

/** Finds the family of a model by the name in the model, so that a family only gets its own models. */
export class Families {
  readonly #byName: ReadonlyMap<string, ModelFamily>;

  /** The family of the baseline is always among them: every challenger is judged against it. */
  constructor(families: readonly ModelFamily[]) {
    const byName = new Map(families.map((family) => [family.name, family]));
    if (!byName.has(seasonalNaive.name)) byName.set(seasonalNaive.name, seasonalNaive);
    this.#byName = byName;
  }

  get names(): readonly string[] {
    return [...this.#byName.keys()];
  }

  /** Throws MODEL_UNFIT for an unknown family. */
  named(name: string, where = "the model"): ModelFamily {
    const family = this.#byName.get(name);
    if (family !== undefined) return family;
    const known = this.names.join(", ");
    throw new ForecastnetError("MODEL_UNFIT", `${where}: family is "${name}"; this release has ${known}`);
  }

  of(model: Model): ModelFamily {
    return this.named(model.family, `model ${model.key}@${model.version}`);
  }

  /**
   * Forecasts of models of any family, in the order of the tasks, within the bounds of their series. Each family gets
   * its tasks in one call.
   */
  async forecast(
    tasks: readonly ForecastTask[],
    options: ForecastOptions,
  ): Promise<readonly ForecastAnswer[]> {
    const indicesByFamily = new Map<ModelFamily, number[]>();
    for (let index = 0; index < tasks.length; index++) {
      const { model } = tasks[index];
      const family = this.#byName.get(model.family) ?? this.of(model);
      const indices = indicesByFamily.get(family);
      if (indices === undefined) indicesByFamily.set(family, [index]);
      else indices.push(index);
    }
    const answers = new Array<ForecastAnswer>(tasks.length);
    for (const [family, indices] of indicesByFamily) {
      const own = await family.forecast(
        indices.map((index) => tasks[index]),
        options,
      );
      for (let i = 0; i < indices.length; i++)
        answers[indices[i]] = boundAnswer(own[i], tasks[indices[i]].input.settings.bounds);
    }
    return answers;
  }

  /** Serves a series without a model. Every challenger must beat it. */
  baselineFor(key: string, shape: Pick<BaselineModel, "horizon" | "season" | "channels">): Model {
    return seasonalNaive.modelFor(key, shape);
  }

  release(model: Model): void {
    this.of(model).release(model);
  }
}

const noEngine: Engine = {
  description: { name: "reference", device: "none", threads: 0, detail: "no engine" },
  status: () => ({ trouble: null, residentModels: 0, residentBytes: 0, waitingForecasts: 0 }),
  forecast: () => Promise.reject(new ForecastnetError("ENGINE_FAILED", "this process runs no engine")),
  fit: () => Promise.reject(new ForecastnetError("ENGINE_FAILED", "this process runs no engine")),
  release: () => undefined,
  close: async () => undefined,
};

/** For processes that read and write models but run none. */
export const storedFamilies = createFamilies(noEngine);
