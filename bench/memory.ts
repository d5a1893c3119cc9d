// What a series costs in memory: the growth of what a lane holds of it, after garbage collection, by its age.

import type { Placement } from "../src/domain.ts";
import { coldForecastOf } from "../src/forecast/to-forecasts.ts";
import { loadConfig } from "../src/runtime/config/load.ts";
import { seriesRules } from "../src/runtime/config/series-rules.ts";
import { ScoreStore } from "../src/score/score-store.ts";
import { SeriesStore } from "../src/window/series-store.ts";
import { seriesIdOf, timeOf, valueAt } from "./rig/fleet.ts";
import { type Section, whole } from "./rig/report.ts";

const series = 1_000;

interface Footprint {
  readonly heap: number;
  readonly arrays: number;
}

interface Age {
  readonly name: string;
  readonly points: number;
  /** How far every second observation lies off the grid. */
  readonly jitterMs: number;
  /** Of the points, how many were forecast and scored, one after the other. */
  readonly forecasts: number;
}

const { series: rules, output, calibration } = loadConfig({ argv: [], env: {} });
const settingsOf = seriesRules(rules);
const { horizon, season, history } = settingsOf("");

export function measureMemory(): Section {
  const bare = { jitterMs: 0, forecasts: 0 };
  const ages: readonly Age[] = [
    { name: "young: 12 points", points: 12, ...bare },
    { name: `two seasons: ${2 * season} points`, points: 2 * season, ...bare },
    { name: `full history: ${whole(history)} points`, points: history, ...bare },
    { name: "full history, times off the grid", points: history, ...bare, jitterMs: 137 },
    {
      name: "full history, forecast, scored and calibrated",
      points: history,
      ...bare,
      forecasts: 3 * horizon,
    },
  ];
  return {
    title: "Memory per series",
    method:
      `Default settings (τ = ${horizon}, history ${whole(history)} points, one channel), ${whole(series)} series in a store. The last row ` +
      `includes their live scores, after ${3 * horizon} cold-tier forecasts each: everything that a worker stores of a series without a model. ` +
      "Bytes are those of the JavaScript heap and of the typed arrays outside it, both after garbage collection.",
    columns: ["series", "heap bytes", "array bytes", "together"],
    rows: ages.map((age) => {
      const { heap, arrays } = footprint(age);
      return [age.name, whole(heap), whole(arrays), whole(heap + arrays)];
    }),
  };
}

function footprint({ points, jitterMs, forecasts }: Age): Footprint {
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
  const after = settledMemory();
  if (store.size !== series) throw new Error(`the store holds ${store.size} series instead of ${series}`);
  if (scoreStore.size !== (forecasts > 0 ? series : 0))
    throw new Error(`${scoreStore.size} series were forecast`);
  return {
    heap: (after.heapUsed - before.heapUsed) / series,
    arrays: (after.arrayBuffers - before.arrayBuffers) / series,
  };
}

function settledMemory(): NodeJS.MemoryUsage {
  if (global.gc === undefined) throw new Error("run with --expose-gc, as `npm run bench:pipeline` does");
  // Array memory is given back by the collection after the one that found its owner dead.
  for (let i = 0; i < 3; i++) global.gc();
  return process.memoryUsage();
}
