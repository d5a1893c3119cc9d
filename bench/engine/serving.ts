// Measures what a worker pays for the forecasts of its models: tasks through the interface of the families, as the forecast stage calls
// it, with nets on one engine thread. By the processor time of the whole process.

import { openInProcessEngine } from "../../src/engine/in-process-engine.ts";
import { openThreadedEngine } from "../../src/engine/threads/threaded-engine.ts";
import { simplestOf } from "../../src/models/ensemble/family.ts";
import { createFamilies, type Families } from "../../src/models/families.ts";
import type { FamilyPlan, ForecastTask, Model } from "../../src/models/family.ts";
import { readingsOf } from "../retrain/sensors.ts";
import { decimals, type Section, spread, whole } from "../rig/report.ts";
import { levels } from "./engine-questions.ts";

interface ServingOptions {
  readonly rounds: number;
  readonly isQuick: boolean;
}

interface Kind {
  readonly title: string;
  readonly family: string;
  /** Most nets in a model. */
  readonly members: number;
  readonly batches: readonly number[];
}

const season = 24;
const historySteps = 60 * season;
/** Trained models. Every series gets one of them as a copy of its own, decoded from bytes as in a worker. */
const trainedModels = 6;
/** What a worker draws by default, and what it drew before. */
const pathCounts = [48, 100];

const kinds: readonly Kind[] = [
  { title: "linear", family: "linear", members: 1, batches: [1, 100, 1_000, 4_000] },
  { title: "one net", family: "forecastnet", members: 1, batches: [1, 100, 1_000] },
  { title: "several nets", family: "forecastnet", members: 4, batches: [1, 100, 1_000] },
  { title: "ensemble", family: "ensemble", members: 4, batches: [1, 100, 1_000] },
];

export async function measureServing({ rounds, isQuick }: ServingOptions): Promise<Section> {
  const engine = await openThreadedEngine({ setup: { kind: "simd" }, threads: 1 });
  const trainer = createFamilies(await openInProcessEngine({ kind: "simd" }));
  const families = createFamilies(engine);
  const rows: string[][] = [];
  for (const kind of kinds) {
    const bytes = await trainAll(trainer, kind);
    for (const batch of kind.batches) {
      const tasks = tasksOf(families, bytes, Math.max(batch, isQuick ? 200 : 1_000));
      const perPath: string[] = [];
      for (const paths of kind.family === "linear" ? pathCounts.slice(0, 1) : pathCounts) {
        const costs: number[] = [];
        // The first round warms up compilers and caches and does not count.
        for (let round = 0; round <= rounds; round++)
          costs.push(await costOf(families, tasks, { batch, paths }));
        perPath.push(
          spread(
            costs.slice(1).map((us) => 1e6 / us),
            whole,
          ),
          spread(costs.slice(1), decimals(0)),
        );
      }
      while (perPath.length < 2 * pathCounts.length) perPath.push("–");
      rows.push([`${kind.title}, batches of ${whole(batch)}`, ...perPath]);
    }
  }
  await engine.close();
  const columns = pathCounts.flatMap((paths) => [`${paths} paths: per CPU second`, "CPU µs each"]);
  return {
    title: "Forecasts of models, as a worker asks for them",
    method:
      `Through the interface of the model families: from windows to mean, deviation and ${levels.length} quantiles over ${season} steps. Linear models run on the ` +
      `event loop, nets on one engine thread. ${trainedModels} models of each kind were trained with normal effort on ${whole(historySteps)} steps; every series has a copy of one of ` +
      "them. Several nets are the ForecastNet model of up to four members; an ensemble adds the linear model. By the processor time of the " +
      `whole process, ${rounds} rounds. Linear models draw no paths.`,
    columns: ["", ...columns],
    rows,
  };
}

interface StoredModel {
  readonly family: string;
  readonly bytes: Uint8Array;
  readonly values: Float64Array;
}

async function trainAll(families: Families, { family, members }: Kind): Promise<readonly StoredModel[]> {
  const stored: StoredModel[] = [];
  for (let number = 0; number < trainedModels; number++) {
    const key = `sensor-${number}`;
    const values = readingsOf(number, season, historySteps);
    const plan: FamilyPlan = { family, horizon: season, season, form: "auto", effort: "normal", members };
    const task = { key, plan, channels: 1, series: [{ values, filled: null, firstStep: 0 }], seed: 1 };
    const result = await families.named(family).train(task, new AbortController().signal);
    if (result.outcome !== "trained") throw new Error(`training ${key} ended as ${result.outcome}`);
    const model: Model = { ...simplestOf(result.model), version: "1" };
    stored.push({ family: model.family, bytes: families.of(model).encode(model, "float32"), values });
  }
  return stored;
}

function tasksOf(families: Families, stored: readonly StoredModel[], count: number): readonly ForecastTask[] {
  return Array.from({ length: count }, (_, i): ForecastTask => {
    const { family, bytes, values } = stored[i % stored.length];
    const model = { ...families.named(family).decode(bytes, "the bench"), key: `series-${i}` };
    const { inputSteps } = families.of(model).shapeOf(model);
    const origin = values.length - (i % 7);
    const settings = { horizon: season, season };
    const window = values.slice(origin - inputSteps, origin);
    return {
      model,
      input: { values: window, channels: 1, originStep: origin - 1, settings, seasonalErrors: null },
    };
  });
}

/** CPU µs per forecast. */
async function costOf(
  families: Families,
  tasks: readonly ForecastTask[],
  { batch, paths }: { readonly batch: number; readonly paths: number },
): Promise<number> {
  const begin = process.cpuUsage();
  for (let from = 0; from < tasks.length; from += batch) {
    for (const answer of await families.forecast(tasks.slice(from, from + batch), { paths, levels }))
      if (answer instanceof Error) throw answer;
  }
  const { user, system } = process.cpuUsage(begin);
  return (user + system) / tasks.length;
}
