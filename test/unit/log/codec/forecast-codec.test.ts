import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { Forecast, RawForecast, SeriesSettings, Window } from "../../../../src/domain.ts";
import { avroCodec, fingerprintAt, fingerprintOf, versionedCodec } from "../../../../src/log/codec/avro.ts";
import type { AvroDefinition } from "../../../../src/log/codec/avro-schema.ts";
import {
  createForecastEncoder,
  decodeForecast,
  encodeForecast,
  encodeForecastAsJson,
  singleSchema,
  toForecastRecord,
} from "../../../../src/log/codec/forecast-codec.ts";
import { type ForecastRecord, schemaVersions } from "../../../../src/log/codec/schemas.generated.ts";
import { projectRoot } from "../../../rig/project.ts";
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

const parts = { topic: "t", precision: "auto", registry: null, refused: () => {} } as const;
const doubles = () => createForecastEncoder("avro", { ...parts, precision: "double" });
/** One that floats are enough for, and one that needs doubles. */
const near = exampleWith({}, { mean: [1], standardDeviation: [1] });
const far = exampleWith({}, { mean: [1e9], standardDeviation: [1] });

const asFloats = (numbers: readonly number[]) => numbers.map(Math.fround);
const roundedQuantiles = (quantiles: ForecastRecord["quantiles"]) =>
  quantiles.map(({ level, values }) => ({ level, values: asFloats(values) }));

/** As it is after a way in single precision. */
function rounded(record: ForecastRecord): ForecastRecord {
  const { mean, standardDeviation, quantiles, calibration } = record;
  return {
    ...record,
    mean: asFloats(mean),
    standardDeviation: asFloats(standardDeviation),
    quantiles: roundedQuantiles(quantiles),
    calibration: calibration && { ...calibration, rawQuantiles: roundedQuantiles(calibration.rawQuantiles) },
  };
}

describe("forecasts", () => {
  test("a forecast has the bytes that avsc writes under either schema, and is read back", () => {
    const double = avroCodec("Forecast");
    const single = versionedCodec<ForecastRecord>("Forecast", [singleSchema]);
    let singles = 0;
    fc.assert(
      fc.property(forecasts, (forecast) => {
        const bytes = encodeForecast(forecast);
        const record = toForecastRecord(forecast);
        const isSingle = fingerprintAt(bytes) === fingerprintOf(singleSchema);
        const expected = (isSingle ? single : double).encode(record);
        assert.equal(bytes.toString("hex"), expected.toString("hex"));
        assert.deepEqual(plain(decodeForecast(bytes)), plain(isSingle ? rounded(record) : record));
        if (isSingle) singles++;
      }),
    );
    assert.ok(singles > 0 && singles < 100, `${singles} of 100 in single precision`);
  });

  test("a forecast is written as floats unless they change it by a thousandth of its deviation", () => {
    const sizeOf = (mean: number, deviation: number) =>
      encodeForecast(exampleWith({}, { mean: [0, mean], standardDeviation: [1, deviation], quantiles: [] }))
        .length;
    const small = sizeOf(20, 0.5);
    assert.equal(sizeOf(1e6, 100), small);
    const numbers = 4 + example.quantiles.flatMap(({ values }) => values).length;
    const raw = (example.calibration?.rawQuantiles ?? []).flatMap(({ values }) => values).length;
    for (const [mean, deviation] of [
      [1e9, 1],
      [20, 0],
      [Number.NaN, 1],
    ])
      assert.equal(sizeOf(mean, deviation), small + 4 * (numbers + raw));
    const forecast = exampleWith({}, { mean: [123.456789], standardDeviation: [0.01] });
    assert.ok(Math.abs(decodeForecast(encodeForecast(forecast)).mean[0] - 123.456789) < 1e-5);
  });

  test("the file that subscribers get has the schema of single precision", () => {
    const file = join(projectRoot, "schemas", "single", "Forecast.avsc");
    assert.deepEqual(JSON.parse(readFileSync(file, "utf8")), singleSchema);
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
    stub.answerWith((_line, body) => ({ status: 200, body: { id: body.includes("float") ? 258 : 259 } }));
    const registry = registryAt(context, stub);
    const encode = await createForecastEncoder("confluent", { ...parts, topic: "forecasts", registry });
    for (const [forecast, id] of [
      [near, 2],
      [far, 3],
    ] as const) {
      const bytes = encode(forecast);
      assert.deepEqual([...bytes.subarray(0, 5)], [0, 0, 0, 1, id]);
      assert.deepEqual(bytes.subarray(5), encodeForecast(forecast).subarray(10));
    }
    assert.deepEqual(
      stub.requests.map(({ line }) => line),
      Array(2).fill("POST /subjects/forecasts-value/versions"),
    );
  });

  test("a registry that refuses floats gets doubles, and the reason is passed on", async (context) => {
    const stub = await startRegistryStub(context);
    stub.answerWith((_line, body) =>
      body.includes("float")
        ? { status: 409, body: { message: "incompatible" } }
        : { status: 200, body: { id: 7 } },
    );
    const reasons: string[] = [];
    const refused = (reason: string) => reasons.push(reason);
    const registry = registryAt(context, stub);
    const encode = await createForecastEncoder("confluent", { ...parts, registry, refused });
    assert.equal(encode(near)[4], 7);
    assert.equal(encode(near).length, 5 + (await doubles())(near).length - 10);
    assert.match(reasons.join(), /409.*incompatible/);
  });

  test("with the precision double there is one schema for all", async (context) => {
    const stub = await startRegistryStub(context);
    stub.answerWith(() => ({ status: 200, body: { id: 7 } }));
    const registry = registryAt(context, stub);
    await createForecastEncoder("confluent", { ...parts, precision: "double", registry });
    assert.equal(stub.requests.length, 1);
    assert.deepEqual((await doubles())(near), avroCodec("Forecast").encode(toForecastRecord(near)));
  });

  test("the other formats need no registry", async () => {
    assert.deepEqual((await createForecastEncoder("avro", parts))(example), encodeForecast(example));
    assert.deepEqual((await createForecastEncoder("json", parts))(example), encodeForecastAsJson(example));
    await assert.rejects(createForecastEncoder("confluent", parts), /registry\.url/);
  });
});
