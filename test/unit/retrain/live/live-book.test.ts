import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { avroCodec } from "../../../../src/log/codec/avro.ts";
import { unborn } from "../../../../src/retrain/life.ts";
import type { LiveBook } from "../../../../src/retrain/live/live-book.ts";
import { restoreBook } from "../../../../src/retrain/live/restore-book.ts";
import { readState, storedScores } from "../../../../src/retrain/live/stored-records.ts";
import { bookOf, forecastOf, levels, placementAt, servingOf, settings, windowAt } from "./fixtures.ts";

const stateCodec = avroCodec("LiveState");
const keptCodec = avroCodec("KeptForecast");

/** What the topic holds after the changes were written. */
function write(book: LiveBook, valueByKey: Map<string, Buffer>): void {
  for (const { key, value } of book.takeChanges()) {
    if (value === null) valueByKey.delete(key);
    else valueByKey.set(key, value);
  }
}

const restore = (book: LiveBook, valueByKey: ReadonlyMap<string, Buffer>, isAnew = false) =>
  restoreBook(book, new Map(valueByKey), { where: (key) => `${key} there`, isAnew: () => isAnew });

/** Five forecasts, four of them scored by a step or more. */
function begun(book = bookOf({ calibration: { enabled: true, publishRaw: false } })) {
  const live = book.of("s");
  for (let slot = 0; slot < 5; slot++) {
    if (slot > 0) live.place(placementAt(slot, [1000 + slot]));
    live.publish(
      windowAt(slot, [1000]),
      forecastOf(windowAt(slot, [1000]), [999, 1000, 1001]),
      servingOf("v1"),
    );
  }
  const valueByKey = new Map<string, Buffer>();
  write(book, valueByKey);
  return { book, live, valueByKey };
}

describe("changes", () => {
  test("a kept forecast is written once, the state whenever it changed", () => {
    const { book, live, valueByKey } = begun();
    assert.deepEqual([...valueByKey.keys()], ["s#f0", "s#f1", "s#f2", "s#f3", "s#f4", "s#live"]);
    assert.deepEqual(book.takeChanges(), []);
    live.place(placementAt(5, [1]));
    assert.deepEqual(
      book.takeChanges().map(({ key }) => key),
      ["s#live"],
    );
    live.publish(windowAt(5), forecastOf(windowAt(5), [0, 1, 2]), servingOf("v1"));
    assert.deepEqual(
      book.takeChanges().map(({ key }) => key),
      ["s#f0"],
    );
  });

  test("a kept forecast says what it is", () => {
    const book = bookOf();
    const window = windowAt(7, [10, 20]);
    const quantiles = [0, 1, 2].map((l) => [1, 2, 3, 4, 5, 6].map((output) => 100 * l + output));
    book.of("s").publish(window, forecastOf(window, quantiles, "persistence-1"), servingOf("v1", [1, 1]));
    const [{ value }] = book.takeChanges();
    const { quantiles: bytes, ...facts } = keptCodec.decode(value as Buffer);
    assert.deepEqual(
      { ...facts },
      { seriesId: "s", originSlot: 7, modelVersion: "persistence-1", channels: 2, horizon: 3, levels },
    );
    const stored = Array.from({ length: 18 }, (_, i) => bytes.readFloatLE(4 * i));
    const relative = quantiles.flatMap((values) => values.map((value, o) => value - (o < 3 ? 10 : 20)));
    assert.deepEqual(stored, relative);
  });

  test("another version deletes what was kept of the one before", () => {
    const { book, live, valueByKey } = begun();
    live.publish(windowAt(5), forecastOf(windowAt(5), [0, 1, 2], "v2"), servingOf("v2"));
    write(book, valueByKey);
    assert.deepEqual([...valueByKey.keys()].sort(), ["s#f0", "s#live"]);
    assert.equal(keptCodec.decode(valueByKey.get("s#f0") as Buffer).modelVersion, "v2");
  });

  test("scores can be read from the stored state alone", () => {
    const { live, valueByKey } = begun();
    assert.deepEqual(storedScores(readState(valueByKey.get("s#live") as Buffer, "s#live")), live.scores());
    const book = bookOf();
    book.of("s").life = unborn;
    assert.equal(storedScores(readState(book.takeChanges()[0].value as Buffer, "s#live")), null);
  });
});

