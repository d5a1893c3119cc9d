// What the eight bits of a pending quantile cost: the real samples, forecast by the cold tier at every step, scored and
// calibrated from stored cells, and once more from the quantiles as they were stated. docs/calibration.md has the figures.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { readSamples } from "../../../bench/accuracy/sample-series.ts";
import type { Placement, Quantile, RawForecast } from "../../../src/domain.ts";
import { coldForecastOf } from "../../../src/forecast/to-forecasts.ts";
import { Calibrator } from "../../../src/score/calibrator.ts";
import { relativeTo } from "../../../src/score/cell-codes.ts";
import { MaturedSlot } from "../../../src/score/matured-slot.ts";
import { createScoreRule, RollingScores, SlotScores } from "../../../src/score/rolling-scores.ts";
import type { SeriesScores } from "../../../src/score/series-scores.ts";
import { SeriesStore } from "../../../src/window/series-store.ts";
import { projectRoot } from "../../rig/project.ts";
import { scoreStoreOf, settings } from "./fixtures.ts";

const season = 24;
const levels = [0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975];
const hourMs = 3_600_000;
const mostPoints = 1_500;
const own = { ...settings, horizon: season, season, history: 10 * season, gapMax: 6 };
/** Scores are means over the whole run, to compare them in full. */
const rollingSteps = 1e9;

/** The score stage with nothing rounded. */
class Exact {
  readonly rule = createScoreRule(levels);
  readonly rolling = new RollingScores(this.rule, rollingSteps);
  readonly #slotScores = new SlotScores(this.rule);
  readonly #matured = new MaturedSlot();
  readonly #calibrator: Calibrator | null;
  readonly #naiveErrors: readonly number[];
  readonly #base: readonly number[];
  readonly #stated: { readonly slot: number; readonly quantiles: readonly Quantile[] }[] = [];

  constructor({ period }: SeriesScores) {
    assert.ok(period !== null);
    const { naiveErrors, base } = period.frame;
    this.#naiveErrors = naiveErrors;
    this.#base = base;
    const shape = { levels, channels: 1, horizon: season, scale: naiveErrors };
    this.#calibrator = period.calibrator === null ? null : new Calibrator(shape);
  }

  score({ slot, values }: Placement): void {
    this.#matured.begin(1, levels.length);
    for (const stated of this.#stated.slice(-season).reverse()) {
      const h = slot - stated.slot - 1;
      this.#matured.add(
        h,
        stated.quantiles.map((quantile) => relativeTo(this.#base[0], quantile.values[h])),
      );
    }
    if (this.#matured.count === 0) return;
    this.#matured.observe(0, relativeTo(this.#base[0], values[0]));
    this.#slotScores.compute(this.#matured, this.#naiveErrors, Number.POSITIVE_INFINITY);
    this.#calibrator?.learnSlot(this.#matured);
    this.rolling.add(this.#slotScores.sums, slot);
  }

  publish({ window, quantiles }: RawForecast): void {
    const corrected = new Float32Array(levels.length * season);
    const calibrator = this.#calibrator;
    if (calibrator === null || calibrator.learntSteps === 0) {
      this.#stated.push({ slot: window.originSlot, quantiles });
      return;
    }
    calibrator.correct(
      quantiles.map(({ values }) => values),
      corrected,
      this.#base,
    );
    const stated = quantiles.map(({ level }, l) => ({
      level,
      values: Array.from(corrected.subarray(l * season, (l + 1) * season), (value) => value + this.#base[0]),
    }));
    this.#stated.push({ slot: window.originSlot, quantiles: stated });
  }
}

function play(points: Float64Array, isCalibrated: boolean) {
  const calibration = { enabled: isCalibrated, publishRaw: false };
  const scores = scoreStoreOf({
    levels,
    settingsOf: () => own,
    rollingSteps: () => rollingSteps,
    calibration,
  });
  const store = new SeriesStore(() => own);
  const live = scores.of("s");
  let exact: Exact | null = null;
  for (const [t, value] of points.entries()) {
    const placements: Placement[] = [];
    store.of("s").push({ seriesId: "s", timeMs: t * hourMs, values: [value] }, placements);
    if (t < 4 * season) continue;
    for (const placement of placements) {
      live.score(placement);
      exact?.score(placement);
    }
    const raw = coldForecastOf(store.of("s").takeWindow(levels), levels);
    assert.ok(raw !== null);
    live.publish(raw, null);
    exact ??= new Exact(live);
    exact.publish(raw);
    scores.takeChanges();
  }
  return [live.scores(), exact?.rolling.scores() ?? null];
}

const meanOf = (numbers: readonly number[]) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;

for (const isCalibrated of [true, false]) {
  test(`scores of the samples change by less than a thousandth, ${isCalibrated ? "with" : "without"} calibration`, () => {
    const changes = { mase: [] as number[], crps: [] as number[], coverage: [] as number[] };
    for (const { name, values } of readSamples(join(projectRoot, "samples"), season)) {
      const [stored, exact] = play(values.subarray(0, mostPoints), isCalibrated);
      assert.ok(stored !== null && exact !== null && exact.scoredSteps > 100, name);
      assert.equal(stored.scoredSteps, exact.scoredSteps);
      changes.mase.push(Math.abs(stored.mase / exact.mase - 1));
      changes.crps.push(Math.abs(stored.crps / exact.crps - 1));
      for (const [i, { observed }] of exact.coverage.entries()) {
        // Of a few thousand steps, a handful changes sides.
        const change = Math.abs(stored.coverage[i].observed - observed);
        assert.ok(change < 0.005, `coverage of ${name} changed by ${change}`);
        changes.coverage.push(change / observed);
      }
    }
    assert.ok(Math.max(...changes.mase) < 1e-4, `MASE changed by ${changes.mase}`);
    assert.ok(Math.max(...changes.crps) < 5e-4, `CRPS changed by ${changes.crps}`);
    assert.ok(meanOf(changes.coverage) < 1e-3, `coverage changed by ${changes.coverage}`);
  });
}
