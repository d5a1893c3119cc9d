// The lanes of a worker in this process, with series that have a short past and live scores, and no log around them.

import type { Placement } from "../../src/domain.ts";
import { coldForecastOf } from "../../src/forecast/to-forecasts.ts";
import type { Attempt } from "../../src/isolate-failures.ts";
import { createLane, type Lane } from "../../src/lane.ts";
import { createMemoryLog } from "../../src/log/memory-log.ts";
import { storedFamilies } from "../../src/models/families.ts";
import type { PipelineParts } from "../../src/pipeline.ts";
import { systemClock, type Timers } from "../../src/runtime/clock.ts";
import { loadConfig } from "../../src/runtime/config/load.ts";
import type { AppConfig } from "../../src/runtime/config/schema.ts";
import { silentLogger } from "../../src/runtime/logging.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { buildPipelineParts } from "../../src/service/pipeline-parts.ts";
import { interval, seriesIdOf, timeOf, valueAt } from "./fleet.ts";

/** A small horizon, so that a hundred thousand series are scored in seconds. */
const flags = [
  ...[`--series.interval=${interval}`, "--series.horizon=4", "--series.season=4", "--series.history=96"],
  ...["--series.forgetAfter=P7D", "--retrain.where=trainers", "--series.family=linear"],
];

export class ScoredFleet {
  readonly config: AppConfig;
  readonly clock: Timers & { offsetMs: number };
  readonly parts: PipelineParts;
  readonly lanes: readonly Lane[];
  readonly series: number;
  #steps = 0;

  private constructor(series: number, opened: Pick<ScoredFleet, "config" | "clock" | "parts">) {
    this.config = opened.config;
    this.clock = opened.clock;
    this.parts = opened.parts;
    this.series = series;
    this.lanes = Array.from({ length: opened.parts.partitions }, (_, partition) =>
      createLane(ownedPartition(partition), opened.parts),
    );
  }

  static async open(series: number, partitions: number): Promise<ScoredFleet> {
    const log = createMemoryLog({ topics: [{ topic: "sensors", partitions, compacted: false }] });
    const config = loadConfig({ argv: flags, env: {} });
    const clock = { ...systemClock, offsetMs: 0, nowMs: () => systemClock.nowMs() + clock.offsetMs };
    const surroundings = {
      config,
      clock,
      random: () => 0,
      logger: silentLogger,
      metrics: createMetrics("bench"),
    };
    const parts = await buildPipelineParts(log, storedFamilies, surroundings);
    return new ScoredFleet(series, { config, clock, parts });
  }

  /** Each series takes so many steps, lane after lane. Only the last `scored` steps are forecast and scored. */
  advance(steps: number, scored: number, afterLane: (lane: Lane) => void = () => {}): void {
    const first = this.#steps;
    this.#steps += steps;
    for (const [partition, lane] of this.lanes.entries()) {
      for (let number = partition; number < this.series; number += this.lanes.length) {
        for (let step = first; step < this.#steps; step++)
          this.#observe(lane, number, step, step >= this.#steps - scored);
      }
      afterLane(lane);
    }
  }

  #observe({ store, scoreStore }: Lane, number: number, step: number, isScored: boolean): void {
    const { levels } = this.parts;
    const seriesId = seriesIdOf(number);
    const series = store.of(seriesId);
    const placements: Placement[] = [];
    series.push({ seriesId, timeMs: timeOf(step), values: [valueAt(step, number)] }, placements);
    if (!isScored) return;
    for (const placement of placements) scoreStore.get(seriesId)?.score(placement);
    const forecast = coldForecastOf(series.takeWindow(levels), levels);
    if (forecast !== null) scoreStore.of(seriesId).publish(forecast, null);
  }

  /** As at the end of a batch. */
  commit(): void {
    for (const { store, scoreStore } of this.lanes) {
      store.takeChanges();
      scoreStore.takeChanges();
    }
  }
}

function ownedPartition(partition: number): Attempt {
  return {
    partition,
    lost: new AbortController().signal,
    lag: 0,
    isSearching: false,
    quarantineOf: () => null,
    async *restore() {},
    async *tail() {},
    async *batches() {},
    write: async () => {},
    commit: async () => {},
  };
}
