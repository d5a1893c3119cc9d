// What a scrape of /metrics costs as the fleet grows, and everything else that visits all series of a worker: processor time
// of the thread of the event loop, in total and in the longest turn, during which nothing else is done.

import { setImmediate } from "node:timers/promises";
import { Retrainer } from "../src/lifecycle/retrainer.ts";
import { cpuSeconds } from "../src/runtime/clock.ts";
import { silentLogger } from "../src/runtime/logging.ts";
import type { ServiceFacts } from "../src/runtime/metric-groups.ts";
import { createMetrics } from "../src/runtime/metrics.ts";
import { createModelInventory } from "../src/service/model-inventory.ts";
import { createSeriesInventory } from "../src/service/series-api.ts";
import { countPhases } from "../src/service/worker.ts";
import { recount } from "../test/rig/quality-recount.ts";
import { decimals, median, type Section, spread, whole } from "./rig/report.ts";
import { ScoredFleet } from "./rig/scored-fleet.ts";

const partitions = 64;
const sizes = [1_000, 10_000, 100_000];
const bar = { scrapeMs: 5, growth: 1.5, turnMs: 10 };
const worstSeries = 10;

interface Cost {
  readonly totalMs: number;
  /** The longest turn of the event loop. */
  readonly turnMs: number;
}

interface FleetCosts {
  readonly scrapes: readonly number[];
  /** Counting a series whose scores have changed, per batch in which they do. */
  readonly updateNs: number;
  readonly walks: Readonly<Record<string, Cost>>;
}

export async function measureScrape(rounds: number): Promise<readonly Section[]> {
  const costs: FleetCosts[] = [];
  for (const series of sizes) costs.push(await measureFleet(series, rounds));
  const last = costs[costs.length - 1];
  const scrapeMs = median(last.scrapes);
  const growth = scrapeMs / median(costs[0].scrapes);
  const isMissed = scrapeMs > bar.scrapeMs || growth > bar.growth;
  const longest = Math.max(...Object.values(last.walks).map(({ turnMs }) => turnMs));
  return [
    {
      title: "A scrape of the metrics",
      method:
        `A worker's metrics with ${partitions} partitions and all series scored, in process, ${rounds} scrapes. Processor time of the event loop's ` +
        "thread, which is what a scrape takes from forecasting. Histograms, worst series and phases were first compared with a full recount. " +
        "The last column is what it costs to keep them up to date, for each batch in which a series changes.",
      columns: ["series", "ms per scrape", "ns per changed series"],
      rows: costs.map(({ scrapes, updateNs }, i) => [
        whole(sizes[i]),
        spread(scrapes, decimals(2)),
        whole(updateNs),
      ]),
      outcome: `A hundred times the series: **${growth.toFixed(2)} ×** the time, ${scrapeMs.toFixed(1)} ms (bar: at most ${bar.scrapeMs} ms and ${bar.growth} ×${isMissed ? "; MISSED" : ""}).`,
    },
    {
      title: "What visits every series",
      method:
        "The same fleets. Processor time of the event loop's thread in total, and in the longest turn of the event loop, during which the worker " +
        "does nothing else. The first two run unasked: every 5 minutes and every minute. The others answer an HTTP request.",
      columns: ["", ...sizes.map((series) => `${whole(series)} series, ms`), "longest turn, ms"],
      rows: Object.keys(last.walks).map((name) => [
        name,
        ...costs.map(({ walks }) => walks[name].totalMs.toFixed(1)),
        last.walks[name].turnMs.toFixed(1),
      ]),
      outcome: `Longest turn with ${whole(sizes[sizes.length - 1])} series: **${longest.toFixed(1)} ms** (bar: ${bar.turnMs} ms${longest > bar.turnMs ? "; MISSED" : ""}).`,
    },
  ];
}

async function measureFleet(series: number, rounds: number): Promise<FleetCosts> {
  const fleet = await ScoredFleet.open(series, partitions);
  fleet.advance(48, 6);
  fleet.commit();
  const metrics = createMetrics("bench", { worstSeries });
  const scrapes: number[] = [];
  const scrape = () => metrics.expose(factsOf(fleet));
  checkScrape(fleet, (await scrape()).text);
  for (let i = 0; i < 20; i++) await scrape();
  for (let i = 0; i < rounds; i++) scrapes.push((await costOf(scrape)).totalMs);
  return { scrapes, updateNs: updateCost(fleet), walks: await walkCosts(fleet) };
}

