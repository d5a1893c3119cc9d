import assert from "node:assert/strict";
import { test } from "node:test";
import { avroCodec } from "../../../../src/log/codec/avro.ts";
import { ModelsFixture, nowMs, recordOf, topics } from "./models-fixture.ts";

const codec = avroCodec("ModelRecord");

test("show prints scores, model, predecessor and events of a series", async (t) => {
  const fleet = await ModelsFixture.open(t);
  await fleet.putSeries(2, "pump", {
    verdict: "promoted: better",
    probation: { predecessorMase: 0.9, since: nowMs },
    modelVersion: "v2",
  });
  const previous = codec.encode(recordOf({ key: "pump", version: "v1" }, { trainedAt: nowMs - 86_400_000 }));
  await fleet.putModel(
    2,
    { key: "pump", version: "v2" },
    {
      previous,
      previousVersion: "v1",
      trainedAt: nowMs,
      requestId: "r-1",
      lineage: { version: "v1", reason: "drift" },
    },
  );
  await fleet.putEvent("pump", {
    kind: "DRIFTED",
    fromVersion: "v1",
    reason: "rolling MASE",
    time: nowMs - 9e5,
  });
  await fleet.putEvent("other", { kind: "FAILED", reason: "not of this model" });
  await fleet.put(topics.events, 0, "pump", Buffer.from("nonsense"));
  await fleet.putEvent("pump", {
    kind: "PROMOTED",
    fromVersion: "v1",
    toVersion: "v2",
    reason: "better",
    numbers: { challengerMase: 0.61234, championMase: 0.9 },
  });
  const { code, out, err } = await fleet.run(["show", "pump"]);
  assert.deepEqual([code, err], [0, ""]);
  assert.deepEqual(
    out.split("\n").map((line) => line.replace(/[\d,]+ bytes/, "N bytes")),
    [
      "pump  (series, partition 2)",
      "  phase          champion since 2026-01-02 03:03:05Z",
      "  probation      since 2026-01-02 03:04:05Z, against a MASE of 0.9",
      "  verdict        promoted: better",
      "  forecast by    v2",
      "  live scores    MASE 0.5, CRPS 1.5, 2 steps scored",
      "  coverage       80 % interval holds 75 %",
      "  model          v2, N bytes as float32",
      "  trained        2026-01-02 03:04:05Z, on 1970-01-01 00:00:00Z to 1970-01-01 00:00:00Z",
      "  validated      MASE 0.5, CRPS 0.5 over 1 steps; seasonal-naive 1, 1",
      "  lineage        from v1: drift",
      "  request        r-1",
      "  predecessor    v1, trained 2026-01-01 03:04:05Z, validated with a MASE of 0.5",
      "events",
      "  2026-01-02 02:49:05Z  drifted      v1:  rolling MASE",
      "  2026-01-02 03:04:05Z  promoted     v1 → v2:  better",
      "                        challengerMase 0.6123, championMase 0.9",
    ],
  );
});

test("show says that a series has no model of its own", async (t) => {
  const fleet = await ModelsFixture.open(t);
  await fleet.put(topics.state, 0, "young#0", Buffer.from("a block"));
  const { out } = await fleet.run(["show", "young"]);
  assert.deepEqual(out.split("\n"), [
    "young  (series, partition 0)",
    "  phase          nothing scored or decided yet",
    "  model          none of its own",
    "  predecessor    none",
    "no events",
  ]);
});

test("show prints the 20 newest events and how many there are", async (t) => {
  const fleet = await ModelsFixture.open(t);
  await fleet.putSeries(0, "a");
  for (let n = 0; n < 25; n++) await fleet.putEvent("a", { reason: `event ${n}.`, time: nowMs + n });
  const { out } = await fleet.run(["show", "a"]);
  assert.match(out, /^events, the newest 20 of 25$/m);
  assert.ok(!out.includes("event 4.") && out.includes("event 5.") && out.endsWith("event 24."));
});

test("show escapes control characters in a reason", async (t) => {
  const fleet = await ModelsFixture.open(t);
  await fleet.putSeries(0, "a", { verdict: "red \u001b[31m" });
  await fleet.putEvent("a", { reason: "up \u001b[A" });
  const { out } = await fleet.run(["show", "a"]);
  assert.match(out, /red \\u\{1b\}\[31m[\s\S]*up \\u\{1b\}\[A$/);
});

test("show --json prints JSON without the weights", async (t) => {
  const fleet = await ModelsFixture.open(t);
  await fleet.putSeries(1, "a");
  const previous = codec.encode(recordOf({ key: "a", version: "v0" }));
  await fleet.putModel(1, { key: "a" }, { previous });
  await fleet.putEvent("a", { kind: "PROMOTED" });
  const shown = JSON.parse((await fleet.run(["show", "a", "--json"])).out);
  assert.deepEqual(
    [shown.modelKey, shown.model.version, shown.predecessor.version, shown.events[0].kind, shown.live.phase],
    ["a", "v1", "v0", "PROMOTED", "CHAMPION"],
  );
  assert.ok(!("weights" in shown.model) && !("weights" in shown.predecessor) && !("previous" in shown.model));
});

test("show suggests similar names for an unknown series", async (t) => {
  const fleet = await ModelsFixture.open(t);
  for (const key of ["plant-1/pump-07", "plant-1/pump-08", "boiler"]) await fleet.putSeries(0, key);
  const slip = await fleet.run(["show", "plant-1/pmup-07"]);
  assert.deepEqual([slip.code, slip.out], [1, ""]);
  assert.match(slip.err, /^no series or cohort plant-1\/pmup-07 is known: did you mean plant-1\/pump-07/);
  assert.match((await fleet.run(["show", "BOIL"])).err, /did you mean boiler\?$/);
  assert.match((await fleet.run(["show", "zzz"])).err, /known: `forecastnet models list` shows all of them$/);
});
