import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { Forecast, RawForecast, SeriesSettings, Window } from "../../../../src/domain.ts";
import { avroCodec } from "../../../../src/log/codec/avro.ts";
import type { AvroDefinition } from "../../../../src/log/codec/avro-schema.ts";
import {
  createForecastEncoder,
  decodeForecast,
  encodeForecast,
  encodeForecastAsJson,
  toForecastRecord,
} from "../../../../src/log/codec/forecast-codec.ts";
import { schemaVersions } from "../../../../src/log/codec/schemas.generated.ts";
import { registryAt, startRegistryStub } from "./registry-stub.ts";
import { plain } from "./schema-arbitrary.ts";

const text = fc.string({ unit: "grapheme" });
const timeMs = fc.integer({ min: Date.UTC(1900), max: Date.UTC(9999) });
const numbers = fc.array(fc.double(), { maxLength: 30 });

const quantiles = fc.array(fc.record({ level: fc.double(), values: numbers }), { maxLength: 5 });

const windows = fc.record({
  seriesId: text,
  settings: fc.record({ horizon: fc.nat() }) as fc.Arbitrary<SeriesSettings>,
  originMs: timeMs,
  interval: fc.constantFrom("PT5M", "P1M"),
  channels: fc.nat(5),
  stepTimesMs: fc.array(timeMs),
  filledShare: fc.double(),
  freshSteps: fc.nat(),
  skippedOrigins: fc.nat(),
}) as fc.Arbitrary<unknown> as fc.Arbitrary<Window>;

const rawForecasts: fc.Arbitrary<RawForecast> = fc.record({
  id: text,
  window: windows,
  mean: numbers,
  standardDeviation: numbers,
  quantiles,
  tier: fc.constantFrom("cold", "model", "cohort"),
  method: text,
  modelKey: text,
  modelVersion: text,
});

const forecasts: fc.Arbitrary<Forecast> = fc.record({
  raw: rawForecasts,
  quantiles,
  calibration: fc.option(fc.record({ method: text, scoredSteps: fc.nat(), rawQuantiles: quantiles })),
  scores: fc.option(
    fc.record({
      mase: fc.double(),
      crps: fc.double(),
      coverage: fc.array(fc.record({ stated: fc.double(), observed: fc.double() }), { maxLength: 5 }),
      scoredSteps: fc.nat(),
    }),
  ),
});

const example: Forecast = fc.sample(forecasts, { numRuns: 1, seed: 3 })[0];

/** The example with other fields in its window and its raw forecast. */
function exampleWith(window: object, raw: object = {}): Forecast {
  return { ...example, raw: { ...example.raw, ...raw, window: { ...example.raw.window, ...window } } };
}

describe("forecasts", () => {
  test("a forecast has the bytes that avsc writes, and is read back", () => {
    const codec = avroCodec("Forecast");
    fc.assert(
      fc.property(forecasts, (forecast) => {
        const bytes = encodeForecast(forecast);
        const record = toForecastRecord(forecast);
        assert.equal(bytes.toString("hex"), codec.encode(record).toString("hex"));
        assert.deepEqual(plain(decodeForecast(bytes)), plain(record));
      }),
    );
  });

  test("a forecast larger than a slab is complete, and does not change afterwards", () => {
    const mean = Array.from({ length: 20_000 }, (_, i) => i);
    const bytes = encodeForecast(exampleWith({}, { mean }));
    encodeForecast(exampleWith({}, { mean: mean.map(() => 0) }));
    assert.deepEqual(decodeForecast(bytes).mean, mean);
  });

  test("a forecast with an impossible number or tier is refused", () => {
    const broken = [
      exampleWith({}, { mean: [1, undefined] }),
      exampleWith({}, { tier: "lukewarm" }),
      exampleWith({ originMs: 0.5 }),
      exampleWith({ settings: { horizon: 2 ** 53 } }),
      exampleWith({ filledShare: "0" }),
    ];
    for (const [i, forecast] of broken.entries())
      assert.throws(() => encodeForecast(forecast), TypeError, `forecast ${i} was encoded`);
  });

  test("a forecast in JSON has the fields of the schema, with times in ISO 8601", () => {
    const forecast: Forecast = {
      ...exampleWith({ originMs: 0, stepTimesMs: [3_600_000] }, { mean: [1.5], tier: "model" }),
      calibration: {
        method: "m",
        scoredSteps: 5,
        rawQuantiles: [{ level: 0.5, values: [1] }],
      },
      scores: { mase: 0.5, crps: 2, coverage: [{ stated: 0.8, observed: 0.75 }], scoredSteps: 7 },
    };
    const json = JSON.parse(encodeForecastAsJson(forecast).toString());
    const { fields } = schemaVersions.Forecast.at(-1) as AvroDefinition;
    assert.deepEqual(
      Object.keys(json),
      fields?.map(({ name }) => name),
    );
    assert.equal(json.origin, "1970-01-01T00:00:00.000Z");
    assert.deepEqual(json.times, ["1970-01-01T01:00:00.000Z"]);
    assert.deepEqual(json.mean, [1.5]);
    assert.equal(json.tier, "MODEL");
    assert.deepEqual(json.calibration, forecast.calibration);
    assert.deepEqual(json.scores, forecast.scores);
  });

  test("a forecast in the Confluent format starts with the id that the registry gave its schema", async (context) => {
    const stub = await startRegistryStub(context);
    stub.answerWith(() => ({ status: 200, body: { id: 258 } }));
    const encode = await createForecastEncoder("confluent", "forecasts", registryAt(context, stub));
    const bytes = encode(example);
    assert.deepEqual([...bytes.subarray(0, 5)], [0, 0, 0, 1, 2]);
    assert.deepEqual(bytes.subarray(5), encodeForecast(example).subarray(10));
    assert.equal(stub.requests[0].line, "POST /subjects/forecasts-value/versions");
  });

  test("the other formats need no registry", async () => {
    assert.deepEqual((await createForecastEncoder("avro", "t", null))(example), encodeForecast(example));
    assert.deepEqual(
      (await createForecastEncoder("json", "t", null))(example),
      encodeForecastAsJson(example),
    );
    await assert.rejects(createForecastEncoder("confluent", "t", null), /registry\.url/);
  });
});
