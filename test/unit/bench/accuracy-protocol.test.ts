import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { serve } from "../../../bench/accuracy/forecasters.ts";
import {
  type Forecaster,
  histories,
  levels,
  pastOf,
  scoreForecaster,
} from "../../../bench/accuracy/protocol.ts";
import { readSamples } from "../../../bench/accuracy/sample-series.ts";
import { quantile } from "../../../bench/rig/report.ts";
import { storedFamilies } from "../../../src/models/families.ts";
import { projectRoot } from "../../rig/project.ts";

/** The textbook's: last season's values, with the quantiles of the errors that this made in all of the past. */
const seasonalNaive: Forecaster = async ({ values: past }, season) => {
  const errors = Array.from(past.subarray(season), (value, t) => value - past[t]);
  const errorQuantiles = levels.map((level) => quantile(errors, level));
  return async (values, origins) =>
    origins.map((origin) => {
      const point = values.slice(origin - season, origin);
      return { point, quantiles: errorQuantiles.map((error) => point.map((value) => value + error)) };
    });
};

/** MASE, CRPS and coverage of seasonal-naive by the same protocol, computed once with another program. */
const known: Readonly<Record<string, readonly [number, number, number]>> = {
  ozone: [0.807, 0.64, 0.79],
  lake: [1.923, 1.362, 0.94],
  river: [0.801, 0.622, 0.81],
  weath: [0.588, 0.439, 0.83],
  wq_do: [1.315, 1.034, 0.75],
  // biome-ignore lint/suspicious/noApproximativeNumericConstant: a score that happens to look like log₂ e.
  wq_ph: [1.831, 1.442, 0.68],
  wq_temp: [1.243, 0.958, 0.98],
  traff: [2.224, 1.932, 0.94],
  elect: [1.035, 0.833, 0.83],
};

describe("the protocol of the accuracy bench", () => {
  for (const series of readSamples(join(projectRoot, "samples"), null)) {
    test(`gives seasonal-naive its known scores on ${series.name}`, async () => {
      const { mase, crps, coverage80 } = await scoreForecaster(series, seasonalNaive);
      const [knownMase, knownCrps, knownCoverage] = known[series.name];
      assert.ok(Math.abs(mase - knownMase) < 6e-4, `MASE ${mase}`);
      assert.ok(Math.abs(crps - knownCrps) < 6e-4, `CRPS ${crps}`);
      assert.ok(Math.abs(coverage80 - knownCoverage) < 6e-3, `coverage ${coverage80}`);
    });
  }

  test("finds the seasonal-naive that we serve at most a quarter worse than the textbook's on every sample", async () => {
    for (const series of readSamples(join(projectRoot, "samples"), null)) {
      const { name, season } = series;
      const model = storedFamilies.baselineFor(name, { horizon: season, season, channels: 1 });
      const served = await scoreForecaster(series, async () => serve(storedFamilies, model, season));
      const [knownMase, knownCrps] = known[name];
      for (const [score, expected] of [
        [served.mase, knownMase],
        [served.crps, knownCrps],
      ])
        assert.ok(score < 1.25 * expected, `${name}: ${score}, the textbook's ${expected}`);
    }
  });

  test("hands a forecaster nothing of the test part to fit on", () => {
    const values = Float64Array.from({ length: 20_000 }, (_, t) => t);
    const lengths = histories.map((history) => {
      const { values: past, firstStep } = pastOf({ name: "s", values, season: 24, horizon: 24 }, history);
      assert.equal(past[0], firstStep);
      assert.equal(past[past.length - 1], 20_000 - 1_000 - 1);
      return past.length;
    });
    assert.deepEqual(lengths, [60 * 24, 3_000]);
  });
});

describe("sample series", () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "samples-"));
  });
  after(() => rmSync(folder, { recursive: true }));

  const read = (text: string, season: number | null = null) => {
    writeFileSync(join(folder, "one.csv"), text);
    return readSamples(folder, season)[0];
  };

  test("get their season from the step between rows", () => {
    assert.equal(read("timestamp,value\n1999-01,1\n1999-02,2\n1999-03,3\n").season, 12);
    assert.equal(
      read("timestamp,value\n2020-01-01 00:00,1\n2020-01-01 00:30,2\n2020-01-01 01:00,3\n").season,
      48,
    );
    assert.equal(read("timestamp,value\n2020-01-01,1\n2020-01-02,2\n2020-01-03,3\n").season, 7);
  });

  test("need no times when the season is given", () => {
    assert.deepEqual([...read("timestamp,value\n1,5\n2,6\n", 4).values], [5, 6]);
  });

  test("are refused with file, line and remedy", () => {
    assert.throws(() => read("time;value\n1;2\n"), /one\.csv:1: the header .* must be "timestamp,value"/);
    assert.throws(() => read("timestamp,value\n1999-01,1\n1999-02,\n"), /one\.csv:3: "" is not a number/);
    assert.throws(() => read("timestamp,value\n7,1\n"), /one\.csv:2: "7" is not a time; .* or give --season/);
  });
});
