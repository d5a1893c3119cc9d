// State, live scores, pending forecasts and a model as the previous release stored them. A worker of this release takes
// them over and forecasts on as that release did. test/fixtures/previous-version/README.md says how they were written.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { decodeForecast } from "../../src/log/codec/forecast-codec.ts";
import { modelRecordCodec, readExportedModel } from "../../src/log/codec/model-record.ts";
import { storedFamilies } from "../../src/models/families.ts";
import { seasonalNaiveVersion } from "../../src/models/seasonal-naive/family.ts";
import { projectRoot } from "../rig/project.ts";
import { Fleet } from "./support/fleet.ts";
import { at } from "./support/readings.ts";
import { noisy, openEngine, wave } from "./support/retraining.ts";

const settings = {
  ...{ "series.horizon": 6, "series.season": 6, "series.history": 240, "series.gapMax": 3 },
  ...{ "output.levels": [0.025, 0.1, 0.5, 0.9, 0.975], "engine.paths": 32 },
  ...{ "retrain.cooldownSteps": 24, "retrain.evidenceSteps": 24, "retrain.rollingSteps": 18 },
};
const laws = { a: noisy(wave(3, 6), 0.3, 1), b: noisy(wave(3, 6), 0.3, 2) };
const version = "20240103T050000Z-0904d3b5";

interface Stored {
  readonly key: Buffer;
  readonly value: Buffer;
}

function readRecords(name: string): readonly Stored[] {
  const bytes = readFileSync(join(projectRoot, "test/fixtures/previous-version", `${name}.bin`));
  let at = 0;
  const field = () => {
    const from = at + 4;
    at = from + bytes.readInt32LE(at);
    return bytes.subarray(from, at);
  };
  const records: Stored[] = [];
  while (at < bytes.length) records.push({ key: field(), value: field() });
  return records;
}

let fleet: Fleet;
before(async () => {
  fleet = new Fleet({ settings, openEngine });
  const topics = ["forecastnet.state", "forecastnet.models"];
  const limit = { "max.message.bytes": "16777216" };
  await fleet.log.createTopics(
    topics.map((topic) => ({ topic, partitions: 1, compacted: true, settings: limit })),
  );
  for (const topic of topics) {
    const records = readRecords(topic.replace("forecastnet.", ""));
    await fleet.log.append(records.map((record) => ({ topic, partition: 0, ...record })));
  }
  fleet.start();
  await fleet.play("settle");
});
after(() => fleet.close());

test("everything that the previous release stored is taken over", async () => {
  const [restored] = fleet.logged.filter(({ message }) => message === "partition restored");
  assert.deepEqual(
    { ...restored.facts, tookMs: 0 },
    { partition: 0, series: 2, blocks: 5, models: 1, tookMs: 0 },
  );
  assert.deepEqual(
    fleet.logged.filter(({ level }) => level === "warn" || level === "error"),
    [],
    "nothing is refused",
  );
  const { body } = await fleet.page("/models/a");
  const { phase, verdict, scores } = JSON.parse(body);
  assert.deepEqual([phase, verdict], ["champion", "confirmed: better than seasonal-naive by 4.7 %"]);
  assert.ok(scores.scoredSteps > 0, "its live scores go on");
});

test("a worker of this release forecasts on as the previous release did, and calibrates on from what that had learnt", async () => {
  for (let hour = 126; hour < 138; hour++)
    await fleet.play(at("a", hour, laws.a(hour)), at("b", hour, laws.b(hour)));
  await fleet.play("settle");
  const expected = readRecords("forecasts").map(({ value }) => decodeForecast(value));
  const found = await fleet.forecasts();
  assert.equal(found.length, 24);
  for (const [i, forecast] of found.entries()) {
    if (forecast.modelVersion === version)
      assertClose(uncalibrated(forecast), uncalibrated(expected[i]), forecast.id);
    // The band of seasonal-naive has changed since, and with it its version.
    else assertClose(forecast.mean, expected[i].mean, forecast.id);
  }
  assert.deepEqual(
    new Set(found.map(({ modelVersion }) => modelVersion)),
    new Set([version, seasonalNaiveVersion]),
  );
});

test("a model record of the previous release reads as ForecastNet", () => {
  const [{ value }] = readRecords("models");
  assert.equal(modelRecordCodec.decode(value).family, "forecastnet");
  const { modelKey, bytes } = readExportedModel(
    value,
    { modelKey: "b", where: "the export" },
    storedFamilies,
  );
  const { family, lineage } = modelRecordCodec.decode(bytes);
  assert.deepEqual(
    [modelKey, family, { ...lineage }],
    ["b", "forecastnet", { version, reason: "imported by hand from a" }],
  );
});

/** Without what follows from the rule of calibration, which has changed since. The number of steps learnt from goes on. */
function uncalibrated({ quantiles, scores, ...rest }: ReturnType<typeof decodeForecast>) {
  const levels = quantiles.map(({ level }) => level);
  return { ...rest, levels, mase: scores?.mase, scoredSteps: scores?.scoredSteps };
}

/**
 * The previous release scored forecasts as floats, this one scores them as codes. It also spreads the components of a
 * mixture, which moves the numbers of a forecast by less than a ten-thousandth.
 */
function assertClose(found: unknown, expected: unknown, where: string): void {
  if (typeof expected === "number" && typeof found === "number") {
    const isClose = Math.abs(found - expected) <= 1e-4 * Math.max(1, Math.abs(expected));
    assert.ok(isClose, `${where} is ${found}; the previous release gave ${expected}`);
  } else if (
    typeof expected === "object" &&
    expected !== null &&
    typeof found === "object" &&
    found !== null
  ) {
    const fields = Object.entries(expected);
    assert.equal(Object.keys(found).length, fields.length, `${where} has other fields`);
    for (const [field, value] of fields)
      assertClose((found as Record<string, unknown>)[field], value, `${where}.${field}`);
  } else {
    assert.deepEqual(found, expected, `${where} is not what the previous release gave`);
  }
}
