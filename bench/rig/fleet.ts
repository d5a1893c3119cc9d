// Simulated sensors: a fleet of series that report in turn, minute by minute, on a grid that lies in the past so
// that no observation is future-dated. The same fleet always says the same.

import type { Outgoing, SeriesSettings } from "../../src/domain.ts";
import { avroCodec } from "../../src/log/codec/avro.ts";
import { SeriesStore } from "../../src/window/series-store.ts";
import { blockKey } from "../../src/window/state-blocks.ts";
import { blocksOf } from "../../test/rig/store-blocks.ts";

export const interval = "PT1M";
const stepMs = 60_000;
const cycleSteps = 24;
/** Far enough back for all steps of a run, and on the grid. */
const firstMs = Math.floor(Date.now() / stepMs) * stepMs - 5_000 * stepMs;

/** Large fleets keep a short past here, so that a hundred thousand series fit beside a broker: four seasons. */
export const growthFlags = ["--series.history=96"];
export const growthSteps = 96;

const observationCodec = avroCodec("Observation");
const stateCodec = avroCodec("StateBlock");

/** An observation, and the record that carries it. */
export interface Point {
  readonly seriesId: string;
  readonly timeMs: number;
  readonly record: Outgoing;
}

export interface FleetSize {
  readonly series: number;
  readonly partitions: number;
}

export class Fleet implements FleetSize {
  readonly series: number;
  readonly partitions: number;
  #taken = 0;

  /** `matureSteps`: how many steps of every series have been given elsewhere, by `matureState`. */
  constructor(series: number, partitions: number, matureSteps = 0) {
    this.series = series;
    this.partitions = partitions;
    this.#taken = series * matureSteps;
  }

  /** The next observations, series after series, then the next step. */
  take(count: number, topic: string): Outgoing[] {
    return this.takePoints(count, topic).map(({ record }) => record);
  }

  takePoints(count: number, topic: string): Point[] {
    return Array.from({ length: count }, () => this.#next(topic));
  }

  #next(topic: string): Point {
    const number = this.#taken % this.series;
    const step = Math.floor(this.#taken / this.series);
    this.#taken++;
    const seriesId = seriesIdOf(number);
    const timeMs = timeOf(step);
    const value = observationCodec.encode({ seriesId, time: timeMs, value: valueAt(step, number), tags: {} });
    const partition = number % this.partitions;
    return { seriesId, timeMs, record: { topic, partition, key: Buffer.from(seriesId), value } };
  }
}

/** What the state topic holds of a fleet that has seen `steps` steps; every series has the past of the first. */
export function* matureState(
  fleet: Fleet,
  topic: string,
  steps: number,
  settings: SeriesSettings,
): Generator<Outgoing> {
  const store = new SeriesStore(() => settings);
  const seriesId = seriesIdOf(0);
  for (let step = 0; step < steps; step++) {
    store.of(seriesId).push({ seriesId, timeMs: timeOf(step), values: [valueAt(step, 0)] });
  }
  store.takeChanges();
  const blocks = blocksOf(store);
  for (let number = 0; number < fleet.series; number++) {
    for (const block of blocks) {
      const renamed = { ...block, seriesId: seriesIdOf(number) };
      yield {
        topic,
        partition: number % fleet.partitions,
        key: Buffer.from(blockKey(renamed)),
        value: stateCodec.encode(renamed),
      };
    }
  }
}

/** Of one length, so that records of different series have one size. */
export function seriesIdOf(number: number): string {
  return `plant-1/line-2/sensor-${String(number).padStart(6, "0")}`;
}

export function timeOf(step: number): number {
  return firstMs + step * stepMs;
}

/** A daily wave with a disturbance that does not repeat, in two decimals, as a sensor reports it. */
export function valueAt(step: number, number: number): number {
  return Math.round(100 * quantityAt(step, number)) / 100;
}

/** What the sensor measures, in all digits. */
export function quantityAt(step: number, number: number): number {
  const disturbance = ((step * 7919 + number * 104_729) % 1000) / 1000;
  return 20 + 5 * Math.sin((2 * Math.PI * step) / cycleSteps) + disturbance;
}
