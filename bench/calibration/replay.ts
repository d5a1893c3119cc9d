// Replays one scenario as the score stage will: at every step a forecast is stated, then the step's observation is
// scored and learned for every earlier forecast that covers it, the nearest first.

import { Calibrator } from "../../src/score/calibrator.ts";
import { MaturedSlot } from "../../src/score/matured-slot.ts";
import { levels, type RawForecasts } from "./raw-forecasts.ts";
import type { Scenario } from "./scenario.ts";
import { Tally } from "./tally.ts";

/** Only forecasts made inside the judged part count; before and after is where the observed step lies. */
export interface Replayed {
  readonly before: Tally;
  readonly after: Tally;
}

export function replay(scenario: Scenario, raw: RawForecasts, isCalibrated: boolean): Replayed {
  const { values, season, from, shiftAt, scale } = scenario;
  const calibrator = new Calibrator({ levels, channels: 1, horizon: season, scale: [scale] });
  const tallies: Replayed = { before: new Tally(), after: new Tally() };
  const stated: Float32Array[] = [];
  const quantiles = new Float32Array(levels.length);
  const matured = new MaturedSlot();
  for (let t = raw.first; t < values.length; t++) {
    const forecast = forecastAt(raw, t, season);
    stated.push(isCalibrated ? corrected(calibrator, forecast, season) : forecast);
    for (let h = 0; h < season && t - h >= raw.first; h++) {
      const earlier = stated[t - h - raw.first];
      for (let l = 0; l < levels.length; l++) quantiles[l] = earlier[l * season + h];
      requireOrder(quantiles, scenario.name);
      if (t - h >= from) tallies[t < shiftAt ? "before" : "after"].add(values[t], quantiles);
      matured.begin(1, levels.length);
      matured.add(h, quantiles);
      matured.observe(0, Math.fround(values[t]));
      calibrator.learnSlot(matured);
    }
  }
  requireAll(scenario, tallies);
  return tallies;
}

/** [level][step] */
function forecastAt({ first, quantiles }: RawForecasts, origin: number, season: number): Float32Array {
  const size = levels.length * season;
  return quantiles.subarray((origin - first) * size, (origin - first + 1) * size);
}

function corrected(calibrator: Calibrator, raw: Float32Array, season: number): Float32Array {
  const stated = new Float32Array(raw.length);
  calibrator.correct(
    levels.map((_, l) => raw.subarray(l * season, (l + 1) * season)),
    stated,
  );
  return stated;
}

function requireOrder(quantiles: Float32Array, name: string): void {
  for (let l = 0; l < quantiles.length; l++) {
    const isSound = Number.isFinite(quantiles[l]) && (l === 0 || quantiles[l] >= quantiles[l - 1]);
    if (!isSound) throw new Error(`${name}: quantiles out of order: ${quantiles.join(", ")}`);
  }
}

/** Every pair of an origin and a step inside the judged part was scored once. */
function requireAll({ values, season, from, shiftAt, name }: Scenario, { before, after }: Replayed): void {
  const pairs = (steps: number) => {
    const full = Math.max(0, steps - season);
    const partial = Math.min(steps, season);
    return full * season + (partial * (partial + 1)) / 2;
  };
  const all = pairs(values.length - from);
  const early = pairs(shiftAt - from);
  if (before.steps !== early || after.steps !== all - early) {
    throw new Error(
      `${name}: scored ${before.steps} and ${after.steps} steps instead of ${early} and ${all - early}`,
    );
  }
}
