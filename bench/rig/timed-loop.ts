// One of the loops whose throughput is compared: its process, its topics, its input, and what it did in each round.

import { decodeForecast } from "../../src/log/codec/forecast-codec.ts";
import type { ForecastRecord } from "../../src/log/codec/schemas.generated.ts";
import type { Log, StoredRecord } from "../../src/log/log.ts";
import type { RecordSize, WrittenSizes } from "../bare-loop.ts";
import type { Cluster } from "./cluster.ts";
import type { Fleet } from "./fleet.ts";
import { cpuMsOf } from "./process-cpu.ts";
import { TopicTail } from "./topic-tail.ts";
import type { WorkerNames } from "./worker-process.ts";

export interface TimedLoopOptions {
  readonly cluster: Cluster;
  readonly log: Log;
  readonly names: WorkerNames;
  /** The process that runs the loop; another one after a restart. */
  readonly pid: () => number;
  readonly fleet: Fleet;
  /** Number of first observations of a series that get no forecast. */
  readonly silentSteps: number;
}

export class TimedLoop {
  readonly names: WorkerNames;
  readonly fleet: Fleet;
  readonly perSecond: number[] = [];
  readonly cpuUs: number[] = [];
  readonly bytesPerObservation: number[] = [];
  readonly #options: TimedLoopOptions;
  readonly #forecasts: TopicTail;
  readonly #states: TopicTail;
  readonly #forecastIds = new Set<string>();
  #steps = 0;
  #stepsInRound = 0;
  #found = 0;

  constructor(options: TimedLoopOptions) {
    const { cluster, log, names, fleet } = options;
    this.names = names;
    this.fleet = fleet;
    this.#options = options;
    this.#forecasts = new TopicTail(log, cluster, names.forecasts);
    this.#states = new TopicTail(log, cluster, names.state);
  }

  async run(steps: number): Promise<void> {
    const { cluster, pid } = this.#options;
    const { group, input } = this.names;
    const observations = this.fleet.take(steps * this.fleet.series, input);
    const cpuBefore = cpuMsOf(pid());
    const { records, ms } = await cluster.timeGroup(group, input, observations);
    this.perSecond.push((1000 * records) / ms);
    this.cpuUs.push((1000 * (cpuMsOf(pid()) - cpuBefore)) / observations.length);
    this.#stepsInRound = steps;
    this.#steps += steps;
  }

  /** Reads what the round wrote and checks that there is one forecast, with an id of its own, per observation. */
  async readForecasts(check: (forecast: ForecastRecord) => void): Promise<readonly WrittenSizes[]> {
    const expected = Math.max(0, this.#steps - this.#options.silentSteps) * this.fleet.series;
    const sizes = await this.count(expected - this.#found, (value) => {
      this.#found++;
      const forecast = decodeForecast(value);
      this.#forecastIds.add(forecast.id);
      check(forecast);
    });
    if (this.#found !== expected || this.#forecastIds.size !== expected) {
      throw new Error(
        `${this.names.group}: ${expected} forecasts expected, ${this.#found} found, ${this.#forecastIds.size} different ones`,
      );
    }
    return sizes;
  }

  /** Reads what the round wrote. */
  async count(
    expected = this.#stepsInRound * this.fleet.series,
    read: (forecast: Buffer) => void = () => undefined,
  ): Promise<readonly WrittenSizes[]> {
    const sizes = Array.from({ length: this.fleet.partitions }, () => ({
      forecasts: [] as RecordSize[],
      states: [] as RecordSize[],
    }));
    await this.#forecasts.drain(expected, (record, partition) => {
      sizes[partition].forecasts.push(sizeOf(record));
      read(record.value ?? Buffer.alloc(0));
    });
    await this.#states.drain(0, (record, partition) => sizes[partition].states.push(sizeOf(record)));
    const bytes = sizes.flatMap(({ forecasts, states }) => [...forecasts, ...states]);
    const inputs = this.#stepsInRound * this.fleet.series;
    this.bytesPerObservation.push(bytes.reduce((sum, [key, value]) => sum + key + value, 0) / inputs);
    return sizes;
  }

  async close(): Promise<void> {
    await Promise.all([this.#forecasts.close(), this.#states.close()]);
  }
}

function sizeOf({ key, value }: StoredRecord): RecordSize {
  return [key?.length ?? 0, value?.length ?? 0];
}
