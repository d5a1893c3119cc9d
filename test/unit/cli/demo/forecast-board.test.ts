import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { ForecastBoard, forecastRoutes } from "../../../../src/cli/demo/forecast-board.ts";
import { stepMs } from "../../../../src/cli/demo/settings.ts";
import { sensorKinds } from "../../../../src/cli/simulated/sensor-kinds.ts";
import type { ForecastRecord } from "../../../../src/log/codec/schemas.generated.ts";

const seriesId = "river-level-1";
const startMs = 1_700_000_000_000;

/** Forecasts 5, with an 80 % interval of 4 to 6, for both steps. */
function forecastAt(step: number): ForecastRecord {
  const origin = startMs + step * stepMs;
  return {
    id: `${seriesId}@${origin}/test`,
    seriesId,
    origin,
    interval: "PT1S",
    horizon: 2,
    channels: 1,
    times: [origin + stepMs, origin + 2 * stepMs],
    mean: [5, 5],
    standardDeviation: [1, 1],
    quantiles: [
      { level: 0.1, values: [4, 4] },
      { level: 0.5, values: [5, 5] },
      { level: 0.9, values: [6, 6] },
    ],
    tier: "COLD",
    method: "seasonal-naive",
    modelKey: seriesId,
    modelVersion: "test",
    filledShare: 0,
    freshSteps: 2,
    skippedOrigins: 0,
    calibration: null,
    scores: null,
  };
}

describe("the forecast board", () => {
  let board: ForecastBoard;
  const observe = (step: number, value: number, sentMs: number | null = null) =>
    board.expect({ seriesId, timeMs: startMs + step * stepMs, value }, sentMs);

  beforeEach(() => {
    board = new ForecastBoard([{ seriesId, kind: sensorKinds[1] }]);
  });

  test("scores an observation against the forecast made one step before it", () => {
    observe(0, 5);
    board.receive(forecastAt(0), 0);
    assert.deepEqual(board.coverage, { inside: 0, scored: 0 });
    observe(1, 5.5);
    board.receive(forecastAt(1), 0);
    assert.deepEqual(board.coverage, { inside: 1, scored: 1 });
    assert.equal(board.views(1, 1)[0].isInside, true);
    observe(2, 6.5);
    board.receive(forecastAt(2), 0);
    assert.deepEqual(board.coverage, { inside: 1, scored: 2 });
    assert.equal(board.views(1, 1)[0].isInside, false);
  });

  test("does not score across a gap", () => {
    observe(0, 5);
    board.receive(forecastAt(0), 0);
    observe(2, 9);
    board.receive(forecastAt(2), 0);
    assert.deepEqual(board.coverage, { inside: 0, scored: 0 });
    assert.equal(board.views(1, 1)[0].isInside, null);
  });

  test("counts a forecast that is not newer than the one before as repeated", () => {
    board.receive(forecastAt(1), 0);
    board.receive(forecastAt(1), 0);
    board.receive(forecastAt(2), 0);
    assert.equal(board.forecasts, 3);
    assert.equal(board.repeated, 1);
  });

  test("measures the latency from the sending of a live observation", () => {
    observe(0, 5);
    board.receive(forecastAt(0), 900);
    assert.equal(board.latency(), null);
    for (let step = 1; step <= 100; step++) {
      observe(step, 5, 1_000);
      board.receive(forecastAt(step), 1_000 + step);
    }
    assert.deepEqual(board.latency(), { p50Ms: 51, p99Ms: 100 });
  });

  test("shows one value per step, NaN where one is missing, and late values in their slot", () => {
    observe(0, 1);
    observe(3, 4);
    observe(1, 2);
    assert.deepEqual(board.views(1, 4)[0].history, [1, 2, Number.NaN, 4]);
  });

  test("shows the live scores and the method of the newest forecast", () => {
    board.receive(forecastAt(0), 0);
    assert.equal(board.views(1, 1)[0].scores, null);
    assert.equal(board.modelled, 0);
    const coverage = [
      { stated: 0.5, observed: 0.44 },
      { stated: 0.8, observed: 0.79 },
    ];
    const scores = { mase: 0.6, crps: 1, coverage, scoredSteps: 20 };
    board.receive({ ...forecastAt(1), scores, tier: "MODEL", method: "forecastnet" }, 0);
    const [view] = board.views(1, 1);
    assert.deepEqual(view.scores, { mase: 0.6, coverage: 0.79 });
    assert.equal(view.method, "forecastnet");
    assert.equal(board.modelled, 1);
  });

  test("serves the latest forecast of every series, and one in full", async () => {
    const request = { authorization: undefined, readBody: async () => Buffer.alloc(0) };
    const ask = async (path: string, seriesId = "") => {
      const { status, body } = await forecastRoutes(board)[path](seriesId, new URLSearchParams(), request);
      return { status, body: String(body) };
    };
    const none = await ask("/forecasts");
    assert.deepEqual(JSON.parse(none.body), []);
    board.receive(forecastAt(0), 0);
    board.receive(forecastAt(1), 0);
    const all = await ask("/forecasts");
    const listed = JSON.parse(all.body);
    assert.equal(listed.length, 1);
    assert.equal(listed[0].origin, new Date(startMs + stepMs).toISOString());
    assert.deepEqual(listed[0].mean, [5, 5]);
    assert.deepEqual(listed[0].quantiles[0], { level: 0.1, values: [4, 4] });
    const one = await ask("/forecasts/", seriesId);
    assert.equal(one.status, 200);
    assert.deepEqual(
      JSON.parse(one.body).times,
      forecastAt(1).times.map((ms) => new Date(ms).toISOString()),
    );
    const unknown = await ask("/forecasts/", "nobody");
    assert.equal(unknown.status, 404);
    assert.match(unknown.body, /"nobody".*\/forecasts lists/);
  });
});
