// A fleet of simulated sensors that behave like real ones: mostly on time, now and then silent, late, repeated or
// malformed. The readings depend only on the number of sensors, the start and the changes of kind. The caller chooses the
// encoding.

import type { Outgoing } from "../../domain.ts";
import type { EncodeObservation } from "../../log/codec/observation-encoders.ts";
import { createRandom, type Random } from "../../runtime/random.ts";
import { type SensorKind, sensorKinds, stepsPerDay } from "./sensor-kinds.ts";

/** Sensors report in turns within a step, so that records arrive evenly. */
const turnsPerStep = 5;
const turnsPerMalformed = 47;

const gapChance = 0.004;
const longestGap = 4;
const lateChance = 0.008;
const lateSteps = 2;
const repeatChance = 0.008;

export interface Reading {
  readonly seriesId: string;
  readonly timeMs: number;
  readonly value: number;
}

/** One record for the topic; the reading is null when the record is malformed on purpose. */
export interface Transmission {
  readonly record: Outgoing;
  readonly reading: Reading | null;
}

export interface Sensor {
  readonly seriesId: string;
  readonly kind: SensorKind;
}

interface FleetOptions {
  readonly count: number;
  readonly stepMs: number;
  /** Time of the first step; a multiple of the step. */
  readonly startMs: number;
  readonly topic: string;
  readonly partitions: number;
  readonly encode: EncodeObservation;
  /** Whether to send a malformed record now and then. */
  readonly sendsMalformed: boolean;
}

export class Fleet {
  readonly sensors: readonly Sensor[];
  readonly #sensors: readonly SimulatedSensor[];
  readonly #options: FleetOptions;
  #turn = 0;
  #malformed = 0;

  constructor(options: FleetOptions) {
    this.#options = options;
    // Counted from the epoch, so that a restarted fleet continues at the same hour of its day.
    const firstStep = Math.round(options.startMs / options.stepMs);
    this.#sensors = Array.from({ length: options.count }, (_, i) => new SimulatedSensor(i, firstStep));
    this.sensors = this.#sensors;
  }

  /** The records sent since the last call, up to `nowMs`. No reading is ahead of it. */
  advanceTo(nowMs: number): readonly Transmission[] {
    const sent: Transmission[] = [];
    const { startMs, stepMs } = this.#options;
    const turnMs = stepMs / turnsPerStep;
    for (; startMs + this.#turn * turnMs <= nowMs; this.#turn++) this.#takeTurn(this.#turn, sent);
    return sent;
  }

  /** From its next reading on, the sensor is of another kind. */
  change(index: number, kind: SensorKind): void {
    this.#sensors[index].kind = kind;
  }

  #takeTurn(turn: number, sent: Transmission[]): void {
    const step = Math.floor(turn / turnsPerStep);
    for (let i = turn % turnsPerStep; i < this.#sensors.length; i += turnsPerStep) {
      for (const { step: measuredAt, value } of this.#sensors[i].measure(step)) {
        const { seriesId } = this.#sensors[i];
        const reading = { seriesId, timeMs: this.#timeOf(measuredAt), value };
        sent.push({ record: this.#recordOf(i, this.#options.encode(reading)), reading });
      }
    }
    const isMalformedDue = turn % turnsPerMalformed === turnsPerMalformed - 1;
    if (isMalformedDue && this.#options.sendsMalformed) sent.push(this.#sendMalformed(step));
  }

  #sendMalformed(step: number): Transmission {
    const { encode } = this.#options;
    const index = this.#malformed % this.#sensors.length;
    const good = { seriesId: this.#sensors[index].seriesId, timeMs: this.#timeOf(step), value: 1 };
    const values = [
      Buffer.from("sensor rebooting"),
      encode({ ...good, value: Number.NaN }),
      encode({ ...good, timeMs: good.timeMs + 24 * 3_600_000 }),
      encode({ ...good, seriesId: "" }),
    ];
    const value = values[this.#malformed++ % values.length];
    return { record: this.#recordOf(index, value), reading: null };
  }

  #timeOf(step: number): number {
    return this.#options.startMs + step * this.#options.stepMs;
  }

  #recordOf(index: number, value: Buffer): Outgoing {
    const { topic, partitions } = this.#options;
    const key = Buffer.from(this.#sensors[index].seriesId);
    return { topic, partition: index % partitions, key, value };
  }
}

interface Measurement {
  readonly step: number;
  readonly value: number;
}

class SimulatedSensor implements Sensor {
  readonly seriesId: string;
  kind: SensorKind;
  readonly #random: Random;
  readonly #gain: number;
  readonly #firstStep: number;
  #noise = 0;
  #silentUntil = 0;
  #held: Measurement | null = null;

  constructor(index: number, firstStep: number) {
    this.#firstStep = firstStep;
    this.kind = sensorKinds[index % sensorKinds.length];
    this.seriesId = `${this.kind.name}-${1 + Math.floor(index / sensorKinds.length)}`;
    this.#random = createRandom(1 + 7919 * index);
    this.#gain = 0.85 + 0.3 * this.#random.uniform();
  }

  /** The readings sent at this step: usually its own, sometimes none, a repeated one, or a late one as well. */
  measure(step: number): readonly Measurement[] {
    const measurement = { step, value: this.#measureValue(step) };
    const sent: Measurement[] = [];
    if (this.#held !== null && step >= this.#held.step + lateSteps) {
      sent.push(this.#held);
      this.#held = null;
    }
    const luck = this.#random.uniform();
    if (step < this.#silentUntil) return sent;
    if (luck < gapChance) {
      this.#silentUntil = step + 1 + Math.floor(longestGap * this.#random.uniform());
    } else if (luck < gapChance + lateChance && this.#held === null) {
      this.#held = measurement;
    } else {
      sent.push(measurement);
      if (luck > 1 - repeatChance) sent.push(measurement);
    }
    return sent;
  }

  #measureValue(step: number): number {
    this.#noise = 0.5 * this.#noise + Math.sqrt(0.75) * this.#random.normal();
    const { cycle = stepsPerDay, valueAt } = this.kind;
    return this.#gain * valueAt((this.#firstStep + step) % cycle, this.#noise);
  }
}
