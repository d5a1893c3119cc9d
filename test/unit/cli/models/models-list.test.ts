import assert from "node:assert/strict";
import { test } from "node:test";
import { ModelsFixture, nowMs, sumsOf, topics } from "./models-fixture.ts";

test("list prints series and cohorts in columns, worst rolling MASE first", async (t) => {
  const fleet = await ModelsFixture.open(t);
  await fleet.putSeries(2, "fine", { sums: sumsOf(0.4), verdict: "promoted: better by 12 %" });
  await fleet.putModel(2, { key: "fine", version: "v7" }, { trainedAt: nowMs });
  await fleet.putSeries(0, "bad#1", {
    sums: sumsOf(2.25),
    phase: "DRIFTING",
    probation: { predecessorMase: 1, since: 0 },
  });
  await fleet.putModel(0, { key: "bad#1", version: "v10" }, { trainedAt: nowMs });
  await fleet.putSeries(1, "young", { phase: "COLD", modelVersion: "persistence-1", scoredSlots: 0 });
  for (const partition of [1, 2]) await fleet.putModel(partition, { key: "cohort:pumps", version: "c1" });
  const { code, out, err } = await fleet.run(["list"]);
  assert.deepEqual([code, err], [0, ""]);
  assert.deepEqual(out.split("\n"), [
    "KEY           PHASE     VERSION        MASE  VALIDATED  TRAINED               PROBATION  VERDICT",
    "bad#1         drifting  v10            2.25        0.5  2026-01-02 03:04:05Z  yes        –",
    "fine          champion  v7              0.4        0.5  2026-01-02 03:04:05Z  –          promoted: better by 12 %",
    "cohort:pumps  champion  c1                –        0.5  1970-01-01 00:00:00Z  –          –",
    "young         cold      persistence-1     –          –  –                     –          –",
  ]);
});

test("list applies phase and limit, and prints how many rows are left out", async (t) => {
  const fleet = await ModelsFixture.open(t);
  for (const [n, key] of ["a", "b", "c"].entries()) await fleet.putSeries(0, key, { sums: sumsOf(n + 1) });
  await fleet.putSeries(0, "d", { phase: "COLD" });
  const { out } = await fleet.run(["list", "--phase=champion", "--limit=2"]);
  assert.deepEqual(
    out.split("\n").map((line) => line.split(" ")[0]),
    ["KEY", "c", "b", "and"],
  );
  assert.match(out, /\nand 1 more$/);
  assert.equal((await fleet.run(["list", "--phase=training"])).out, "no series is training");
});

test("list --json prints JSON, with null for unknown values", async (t) => {
  const fleet = await ModelsFixture.open(t);
  await fleet.putModel(1, { key: "cohort:x", version: "c1" }, { trainedAt: nowMs });
  await fleet.putSeries(2, "a");
  const rows = JSON.parse((await fleet.run(["list", "--json"])).out);
  assert.deepEqual(rows, [
    {
      modelKey: "a",
      kind: "series",
      partition: 2,
      phase: "champion",
      version: "v1",
      rollingMase: 0.5,
      validationMase: null,
      trainedAt: null,
      isOnProbation: false,
      verdict: null,
    },
    {
      modelKey: "cohort:x",
      kind: "cohort",
      partition: 1,
      phase: "champion",
      version: "c1",
      rollingMase: null,
      validationMase: 0.5,
      trainedAt: "2026-01-02T03:04:05.000Z",
      isOnProbation: false,
      verdict: null,
    },
  ]);
});

test("the newest record of a key counts, and an empty one deletes the model", async (t) => {
  const fleet = await ModelsFixture.open(t);
  await fleet.putSeries(0, "a");
  await fleet.putSeries(0, "b");
  for (const version of ["v1", "v2"]) {
    await fleet.putModel(0, { key: "a", version });
    await fleet.putModel(0, { key: "b", version });
  }
  await fleet.put(topics.models, 0, "b", null);
  await fleet.put(topics.models, 1, "cohort:gone", null);
  const rows = JSON.parse((await fleet.run(["list", "--json"])).out);
  assert.deepEqual(
    rows.map((row: { modelKey: string; version: string; trainedAt: string }) => [
      ...[row.modelKey, row.version, row.trainedAt === null],
    ]),
    [
      ["a", "v2", false],
      ["b", "v1", true],
    ],
  );
});

test("a record that cannot be read is reported for its own series and affects no other", async (t) => {
  const fleet = await ModelsFixture.open(t);
  await fleet.putSeries(0, "a");
  await fleet.put(topics.models, 0, "a", Buffer.from("nonsense"));
  await fleet.putSeries(0, "b");
  await fleet.put(topics.state, 0, "b#live", Buffer.from("nonsense"));
  await fleet.put(topics.models, 0, "c", await fleet.putModel(0, { key: "d" }));
  const { code, out } = await fleet.run(["list"]);
  assert.equal(code, 0);
  assert.match(out, /^a .*cannot be read: a ModelRecord record cannot be read/m);
  assert.match(out, /^b .*cannot be read: live state: a LiveState record cannot be read/m);
  assert.match(out, /^c .*cannot be read: the record holds the model of d/m);
  assert.match(out, /^d .* v1 /m);
});

test("sums that another release has written give no score rather than a wrong one", async (t) => {
  const fleet = await ModelsFixture.open(t);
  await fleet.putSeries(0, "a", { sums: Buffer.alloc(16, 1) });
  const [row] = JSON.parse((await fleet.run(["list", "--json"])).out);
  assert.equal(row.rollingMase, null);
});

test("list escapes control characters in a series id", async (t) => {
  const fleet = await ModelsFixture.open(t);
  await fleet.putSeries(0, "a\u001b[2J\nb");
  const { out } = await fleet.run(["list"]);
  assert.match(out, /^a\\u\{1b\}\[2J\\u\{a\}b /m);
});

test("list says that an empty fleet has no series", async (t) => {
  const fleet = await ModelsFixture.open(t);
  assert.deepEqual(await fleet.run(["list"]), { code: 0, out: "no series yet", err: "" });
});

test("missing topics are named in one line", async (t) => {
  const fleet = await ModelsFixture.open(t, [topics.state, topics.events]);
  const { code, out, err } = await fleet.run(["list"]);
  assert.deepEqual([code, out], [1, ""]);
  assert.match(err, /^topic s, e does not exist: no worker has run with this configuration yet[^\n]*$/);
});
