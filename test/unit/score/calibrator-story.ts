// Shared by the tests of the calibrator: a series that is forecast at every step and learnt from as it matures.

import assert from "node:assert/strict";
import { normalQuantile } from "../../../src/models/normal.ts";
import { Calibrator } from "../../../src/score/calibrator.ts";
import { MaturedSlot } from "../../../src/score/matured-slot.ts";

export const LEVELS = [0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975];

export function statedBy(calibrator: Calibrator, raw: readonly ArrayLike<number>[]): Float32Array {
  const target = new Float32Array(raw.length * raw[0].length);
  calibrator.correct(raw, target);
  return target;
}

export function pick(stated: Float32Array, output: number, levels: number): Float32Array {
  const outputs = stated.length / levels;
  return Float32Array.from({ length: levels }, (_, l) => stated[l * outputs + output]);
}

/** Teaches the calibrator one step of one forecast. `stated` and `actuals` hold one channel after the other. */
export function learnStep(
  calibrator: Calibrator,
  step: number,
  actuals: readonly number[],
  stated: Float32Array,
): void {
  const matured = new MaturedSlot();
  matured.begin(actuals.length, stated.length / actuals.length);
  matured.add(step, stated);
  for (const [c, actual] of actuals.entries()) matured.observe(c, Math.fround(actual));
  calibrator.learnSlot(matured);
}

export interface Story {
  readonly values: readonly number[];
  readonly horizon: number;
  /** The raw quantiles stated at time t, from values before t only: a centre and a deviation per step. */
  readonly forecast: (t: number, h: number) => { readonly centre: number; readonly deviation: number };
  readonly levels?: readonly number[];
}

/** Forecasts at every step and learns from each step ahead when it matures. Returns what was stated, by origin. */
export function play({ values, horizon, forecast, levels = LEVELS }: Story): Float32Array[] {
  const calibrator = new Calibrator({ levels, channels: 1, horizon, scale: [1] });
  const stated: Float32Array[] = [];
  for (const [t, value] of values.entries()) {
    const steps = Array.from({ length: horizon }, (_, h) => forecast(t, h));
    const raw = levels.map((level) =>
      steps.map(({ centre, deviation }) => centre + deviation * normalQuantile(level)),
    );
    stated.push(statedBy(calibrator, raw));
    for (let h = 0; h <= Math.min(t, horizon - 1); h++) {
      learnStep(calibrator, h, [value], pick(stated[t - h], h, levels.length));
    }
  }
  return stated;
}

/** The share of observed steps from `from` on between two levels, over all steps ahead. */
export function shareInside(
  { values, horizon, levels = LEVELS }: Story,
  stated: readonly Float32Array[],
  [low, high]: readonly [number, number],
  from = 0,
): number {
  let inside = 0;
  let all = 0;
  for (let t = from; t < values.length; t++) {
    for (let h = 0; h <= Math.min(t, horizon - 1); h++) {
      const own = pick(stated[t - h], h, levels.length);
      if (values[t] >= own[levels.indexOf(low)] && values[t] <= own[levels.indexOf(high)]) inside++;
      all++;
    }
  }
  return inside / all;
}

/** The share of observed steps from `from` on below one level, over all steps ahead. */
export function shareBelow(
  story: Story,
  stated: readonly Float32Array[],
  level: number,
  from: number,
): number {
  const { values, horizon, levels = LEVELS } = story;
  let below = 0;
  let all = 0;
  for (let t = from; t < values.length; t++) {
    for (let h = 0; h <= Math.min(t, horizon - 1); h++) {
      if (values[t] < pick(stated[t - h], h, levels.length)[levels.indexOf(level)]) below++;
      all++;
    }
  }
  return below / all;
}

export function assertNear(actual: number, expected: number, within: number): void {
  assert.ok(Math.abs(actual - expected) <= within, `${actual} is not within ${within} of ${expected}`);
}

/** What `play` would state without a calibrator. */
export function rawOf({ values, horizon, forecast, levels = LEVELS }: Story): Float32Array[] {
  return values.map((_, t) =>
    Float32Array.from({ length: levels.length * horizon }, (_, i) => {
      const { centre, deviation } = forecast(t, i % horizon);
      return centre + deviation * normalQuantile(levels[Math.floor(i / horizon)]);
    }),
  );
}
