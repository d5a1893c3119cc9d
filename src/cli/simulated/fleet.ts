// A fleet of simulated sensors that behave as sensors do: mostly in time, now and then silent, late, repeating
// themselves or talking nonsense. What they send is a function of their number, the start and when one is worn out;
// how it is written is not decided here.

import type { Outgoing } from "../../domain.ts";
import type { EncodeObservation } from "../../log/codec/observation-encoders.ts";
import { createRandom, type Random } from "../../runtime/random.ts";
import { type SensorKind, sensorKinds, stepsPerDay } from "./sensor-kinds.ts";

/** Sensors take turns within a step: a topic, and a view, never stand still for long. */
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

/** One record on its way to the topic; the reading is null when the record is malformed on purpose. */
export interface Transmission {
  readonly record: Outgoing;
  readonly reading: Reading | null;
}

export interface Sensor {
  readonly seriesId: string;
  readonly kind: SensorKind;
}

export interface FleetOptions {
  readonly count: number;
  readonly stepMs: number;
  /** Time of the first step; a multiple of the step. */
  readonly startMs: number;
  readonly topic: string;
  readonly partitions: number;
  readonly encode: EncodeObservation;
  /** Whether a record that cannot be read is among them now and then. */
  readonly talksNonsense: boolean;
}

export class Fleet {
  readonly sensors: readonly Sensor[];
  readonly #sensors: readonly SimulatedSensor[];
  readonly #options: FleetOptions;
  #turn = 0;
  #malformed = 0;

  constructor(options: FleetOptions) {
    this.#options = options;
    // Counted from the epoch, a fleet that is started again goes on where in its day it was.
    const firstStep = Math.round(options.startMs / options.stepMs);
    this.#sensors = Array.from({ length: options.count }, (_, i) => new SimulatedSensor(i, firstStep));
    this.sensors = this.#sensors;
  }

  /** All that is sent until the time given and has not been asked for yet. No reading lies ahead of it. */
  advanceTo(nowMs: number): readonly Transmission[] {
    const sent: Transmission[] = [];
    const { startMs, stepMs } = this.#options;
    const turnMs = stepMs / turnsPerStep;
    for (; startMs + this.#turn * turnMs <= nowMs; this.#turn++) this.#takeTurn(this.#turn, sent);
    return sent;
  }

  /** From its next measurement on the sensor measures something of another kind. */
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
    const isNonsenseDue = turn % turnsPerMalformed === turnsPerMalformed - 1;
    if (isNonsenseDue && this.#options.talksNonsense) sent.push(this.#talkNonsense(step));
  }

  #talkNonsense(step: number): Transmission {
    const { encode } = this.#options;
    const index = this.#malformed % this.#sensors.length;
    const good = { seriesId: this.#sensors[index].seriesId, timeMs: this.#timeOf(step), value: 1 };
    const nonsense = [
      Buffer.from("sensor rebooting"),
      encode({ ...good, value: Number.NaN }),
      encode({ ...good, timeMs: good.timeMs + 24 * 3_600_000 }),
      encode({ ...good, seriesId: "" }),
    ];
    const value = nonsense[this.#malformed++ % nonsense.length];
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

  /** What is sent at this step: usually its own measurement, perhaps none, one twice, or an old one as well. */
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