function factsOf({ lanes }: ScoredFleet): ServiceFacts {
  return {
    ...{
      state: "running",
      isReady: true,
      partitions: lanes.length,
      restoring: 0,
      waiting: 0,
      lag: 0,
      models: 0,
    },
    series: lanes.reduce((sum, { store }) => sum + store.size, 0),
    bufferedBatches: 0,
    training: { inFlight: 0, waiting: 0, budgetSeconds: null },
    phases: countPhases(lanes),
    quality: lanes.map(({ scoreStore }) => scoreStore.quality),
    engine: null,
  };
}

/** Throws unless the text says what a full recount says. */
function checkScrape({ lanes, series }: ScoredFleet, text: string): void {
  const stores = lanes.map(({ scoreStore }) => scoreStore);
  const expected = recount(stores, worstSeries);
  const lines = text.split("\n");
  const valuesOf = (start: string) =>
    lines.filter((line) => line.startsWith(start)).map((line) => Number(line.split(" ").pop()));
  const checks: readonly (readonly [string, readonly number[], readonly number[]])[] = [
    ["MASE", valuesOf("forecastnet_series_mase_bucket"), cumulated(expected.mase)],
    ["CRPS", valuesOf("forecastnet_series_scaled_crps_bucket"), cumulated(expected.scaledCrps)],
    ["coverage", valuesOf("forecastnet_series_coverage_bucket"), expected.coverage.flatMap(cumulated)],
    ["worst series", valuesOf("forecastnet_worst_series_mase{"), expected.worst],
    ["cold series", valuesOf('forecastnet_series_by_phase{phase="cold"}'), [series]],
    ["counted series", valuesOf("forecastnet_series_mase_count"), [series]],
  ];
  for (const [name, said, counted] of checks) {
    if (String(said) !== String(counted)) throw new Error(`${name}: the scrape says ${said}, not ${counted}`);
  }
  const [sum] = valuesOf("forecastnet_series_mase_sum");
  if (Math.abs(sum - expected.maseSum) > 1e-9 * sum)
    throw new Error(`MASE: the sum is ${sum}, not ${expected.maseSum}`);
}

function cumulated(counts: readonly number[]): number[] {
  let sum = 0;
  return counts.map((count) => {
    sum += count;
    return sum;
  });
}

/** As in a batch: the series of one partition take a step, then they are counted again. The median over the partitions. */
function updateCost(fleet: ScoredFleet): number {
  const perPartition: number[] = [];
  for (let round = 0; round < 5; round++) {
    fleet.advance(1, 1, ({ scoreStore }) => {
      const startMs = performance.now();
      for (const scores of scoreStore) scoreStore.quality.update(scores);
      perPartition.push((1e6 * (performance.now() - startMs)) / scoreStore.size);
    });
    fleet.commit();
  }
  return median(perPartition);
}

async function walkCosts(fleet: ScoredFleet): Promise<Readonly<Record<string, Cost>>> {
  const { parts, clock, config } = fleet;
  const lifecycles = fleet.lanes.map(({ lifecycle }) => lifecycle);
  const models = createModelInventory(() => lifecycles, parts.families, clock);
  const series = createSeriesInventory(() => lifecycles, clock);
  const retrainer = new Retrainer({
    ...{ lifecycles: () => lifecycles, families: parts.families, trainer: null, settings: config.retrain },
    ...{ cohorts: [], gather: async () => [], clock, random: () => 0 },
    ...{ logger: silentLogger, metrics: parts.metrics.retrain },
  });
  const due = async () => {
    retrainer.check();
    await retrainer.settled();
  };
  await due(); // Sets when the first sweep is due.
  const sweeps = async () => {
    for (const { expiry } of lifecycles) await expiry.sweep();
  };
  clock.offsetMs += 6 * 60_000;
  const walks: Record<string, Cost> = {};
  walks["search for series to forget"] = await costOf(sweeps);
  walks["evaluation, when every series needs a model"] = await costOf(due);
  walks["/models, the worst 100"] = await costOf(async () => models.list({ phase: null, most: 100 }));
  walks["/series?match=*9999"] = await costOf(async () => series.list((id) => id.endsWith("9999"), 100));
  await retrainer.stop();
  return walks;
}

async function costOf(act: () => Promise<unknown>): Promise<Cost> {
  const start = cpuSeconds();
  let turnStart = start;
  let longest = 0;
  let isDone = false;
  const acting = act().finally(() => {
    isDone = true;
  });
  do {
    await setImmediate();
    const now = cpuSeconds();
    longest = Math.max(longest, now - turnStart);
    turnStart = now;
  } while (!isDone);
  await acting;
  return { totalMs: 1000 * (cpuSeconds() - start), turnMs: 1000 * longest };
}