describe("restore", () => {
  test("brings back scores, kept forecasts, calibration and life", async () => {
    const { live, book, valueByKey } = begun();
    live.life = {
      ...{ phase: "drifting", sinceMs: 5, restsUntilMs: 6, driftSinceMs: 7, requestId: "r", verdict: "why" },
      probation: { predecessorMase: 0.5, sinceMs: 8 },
    };
    write(book, valueByKey);
    const restored = bookOf({ calibration: { enabled: true, publishRaw: false } });
    assert.deepEqual(await restore(restored, valueByKey), { states: 1, forecasts: 5, passedOver: 0 });
    assert.deepEqual(restored.takeChanges(), []);
    const again = restored.of("s");
    assert.deepEqual(again.life, live.life);
    assert.deepEqual([...restored.ids()], ["s"]);
    for (const one of [live, again]) one.place(placementAt(5, [1002]));
    assert.deepEqual(again.scores(), live.scores());
    assert.ok(live.cappedMase !== null && again.cappedMase === live.cappedMase);
    const publish = (one: typeof live) =>
      one.publish(windowAt(5, [1000]), forecastOf(windowAt(5, [1000]), [999, 1000, 1001]), servingOf("v1"));
    assert.deepEqual(publish(again), publish(live));
    assert.deepEqual(restored.takeChanges(), book.takeChanges());
  });

  test("a series that only has a life keeps it", async () => {
    const book = bookOf();
    book.of("cohort:x").life = { ...unborn, phase: "training", requestId: "r" };
    const valueByKey = new Map<string, Buffer>();
    write(book, valueByKey);
    const restored = bookOf();
    assert.deepEqual(await restore(restored, valueByKey), { states: 1, forecasts: 0, passedOver: 0 });
    assert.equal(restored.get("cohort:x")?.life.requestId, "r");
    assert.equal(restored.get("cohort:x")?.version, null);
  });

  for (const [what, changes, isAnew] of [
    ["levels", { levels: [0.2, 0.5, 0.8] }, false],
    ["fewer levels", { levels: [0.1, 0.9] }, false],
    ["horizon", { settingsOf: () => ({ ...settings, horizon: 4 }) }, false],
    ["grid", {}, true],
  ] as const) {
    test(`with another ${what} only the life is kept, and what was kept is deleted from the topic`, async () => {
      const { live, book, valueByKey } = begun();
      live.life = { ...unborn, phase: "champion" };
      write(book, valueByKey);
      const restored = bookOf(changes);
      const report = await restore(restored, valueByKey, isAnew);
      assert.deepEqual(report, { states: 1, forecasts: 5, passedOver: 6 });
      const again = restored.of("s");
      assert.deepEqual(
        [again.life.phase, again.scores(), again.place(placementAt(5, [0]))],
        ["champion", null, 0],
      );
      write(restored, valueByKey);
      assert.deepEqual([...valueByKey.keys()], ["s#live"]);
    });
  }

  test("a place beyond those there can be is let go", async () => {
    const { valueByKey } = begun();
    valueByKey.set("s#f999999999", valueByKey.get("s#f0") as Buffer);
    const restored = bookOf();
    assert.equal((await restore(restored, valueByKey)).passedOver, 1);
    write(restored, valueByKey);
    assert.equal(valueByKey.has("s#f999999999"), false);
  });

  test("calibration that was off when the state was stored begins to learn", async () => {
    const { valueByKey } = begun(bookOf());
    const restored = bookOf({ calibration: { enabled: true, publishRaw: false } });
    await restore(restored, valueByKey);
    const live = restored.of("s");
    assert.equal(live.tenure?.calibrator?.learntSteps, 0);
    live.place(placementAt(5, [0]));
    assert.equal(live.tenure?.calibrator?.learntSteps, 3);
  });

  test("a record that contradicts itself is refused by its key", async () => {
    const { valueByKey } = begun();
    const state = stateCodec.decode(valueByKey.get("s#live") as Buffer);
    const kept = keptCodec.decode(valueByKey.get("s#f0") as Buffer);
    const broken: readonly (readonly [string, Buffer])[] = [
      ["s#live", stateCodec.encode({ ...state, sums: state.sums.subarray(8) })],
      ["s#live", stateCodec.encode({ ...state, calibration: Buffer.alloc(3) })],
      ["s#live", stateCodec.encode({ ...state, naiveErrors: [0] })],
      ["s#live", Buffer.from("nonsense")],
      ["t#live", stateCodec.encode(state)],
      ["s#f0", keptCodec.encode({ ...kept, quantiles: kept.quantiles.subarray(4) })],
      ["s#f0", keptCodec.encode({ ...kept, horizon: 0, quantiles: Buffer.alloc(0) })],
      ["s#f0", Buffer.alloc(20)],
      ["s#what", Buffer.alloc(20)],
    ];
    for (const [key, value] of broken) {
      await assert.rejects(
        restore(bookOf(), new Map([...valueByKey, [key, value]])),
        { code: "STATE_CORRUPT", message: new RegExp(`^${key} there`) },
        key,
      );
    }
  });
});
