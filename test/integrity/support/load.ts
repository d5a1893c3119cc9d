// Sensors under a test's control: known series that send one step after another, evenly, until told to stop.
// What was acknowledged is remembered; a step whose acknowledgement was lost is sent again.

import { setTimeout as pause } from "node:timers/promises";
import type { Observation, Outgoing } from "../../../src/domain.ts";
import { avroCodec } from "../../../src/log/codec/avro.ts";
import type { Log } from "../../../src/log/log.ts";
import { ForecastnetError } from "../../../src/runtime/errors.ts";

const observationCodec = avroCodec("Observation");
/** Of every input topic. */
export const partitions = 4;
export const stepMs = 60_000;
export const firstTimeMs = Date.UTC(2024, 0, 1);

export interface LoadOptions {
  readonly topic: string;
  readonly series: number;
  /** Between one step of all series and the next. */
  readonly pauseMs: number;
}

export class Load {
  readonly sent: Observation[] = [];
  readonly #log: Log;
  readonly #options: LoadOptions;
  readonly #ended: Promise<void>;
  #isStopping = false;

  constructor(log: Log, options: LoadOptions) {
    this.#log = log;
    this.#options = options;
    this.#ended = this.#run();
    this.#ended.catch(() => undefined); // told by stop()
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#ended;
  }

  async #run(): Promise<void> {
    const { topic, series, pauseMs } = this.#options;
    for (let step = 0; !this.#isStopping; step++) {
      const observations = Array.from({ length: series }, (_, index) => knownObservation(index, step));
      await this.#send(observations.map((observation) => toRecord(topic, observation)));
      this.sent.push(...observations);
      await pause(pauseMs);
    }
  }

  async #send(records: readonly Outgoing[]): Promise<void> {
    for (;;) {
      try {
        return await this.#log.append(records);
      } catch (error) {
        if (!(error instanceof ForecastnetError && error.retryable)) throw error;
      }
    }
  }
}

/** A different curve for each series, so that a value in the wrong place is seen. */
export function knownObservation(index: number, step: number): Observation {
  const value = 100 * index + 10 * Math.sin((step + index) / 3) + (step % 7);
  return { seriesId: `series-${index}`, timeMs: firstTimeMs + step * stepMs, values: [value] };
}

/** The series ids of stories end in a number, which decides the partition. */
export function partitionOf(seriesId: string): number {
  return Number(seriesId.split("-").at(-1)) % partitions;
}

export function toRecord(topic: string, observation: Observation): Outgoing {
  const { seriesId, timeMs, values } = observation;
  const value = values.length === 1 ? values[0] : values;
  return {
    topic,
    partition: partitionOf(seriesId),
    key: Buffer.from(seriesId),
    value: observationCodec.encode({ seriesId, time: timeMs, value, tags: {} }),
  };
}

/** What `toRecord` wrote. */
export function toObservation(bytes: Buffer): Observation {
  const { seriesId, time, value } = observationCodec.decode(bytes);
  return { seriesId, timeMs: time, values: Array.isArray(value) ? value : [value as number] };
}
