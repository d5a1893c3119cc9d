import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { Forecast } from "../../../../src/domain.ts";
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

const forecasts: fc.Arbitrary<Forecast> = fc.record({
  id: text,
  seriesId: text,
  originMs: timeMs,
  interval: fc.constantFrom("PT5M", "P1M"),
  horizon: fc.nat(),
  channels: fc.nat(5),
  stepTimesMs: fc.array(timeMs),
  mean: numbers,
  standardDeviation: numbers,
  quantiles,
  tier: fc.constantFrom("cold", "model", "cohort"),
  method: text,
  modelKey: text,
  modelVersion: text,
  filledShare: fc.double(),
  freshSteps: fc.nat(),
  skippedOrigins: fc.nat(),
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

describe("forecasts", () => {
  test("are written just as avsc would write them, and read back", () => {
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

  test("larger than the scratch buffer are written whole, and stay as they are", () => {
    const large = { ...example, mean: Array.from({ length: 20_000 }, (_, i) => i) };
    const bytes = encodeForecast(large);
    encodeForecast({ ...large, mean: large.mean.map(() => 0) });
    assert.deepEqual(decodeForecast(bytes).mean, large.mean);
  });

  test("with a number that is none are refused", () => {
    const broken = [{ mean: [1, undefined] }, { originMs: 0.5 }, { horizon: 2 ** 53 }, { filledShare: "0" }];
    for (const fields of broken) {
      assert.throws(
        () => encodeForecast({ ...example, ...fields } as Forecast),
        TypeError,
        JSON.stringify(fields),
      );
    }
  });

  test("as JSON have the fields of the schema, with times as ISO 8601", () => {
    const forecast: Forecast = {
      ...example,
      originMs: 0,
      stepTimesMs: [3_600_000],
      mean: [1.5],
      tier: "model",
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

  test("in the Confluent format carry the id their schema got from the registry", async (context) => {
    const stub = await startRegistryStub(context);
    stub.answerWith(() => ({ status: 200, body: { id: 258 } }));
    const encode = await createForecastEncoder("confluent", "forecasts", registryAt(context, stub));
    const bytes = encode(example);
    assert.deepEqual([...bytes.subarray(0, 5)], [0, 0, 0, 1, 2]);
    assert.deepEqual(bytes.subarray(5), encodeForecast(example).subarray(10));
    assert.equal(stub.requests[0].line, "POST /subjects/forecasts-value/versions");
  });

  test("in the other formats need no registry", async () => {
    assert.deepEqual((await createForecastEncoder("avro", "t", null))(example), encodeForecast(example));
    assert.deepEqual(
      (await createForecastEncoder("json", "t", null))(example),
      encodeForecastAsJson(example),
    );
    await assert.rejects(createForecastEncoder("confluent", "t", null), /registry\.url/);
  });
});
