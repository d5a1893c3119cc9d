// Export and import of models.

import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { avroCodec } from "../../../../src/log/codec/avro.ts";
import { readModel } from "../../../../src/log/codec/model-record.ts";
import { storedFamilies } from "../../../../src/models/families.ts";
import { decodeModel, encodeModel } from "../../../../src/models/forecastnet/model-bytes.ts";
import { netOf, randomModel } from "../../../rig/random-model.ts";
import { ModelsFixture, recordOf } from "./models-fixture.ts";

const codec = avroCodec("ModelRecord");

test("export writes the stored record, and import sends the same model back", async (t) => {
  const fleet = await ModelsFixture.open(t);
  await fleet.putSeries(1, "a");
  const previous = codec.encode(recordOf({ key: "a", version: "v0" }));
  const stored = await fleet.putModel(1, { key: "a" }, { previous, previousVersion: "v0", requestId: "r" });
  const file = fleet.file("a.model");
  const { code, out } = await fleet.run(["export", "a", "--out", file]);
  assert.equal(code, 0);
  assert.match(out, /a\.model: a@v1, [\d,]+ bytes$/);
  assert.deepEqual(readFileSync(file), stored);

  const answered = fleet.answer({ kind: "PROMOTED", toVersion: "v1", reason: "better" });
  assert.equal((await fleet.run(["import", file])).code, 0);
  const { order, partition } = await answered;
  assert.deepEqual([order.kind, order.modelKey, order.skipsGate, partition], ["IMPORT", "a", false, 1]);
  const imported = codec.decode(order.record as Buffer);
  assert.deepEqual(imported.weights, codec.decode(stored).weights);
  assert.deepEqual([imported.previous, imported.previousVersion, imported.requestId], [null, null, null]);
});

for (const storage of ["float32", "float16"] as const) {
  test(`a ${storage} model that is imported for another series carries the new key inside`, async (t) => {
    const fleet = await ModelsFixture.open(t);
    await fleet.putSeries(2, "b");
    const weights = Buffer.from(encodeModel(randomModel({ key: "a" }), storage));
    const symbol = storage === "float16" ? "FLOAT16" : "FLOAT32";
    const file = fleet.file("a.model");
    writeFileSync(file, codec.encode(recordOf({ key: "a" }, { weights, storage: symbol })));
    const answered = fleet.answer({ kind: "PROMOTED", toVersion: "v1", reason: "by hand" });
    assert.equal((await fleet.run(["import", file, "--key", "b", "--skip-gate"])).code, 0);
    const { order, partition } = await answered;
    assert.deepEqual([order.modelKey, order.skipsGate, partition], ["b", true, 2]);
    const brought = codec.decode(order.record as Buffer);
    const model = netOf(readModel(brought, storedFamilies)); // Its names agree.
    assert.deepEqual([model.key, model.version, brought.storage], ["b", "v1", symbol]);
    assert.deepEqual(model.members, decodeModel(weights, "a").members);
    assert.equal(brought.weights.length, weights.length);
    assert.deepEqual({ ...brought.lineage }, { version: "v1", reason: "imported by hand from a" });
  });
}

test("only a decision about the imported version answers an import", async (t) => {
  const fleet = await ModelsFixture.open(t);
  await fleet.putSeries(0, "a");
  const file = fleet.file("a.model");
  writeFileSync(file, codec.encode(recordOf({ key: "a", version: "v5" })));
  const answered = fleet.answer(
    { kind: "PROMOTED", toVersion: "v4", reason: "a training under way" },
    { kind: "REFUSED", toVersion: "v4", reason: "a training under way" },
    { kind: "REFUSED", toVersion: "v5", reason: "the champion is better" },
  );
  const { code, out } = await fleet.run(["import", file]);
  await answered;
  assert.equal(code, 1);
  assert.match(out, /^asked to import a@v5: /);
  assert.doesNotMatch(out, /under way/);
});

test("a damaged file is refused in one line before an order is sent", async (t) => {
  const fleet = await ModelsFixture.open(t);
  await fleet.putSeries(0, "a");
  const record = recordOf({ key: "a" });
  const flipped = Buffer.from(record.weights);
  flipped[flipped.length - 1] ^= 1;
  const damages: readonly (readonly [Buffer, RegExp])[] = [
    [Buffer.alloc(0), /is not an exported model: .*does not start with C3 01/],
    [Buffer.from("hello, this is no model"), /is not an exported model/],
    [codec.encode(record).subarray(0, 200), /is not an exported model/],
    [codec.encode({ ...record, weights: flipped }), /: checksum is [0-9a-f]+; expected /],
    [codec.encode({ ...record, checksum: "sha256:00" }), /: the checksum of the record is sha256:00/],
    [codec.encode({ ...record, version: "v2" }), /the record is of a@v2, the model inside of a@v1/],
  ];
  const file = fleet.file("bad.model");
  for (const [bytes, expected] of damages) {
    writeFileSync(file, bytes);
    const { code, out, err } = await fleet.run(["import", file, "--no-wait"]);
    assert.deepEqual([code, out], [1, ""]);
    assert.match(err, expected);
    assert.ok(err.startsWith(file) && !err.includes("\n"), err);
  }
  assert.doesNotMatch((await fleet.run(["show", "a"])).out, /pending order/);
});

test("a missing file is named", async (t) => {
  const fleet = await ModelsFixture.open(t);
  const file = fleet.file("none.model");
  const { code, err } = await fleet.run(["import", file]);
  assert.equal(code, 1);
  assert.match(err, /none\.model cannot be read: ENOENT/);
});

test("export refuses a series without a model, a damaged model and a path that cannot be written", async (t) => {
  const fleet = await ModelsFixture.open(t);
  const file = fleet.file("x.model");
  await fleet.putSeries(0, "young");
  assert.deepEqual(await fleet.run(["export", "young", "--out", file]), {
    code: 1,
    out: "",
    err: "young has no model to export",
  });
  const record = recordOf({ key: "hurt" });
  const weights = Buffer.from(record.weights);
  weights[60] ^= 1;
  await fleet.putModel(0, { key: "hurt" }, { weights });
  const hurt = await fleet.run(["export", "hurt", "--out", file]);
  assert.equal(hurt.code, 1);
  assert.match(hurt.err, /^the model of hurt: checksum/);
  assert.ok(!existsSync(file));
  await fleet.putModel(0, { key: "fine" });
  const nowhere = await fleet.run(["export", "fine", "--out", fleet.file("no/such/folder")]);
  assert.match(nowhere.err, /cannot be written: ENOENT/);
});
