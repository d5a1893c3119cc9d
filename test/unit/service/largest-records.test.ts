import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Forecast, Window } from "../../../src/domain.ts";
import { avroCodec } from "../../../src/log/codec/avro.ts";
import { encodeForecast, encodeForecastAsJson } from "../../../src/log/codec/forecast-codec.ts";
import { loadConfig } from "../../../src/runtime/config/load.ts";
import { largestRecords } from "../../../src/service/pipeline-parts.ts";

const configOf = (...argv: readonly string[]) => loadConfig({ argv, env: {} });
const id = "\u20ac".repeat(256);
// As long as a number gets in JSON.
const longNumber = -2.2250738585072014e-308;

function largestForecast(
  horizon: number,
  channels: number,
  levels: readonly number[],
  hasRaw: boolean,
): Forecast {
  const numbers = () => Array.from({ length: horizon * channels }, () => longNumber);
  const quantiles = levels.map((level) => ({ level, values: numbers() }));
  const version = "v".repeat(40);
  const window = {
    ...{ seriesId: id, settings: { horizon }, interval: "P1M", originMs: 2 ** 43, channels },
    stepTimesMs: Array.from({ length: horizon }, () => 2 ** 43),
    ...{ filledShare: longNumber, freshSteps: 1e6, skippedOrigins: 1e6 },
  } as unknown as Window;
  return {
    raw: {
      ...{ id: `${id}${version}`, window, mean: numbers(), standardDeviation: numbers(), quantiles },
      ...{ tier: "cohort", method: "seasonal-naive", modelKey: id, modelVersion: version },
    },
    quantiles,
    calibration: { method: "adaptive-conformal", scoredSteps: 1e6, rawQuantiles: hasRaw ? quantiles : [] },
    scores: {
      ...{ mase: longNumber, crps: longNumber, scoredSteps: 1e6 },
      coverage: levels.slice(levels.length / 2).map(() => ({ stated: longNumber, observed: longNumber })),
    },
  };
}

describe("the room for forecasts", () => {
  for (const format of ["avro", "json"] as const) {
    for (const [horizon, channels, hasRaw] of [
      [24, 1, false],
      [24, 64, true],
      [300, 3, false],
      [1, 1, true],
    ] as const) {
      const shape = `${horizon} steps of ${channels} channels${hasRaw ? " with raw quantiles" : ""}`;
      test(`is enough for ${shape} as ${format}, and not far more`, () => {
        const config = configOf(
          `--series.horizon=${horizon}`,
          `--output.format=${format}`,
          `--calibration.publishRaw=${hasRaw}`,
          `--limits.channels=${channels}`,
        );
        const forecast = largestForecast(horizon, channels, config.output.levels, hasRaw);
        const bytes = (format === "json" ? encodeForecastAsJson(forecast) : encodeForecast(forecast)).length;
        const room = largestRecords(config).forecast.mostBytes;
        assert.ok(bytes <= room, `${bytes} bytes need room, there are ${room}`);
        assert.ok(room < 1.5 * bytes + 12_000, `${room} bytes of room for ${bytes}`);
      });
    }
  }

  test("goes by the longest horizon of any series", () => {
    const overrides = JSON.stringify([{ match: "x*", horizon: 240, history: 2_000 }]);
    const plain = largestRecords(configOf("--series.horizon=240", "--series.history=2000"));
    assert.deepEqual(largestRecords(configOf(`--series.overrides=${overrides}`)).forecast, plain.forecast);
  });
});

describe("the room for state", () => {
  for (const [horizon, channels] of [
    [24, 1],
    [24, 64],
    [500, 2],
    [1, 64],
  ] as const) {
    test(`is enough for ${horizon} steps of ${channels} channels`, () => {
      const config = configOf(`--series.horizon=${horizon}`, `--limits.channels=${channels}`);
      const { levels } = config.output;
      const outputs = horizon * channels;
      const block = avroCodec("StateBlock").encode({
        ...{
          revision: 1e12,
          interval: "PT1H",
          offsetMs: 1e9,
          channels,
          firstSlot: 1e9,
        },
        columns: Array.from({ length: channels + 1 }, () => ({
          ...{ form: "FLOAT64" as const, decimals: 0, base: 0, codes: Buffer.alloc(64 * 8) },
        })),
        ...{ values: Buffer.alloc(0), jitterMs: null },
        ...{ newestSlot: 1e9, lastForecastSlot: 1e9, pendingPoints: [] },
        ...{ seasons: [1e6, 1e7, 1e8], naiveSeason: 1e8, decidedAt: 1e9, isNonNegative: true },
      });
      const kept = avroCodec("KeptForecast").encode({
        ...{ originSlot: 1e9, modelVersion: "v".repeat(40), quantiles: Buffer.alloc(0) },
        ...{ scales: Buffer.alloc(0), codes: Buffer.alloc(0) },
        cells: Buffer.alloc(8 * channels + (levels.length + 2) * outputs),
      });
      const room = largestRecords(config).state.mostBytes;
      for (const { length } of [block, kept])
        assert.ok(length <= room, `${length} bytes need room, there are ${room}`);
      const numbers = Math.max(64 * (channels + 1) * 8, (levels.length + 1) * outputs * 4);
      assert.ok(room < 1.5 * numbers + 8_000, `${room} bytes of room for ${numbers}`);
    });
  }
});

test("the room for dead letters is that of the largest input record with its headers", () => {
  const { deadLetter } = largestRecords(configOf("--limits.recordBytes=2000000"));
  assert.equal(deadLetter.mostBytes, 2_000_000 + 16_384);
});
