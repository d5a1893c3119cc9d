// What a series costs in memory: the growth of what a lane holds of it, after garbage collection, by its age, by the digits that
// its sensor reports, and with a model.

import type { Outgoing, Placement } from "../src/domain.ts";
import { ModelStore, restoreModels } from "../src/forecast/model-store.ts";
import { coldForecastOf } from "../src/forecast/to-forecasts.ts";
import { storedFamilies } from "../src/models/families.ts";
import { loadConfig } from "../src/runtime/config/load.ts";
import { seriesRules } from "../src/runtime/config/series-rules.ts";
import { ScoreStore } from "../src/score/score-store.ts";
import { openTrainingThreads } from "../src/training/training-threads.ts";
import { SeriesStore } from "../src/window/series-store.ts";
import { Fleet, interval, quantityAt, seriesIdOf, timeOf, valueAt } from "./rig/fleet.ts";
import { modelRecords, trainFleetModel } from "./rig/fleet-models.ts";
import { type Section, whole } from "./rig/report.ts";

const series = 1_000;
const coldBar = 16_000;
const linearBar = 40_000;

interface Footprint {
  readonly heap: number;
  readonly arrays: number;
}

interface Kind {
  readonly name: string;
  readonly points: number;
  /** How far every second observation lies off the grid. */
  readonly jitterMs: number;
  /** Of the points, how many were forecast and scored, one after the other. */
  readonly forecasts: number;
  readonly valueAt: (step: number, number: number) => number;
  /** The models topic; empty for series without a model. */
  readonly models: readonly Outgoing[];
}

const {
  series: rules,
  output,
  calibration,
} = loadConfig({ argv: [`--series.interval=${interval}`], env: {} });
const settingsOf = seriesRules(rules);
const { horizon, season, history } = settingsOf("");

export async function measureMemory(): Promise<Section> {
  const bare = { points: history, jitterMs: 0, forecasts: 0, valueAt, models: [] };
  const scored: Kind = { ...bare, name: "forecast, scored and calibrated", forecasts: 3 * horizon };
  const singles = (step: number, number: number) => Math.fround(quantityAt(step, number));
  const kinds: readonly Kind[] = [
    { ...bare, name: "young: 12 points", points: 12 },
    { ...bare, name: `two seasons: ${2 * season} points`, points: 2 * season },
    { ...bare, name: `full history: ${whole(history)} points` },
    { ...bare, name: "full history, values in single precision", valueAt: singles },
    { ...bare, name: "full history, values in double precision", valueAt: quantityAt },
    { ...bare, name: "full history, times off the grid", jitterMs: 137 },
    scored,
    { ...scored, name: `${scored.name}, values in single precision`, valueAt: singles },
    { ...scored, name: `${scored.name}, values in double precision`, valueAt: quantityAt },
    { ...scored, name: `${scored.name}, with a linear model`, models: await linearModels() },
  ];
  const found: (readonly [Kind, Footprint])[] = [];
  for (const kind of kinds) found.push([kind, await footprint(kind)]);
  const bytesOf = (wanted: Kind) => {
    const [, { heap, arrays }] = found.find(([kind]) => kind === wanted) ?? found[0];
    return heap + arrays;
  };
  return {
    title: "Memory per series",
    method:
      `Default settings (τ = ${horizon}, history ${whole(history)} points, one channel), ${whole(series)} series in a store. Values have two decimals ` +
      "unless a row says otherwise: the past of a series is held in the narrowest form that gives back exactly the same numbers. " +
      `Scored rows have a full history and live scores after ${3 * horizon} cold-tier forecasts each: everything that a worker stores of a series ` +
      "without a model. The model of the last row is trained on the fleet's own past, and restored from its record as a worker does it. " +
      "Bytes are those of the JavaScript heap and of the typed arrays outside it, both after garbage collection.",
    columns: ["series", "heap bytes", "array bytes", "together"],
    rows: found.map(([{ name }, { heap, arrays }]) => [
      name,
      whole(heap),
      whole(arrays),
      whole(heap + arrays),
    ]),
    outcome:
      `A scored series without a model takes ${judged(bytesOf(scored), coldBar)}, ` +
      `with a linear model ${judged(bytesOf(kinds[kinds.length - 1]), linearBar)}.`,
  };
}

function judged(bytes: number, bar: number): string {
  const kB = (size: number) => `${(size / 1000).toFixed(1)} kB`;
  return `**${kB(bytes)}** (bar: at most ${kB(bar)}${bytes > bar ? "; MISSED" : ""})`;
}

async function linearModels(): Promise<readonly Outgoing[]> {
  const trainer = await openTrainingThreads({ setup: { kind: "simd" }, threads: 1 });
  const trained = await trainFleetModel(trainer, { family: "linear", effort: "normal", steps: history });
  await trainer.close();
  return [...modelRecords(new Fleet(series, 1), "models", trained)];
}

async function footprint({ points, jitterMs, forecasts, valueAt, models }: Kind): Promise<Footprint> {
  const { levels } = output;
  const before = settledMemory();
  const store = new SeriesStore(settingsOf);
  const scoreStore = new ScoreStore({ levels, settingsOf, calibration, rollingSteps: () => 4 * horizon });
  for (let number = 0; number < series; number++) {
    const seriesId = seriesIdOf(number);
    for (let step = 0; step < points; step++) {
      const timeMs = timeOf(step) + (step % 2) * jitterMs;
      const placements: Placement[] = [];
      store.of(seriesId).push({ seriesId, timeMs, values: [valueAt(step, number)] }, placements);
      if (step < points - forecasts) continue;
      for (const placement of placements) scoreStore.of(seriesId).score(placement);
      const window = store.of(seriesId).takeWindow(levels);
      const forecast = coldForecastOf(window, levels);
      if (forecast !== null) scoreStore.of(seriesId).publish(forecast, null);
    }
    store.of(seriesId).takeWindow(levels);
    store.takeChanges();
    scoreStore.takeChanges();
  }
  const modelStore = await storeOf(models);
  const after = settledMemory();
  if (store.size !== series) throw new Error(`the store holds ${store.size} series instead of ${series}`);
  if (scoreStore.size !== (forecasts > 0 ? series : 0))
    throw new Error(`${scoreStore.size} series were forecast`);
  if (modelStore.size !== models.length) throw new Error(`${modelStore.size} models can serve`);
  return {
    heap: (after.heapUsed - before.heapUsed) / series,
    arrays: (after.arrayBuffers - before.arrayBuffers) / series,
  };
}

async function storeOf(models: readonly Outgoing[]): Promise<ModelStore> {
  const store = new ModelStore({ settingsOf, families: storedFamilies });
  const valueByKey = new Map(models.map(({ key, value }) => [String(key), Buffer.from(value ?? [])]));
  const [refusal] = await restoreModels(store, valueByKey);
  if (refusal !== undefined) throw new Error(refusal.detail);
  return store;
}

function settledMemory(): NodeJS.MemoryUsage {
  if (global.gc === undefined) throw new Error("run with --expose-gc, as `npm run bench:pipeline` does");
  // Array memory is given back by the collection after the one that found its owner dead.
  for (let i = 0; i < 3; i++) global.gc();
  return process.memoryUsage();
}
