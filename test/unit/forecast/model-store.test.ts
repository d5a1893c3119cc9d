import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ModelStore, restoreModels } from "../../../src/forecast/model-store.ts";
import type { StoredRecord } from "../../../src/log/log.ts";
import { newestByKey } from "../../../src/log/newest-by-key.ts";
import { createFamilies } from "../../../src/models/families.ts";
import { openIdleEngine } from "../../pipeline/support/idle-engine.ts";
import { modelRecord, storedModel } from "../../rig/model-record.ts";
import { netOf, type RandomModelOptions, randomModel } from "../../rig/random-model.ts";
import { seriesSettings } from "../../rig/series-settings.ts";

const settings = seriesSettings({ horizon: 3, season: 3, history: 20, gapMax: 1 });

const idle = await openIdleEngine();

function storeOf() {
  const released: string[] = [];
  const families = createFamilies({
    ...idle,
    release: ({ key, version }) => void released.push(`${key}@${version}`),
  });
  return { store: new ModelStore({ settingsOf: () => settings, families }), released };
}

const recordOf = (options: RandomModelOptions = {}) => modelRecord(randomModel(options));

describe("a model store", () => {
  test("serves the model of a series and says how far it looks back", () => {
    const { store } = storeOf();
    assert.equal(store.put(recordOf({ key: "a", spec: { inputLength: 9 } })), null);
    assert.deepEqual([store.size, store.modelStepsOf("a"), store.modelStepsOf("b")], [1, 9, 0]);
    assert.equal(store.of("a")?.model.version, "v1");
    assert.equal(store.of("b"), undefined);
  });

  test("holds weights in shared memory, once", () => {
    const { store } = storeOf();
    store.put(recordOf());
    const serving = store.of("a");
    assert.ok(serving !== undefined);
    const [{ weights }] = netOf(serving.model).members;
    assert.ok(weights.buffer instanceof SharedArrayBuffer);
    assert.equal(weights.buffer.byteLength, weights.byteLength);
  });

  test("replaces a model by the next one, and lets go of the one before", () => {
    const { store, released } = storeOf();
    store.put(recordOf({ version: "v1" }));
    store.put(recordOf({ version: "v2", spec: { inputLength: 7 } }));
    assert.deepEqual(released, ["a@v1"]);
    assert.deepEqual([store.size, store.of("a")?.model.version, store.modelStepsOf("a")], [1, "v2", 7]);
  });

  test("lets go of everything when cleared, and of one when removed", () => {
    const { store, released } = storeOf();
    for (const key of ["a", "b", "c"]) store.put(recordOf({ key }));
    store.remove("b");
    store.remove("unknown");
    assert.deepEqual(released, ["b@v1"]);
    store.clear();
    assert.deepEqual([store.size, released], [0, ["b@v1", "a@v1", "c@v1"]]);
  });

  test("refuses a model of another horizon", () => {
    assert.deepEqual(storeOf().store.put(recordOf({ horizon: 4 })), {
      modelKey: "a",
      reason: "horizon",
      detail: "model a@v1 forecasts 4 steps, its series is configured for 3: train it again",
    });
  });

  test("refuses a model that forecasts only some of its channels", () => {
    assert.deepEqual(storeOf().store.put(recordOf({ spec: { channels: 3, targets: [0, 2] } })), {
      modelKey: "a",
      reason: "targets",
      detail: "model a@v1 forecasts channels 0, 2 of 3: train one that forecasts all",
    });
    const all = recordOf({ spec: { channels: 2, targets: [0, 1] } });
    assert.equal(storeOf().store.put(all), null);
  });

  test("refuses a model that looks back further than the history kept", () => {
    const refusal = storeOf().store.put(recordOf({ spec: { inputLength: 21 } }));
    assert.deepEqual(refusal, {
      modelKey: "a",
      reason: "history",
      detail: "model a@v1 needs 21 steps, its series keeps 20: raise series.history",
    });
    assert.equal(storeOf().store.put(recordOf({ spec: { inputLength: 20 } })), null);
  });

  test("refuses damaged weights, and those of another model", () => {
    const record = recordOf();
    const damaged = Buffer.from(record.weights);
    damaged[damaged.length - 1] ^= 1;
    const refusal = storeOf().store.put({ ...record, weights: damaged });
    assert.equal(refusal?.reason, "unreadable");
    assert.match(refusal?.detail ?? "", /^record of a@v1: checksum is /);
    assert.equal(
      storeOf().store.put({ ...recordOf({ key: "b" }), modelKey: "a" })?.detail,
      "record of a@v1: its weights are those of b@v1",
    );
  });

  test("goes on with the old model when the new one is refused", () => {
    const { store, released } = storeOf();
    store.put(recordOf());
    store.put(recordOf({ version: "v2", horizon: 4 }));
    assert.deepEqual([store.get("a")?.model.version, released], ["v1", []]);
  });
});

describe("restoring models", () => {
  async function restored(records: readonly Pick<StoredRecord, "key" | "value">[]) {
    const { store } = storeOf();
    async function* changelog() {
      for (const [offset, record] of records.entries())
        yield [{ ...record, offset, headers: [], timestampMs: 0 }];
    }
    return { store, refusals: await restoreModels(store, await newestByKey(changelog())) };
  }

  test("takes the newest record of each key, and none that was deleted", async () => {
    const { store, refusals } = await restored([
      storedModel(randomModel({ key: "a", version: "v1" })),
      storedModel(randomModel({ key: "b" })),
      storedModel(randomModel({ key: "c" })),
      { key: Buffer.from("b"), value: null },
      storedModel(randomModel({ key: "a", version: "v2" })),
      { key: null, value: Buffer.from("nobody's") },
    ]);
    assert.deepEqual(refusals, []);
    assert.deepEqual(
      ["a", "b", "c"].map((key) => store.of(key)?.model.version),
      ["v2", undefined, "v1"],
    );
  });

  test("passes over what it cannot read, says of which series, and loses nothing else", async () => {
    const b = storedModel(randomModel({ key: "b" }));
    const { store, refusals } = await restored([
      { key: Buffer.from("a"), value: Buffer.from("no model") },
      b,
      { key: Buffer.from("c"), value: b.value },
      { key: Buffer.from("d"), value: b.value?.subarray(0, 200) ?? null },
    ]);
    assert.equal(store.size, 1);
    assert.deepEqual(
      refusals.map(({ modelKey, reason }) => [modelKey, reason]),
      [
        ["a", "unreadable"],
        ["c", "unreadable"],
        ["d", "unreadable"],
      ],
    );
    assert.equal(
      refusals[1].detail,
      "the record under the key c is of the model b: write each model under its own key",
    );
  });
});
