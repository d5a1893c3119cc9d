// What a rival must forecast: the worker's own forecasts at some origins, with calibration off, since no rival calibrates.

import { isDeepStrictEqual } from "node:util";
import type { ForecastRecord } from "../../src/log/codec/schemas.generated.ts";
import type { Log } from "../../src/log/log.ts";
import type { Cluster } from "../rig/cluster.ts";
import { Fleet, type FleetSize, timeOf } from "../rig/fleet.ts";
import { TimedLoop } from "../rig/timed-loop.ts";
import { coldTierOnly, namesOf, WorkerProcess } from "../rig/worker-process.ts";

/** Relative. The rivals sum in another order. */
export const tolerance = 1e-6;

export type ForecastsById = ReadonlyMap<string, ForecastRecord>;

interface ReferenceOptions {
  readonly cluster: Cluster;
  readonly log: Log;
  /** The reference is made from one like it. */
  readonly fleet: FleetSize;
  /** Steps of the fleet to run through. */
  readonly steps: number;
  /** Steps whose forecasts are kept. */
  readonly origins: readonly number[];
}

export async function collectReference(options: ReferenceOptions): Promise<ForecastsById> {
  const { cluster, log, steps, origins } = options;
  const { series, partitions } = options.fleet;
  const names = namesOf("reference");
  await cluster.createTopic(names.input, partitions);
  const worker = new WorkerProcess(cluster.bootstrap, names, [
    ...coldTierOnly,
    "--calibration.enabled=false",
  ]);
  await worker.logged("partition restored", partitions);
  const fleet = new Fleet(series, partitions);
  const loop = new TimedLoop({ cluster, log, names, pid: () => worker.pid, fleet, silentSteps: 1 });
  await loop.run(steps);
  const timesMs = new Set(origins.map(timeOf));
  const byId = new Map<string, ForecastRecord>();
  await loop.readForecasts((forecast) => {
    if (timesMs.has(forecast.origin)) byId.set(forecast.id, forecast);
  });
  await loop.close();
  await worker.stop();
  return byId;
}

/** One rival against the reference: told all its forecasts, it throws at the first that differs. */
export class Comparison {
  readonly #rival: string;
  readonly #byId: ForecastsById;
  #compared = 0;
  #largest = 0;

  constructor(rival: string, byId: ForecastsById) {
    this.#rival = rival;
    this.#byId = byId;
  }

  /** The largest relative difference of any number so far. */
  get largest(): number {
    return this.#largest;
  }

  add(forecast: ForecastRecord): void {
    const wanted = this.#byId.get(forecast.id);
    if (wanted === undefined) return;
    this.#compared++;
    if (!isDeepStrictEqual(factsOf(forecast), factsOf(wanted))) {
      throw new Error(
        `${this.#rival} differs from the worker at ${forecast.id}: ${JSON.stringify(factsOf(forecast))} instead of ${JSON.stringify(factsOf(wanted))}`,
      );
    }
    const [found, expected] = [numbersOf(forecast), numbersOf(wanted)];
    expected.forEach((number, i) => {
      const difference = Math.abs(found[i] - number) / Math.max(Math.abs(number), Number.MIN_VALUE);
      if (!(difference <= tolerance)) {
        throw new Error(
          `${this.#rival} differs from the worker at ${forecast.id}: ${found[i]}, not ${number}`,
        );
      }
      this.#largest = Math.max(this.#largest, difference);
    });
  }

  demandComplete(): void {
    if (this.#compared === this.#byId.size) return;
    throw new Error(
      `${this.#rival}: ${this.#compared} of ${this.#byId.size} forecasts could be compared with the worker's`,
    );
  }
}

/** All fields whose values must be the same, including the shape of the arrays. No rival scores. */
function factsOf({ mean, standardDeviation, quantiles, scores, ...facts }: ForecastRecord): object {
  const shape = quantiles.map(({ level, values }) => [level, values.length]);
  return { ...facts, steps: mean.length, deviations: standardDeviation.length, shape };
}

function numbersOf({ mean, standardDeviation, quantiles }: ForecastRecord): readonly number[] {
  return [...mean, ...standardDeviation, ...quantiles.flatMap(({ values }) => values)];
}
