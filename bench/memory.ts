// What a series costs in memory: the store's growth, after garbage collection, by the age of its series.

import type { SeriesSettings } from "../src/domain.ts";
import { loadConfig } from "../src/runtime/config/load.ts";
import { seriesRules } from "../src/runtime/config/series-rules.ts";
import { SeriesStore } from "../src/window/series-store.ts";
import { seriesIdOf, timeOf, valueAt } from "./rig/fleet.ts";
import { type Section, whole } from "./rig/report.ts";

const series = 1_000;

interface Footprint {
  readonly heap: number;
  readonly arrays: number;
}

export function measureMemory(): Section {
  const { series: rules, output } = loadConfig({ argv: [], env: {} });
  const settingsOf = seriesRules(rules);
  const { horizon, season, history } = settingsOf("");
  const rows: readonly (readonly [string, number, number])[] = [
    ["young: 12 points", 12, 0],
    [`two seasons: ${2 * season} points`, 2 * season, 0],
    [`full history: ${whole(history)} points`, history, 0],
    ["full history, times off the grid", history, 137],
  ];
  return {
    title: "Memory per series",
    method:
      `Default settings (τ = ${horizon}, history ${whole(history)} points, one channel), ${whole(series)} series in a store, after a ` +
      "forecast of each. Bytes of the JavaScript heap and of the typed arrays outside it, both after garbage collection.",
    columns: ["series", "heap bytes", "array bytes", "together"],
    rows: rows.map(([name, points, jitterMs]) => {
      const { heap, arrays } = footprint(settingsOf, output.levels, points, jitterMs);
      return [name, whole(heap), whole(arrays), whole(heap + arrays)];
    }),
  };
}

function footprint(
  settingsOf: (seriesId: string) => SeriesSettings,
  levels: readonly number[],
  points: number,
  jitterMs: number,
): Footprint {
  const before = settledMemory();
  const store = new SeriesStore(settingsOf);
  for (let number = 0; number < series; number++) {
    const seriesId = seriesIdOf(number);
    for (let step = 0; step < points; step++) {
      const timeMs = timeOf(step) + (step % 2) * jitterMs;
      store.of(seriesId).push({ seriesId, timeMs, values: [valueAt(step, number)] });
    }
    store.of(seriesId).takeWindow(levels);
    store.takeChanges();
  }
  const after = settledMemory();
  if (store.size !== series) throw new Error(`the store holds ${store.size} series instead of ${series}`);
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
