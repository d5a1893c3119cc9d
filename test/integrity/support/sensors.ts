// Sensors that a model can learn: waves with noise of their own, sent step by step as the story asks for them. The same
// step of a series has the same value in every run.

import { setTimeout as pause } from "node:timers/promises";
import type { Observation } from "../../../src/domain.ts";
import type { Log } from "../../../src/log/log.ts";
import { createRandom } from "../../../src/runtime/random.ts";
import { firstTimeMs, stepMs, toRecord } from "./load.ts";

export type Law = (step: number) => number;

const longestStory = 4_000;
const pauseMs = 25;

export function wave(amplitude: number, period: number): Law {
  return (step) => 10 + amplitude * Math.sin((2 * Math.PI * step) / period);
}

export function noisy(law: Law, size: number, seed: number): Law {
  const random = createRandom(seed);
  const noise = Array.from({ length: longestStory }, () => size * random.normal());
  return (step) => law(step) + noise[step];
}

export class Sensors {
  readonly sent: Observation[] = [];
  readonly #log: Log;
  readonly #topic: string;
  readonly #lawBySeries: Map<string, Law>;
  #step = 0;

  constructor(log: Log, topic: string, lawBySeries: Readonly<Record<string, Law>>) {
    this.#log = log;
    this.#topic = topic;
    this.#lawBySeries = new Map(Object.entries(lawBySeries));
  }

  get seriesIds(): readonly string[] {
    return [...this.#lawBySeries.keys()];
  }

  /** From the next step on the series follows another law. */
  change(seriesId: string, law: Law): void {
    this.#lawBySeries.set(seriesId, law);
  }

  /** The next steps of all series, at once. */
  async send(steps: number): Promise<void> {
    const observations: Observation[] = [];
    for (const end = this.#step + steps; this.#step < end; this.#step++) {
      for (const [seriesId, law] of this.#lawBySeries) {
        const timeMs = firstTimeMs + this.#step * stepMs;
        observations.push({ seriesId, timeMs, values: [law(this.#step)] });
      }
    }
    await this.#log.append(observations.map((observation) => toRecord(this.#topic, observation)));
    this.sent.push(...observations);
  }

  /** Step after step, evenly, until the claim holds; fails when so many steps were not enough. */
  async sendUntil(what: string, isSo: () => boolean | Promise<boolean>, mostSteps: number): Promise<void> {
    for (let sent = 0; !(await isSo()); sent++) {
      if (sent === mostSteps) throw new Error(`sent ${mostSteps} steps for ${what}, which did not happen`);
      await this.send(1);
      await pause(pauseMs);
    }
  }
}
