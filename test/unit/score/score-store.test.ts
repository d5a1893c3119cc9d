import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { avroCodec } from "../../../src/log/codec/avro.ts";
import { newLife } from "../../../src/models/life.ts";
import { readState, storedScores } from "../../../src/score/score-records.ts";
import { restoreScores, type ScoreStore } from "../../../src/score/score-store.ts";
import { cellsOf } from "./cells-of.ts";
import { playStored, storedBase64, twoChannelForecastAt } from "./earlier-version.ts";
import {
  forecastAt,
  forecastOf,
  placementAt,
  scoreStoreOf,
  servingOf,
  settings,
  windowAt,
} from "./fixtures.ts";

const stateCodec = avroCodec("LiveState");
const keptCodec = avroCodec("KeptForecast");

/** Writes the changes to the topic. */
function write(scoreStore: ScoreStore, valueByKey: Map<string, Buffer>): void {
  for (const { key, value } of scoreStore.takeChanges()) {
    if (value === null) valueByKey.delete(key);
    else valueByKey.set(key, value);
  }
}

const restore = (scoreStore: ScoreStore, valueByKey: ReadonlyMap<string, Buffer>, isRestarted = false) =>
  restoreScores(scoreStore, new Map(valueByKey), {
    where: (key) => `${key} there`,
    isRestarted: () => isRestarted,
    pastOf: () => null,
  });

const calibrated = { calibration: { enabled: true, publishRaw: false } };
const nothing = { series: 0, forecasts: 0 };

/** Five forecasts, four of them scored by a step or more. */
function begun(scoreStore = scoreStoreOf(calibrated)) {
  const live = scoreStore.of("s");
  for (let slot = 0; slot < 5; slot++) {
    if (slot > 0) live.score(placementAt(slot, [1000 + slot]));
    live.publish(forecastOf(windowAt(slot, [1000]), [999, 1000, 1001]), servingOf("v1"));
  }
  const valueByKey = new Map<string, Buffer>();
  write(scoreStore, valueByKey);
  return { scoreStore, live, valueByKey };
}

describe("changes", () => {
  test("a pending forecast is written once, and the state after twelve slots", () => {
    const { scoreStore, live, valueByKey } = begun();
    const changedKeys = () => scoreStore.takeChanges().map(({ key }) => key);
    assert.deepEqual([...valueByKey.keys()], ["s#f0", "s#f1", "s#f2", "s#f3", "s#f4", "s#live"]);
    assert.deepEqual(changedKeys(), []);
    for (let slot = 5; slot <= 15; slot++) {
      live.score(placementAt(slot, [1]));
      assert.deepEqual(changedKeys(), [], `slot ${slot}`);
      live.publish(forecastAt(slot, [0, 1, 2]), servingOf("v1"));
      assert.deepEqual(changedKeys(), [`s#f${slot % 15}`]);
    }
    live.score(placementAt(16, [1]));
    assert.deepEqual(changedKeys(), ["s#live"]);
  });

  test("the state is written at once when a slot was scored out of its turn, or its value has changed", () => {
    for (const unusual of [placementAt(5, [3]), { ...placementAt(6, [5]), replaced: [4] }]) {
      const { scoreStore, live } = begun();
      live.score(placementAt(6, [4]));
      assert.deepEqual(scoreStore.takeChanges(), []);
      live.score(unusual);
      assert.deepEqual(
        scoreStore.takeChanges().map(({ key }) => key),
        ["s#live"],
      );
    }
  });

  test("the record of a pending forecast has its origin, version and relative quantiles", () => {
    const scoreStore = scoreStoreOf();
    const window = windowAt(7, [10, 20]);
    const quantiles = [0, 1, 2].map((l) => [1, 2, 3, 4, 5, 6].map((output) => 100 * l + output));
    scoreStore.of("s").publish(forecastOf(window, quantiles, "persistence-1"), servingOf("v1", [1, 1]));
    const [{ value }] = scoreStore.takeChanges();
    const { originSlot, modelVersion, cells } = keptCodec.decode(value as Buffer);
    assert.deepEqual([originSlot, modelVersion, cells.length], [7, "persistence-1", 16 + 6 * 5]);
    const { numbers } = cellsOf(cells, { horizon: 3, channels: 2, levels: 3, median: 1 });
    for (const l of [0, 1, 2])
      assert.deepEqual(
        numbers[l],
        quantiles[l].map((quantile, o) => quantile - (o < 3 ? 10 : 20)),
      );
  });

  test("a new version deletes the pending forecasts of the version before", () => {
    const { scoreStore, live, valueByKey } = begun();
    live.publish(forecastAt(5, [0, 1, 2], "v2"), servingOf("v2"));
    write(scoreStore, valueByKey);
    assert.deepEqual([...valueByKey.keys()].sort(), ["s#f5", "s#live"]);
    assert.equal(stateCodec.decode(valueByKey.get("s#live") as Buffer).modelVersion, "v2");
  });

  test("storedScores reads the scores from the stored state alone", () => {
    const { live, valueByKey } = begun();
    assert.deepEqual(storedScores(readState(valueByKey.get("s#live") as Buffer, "s#live")), live.scores());
    const scoreStore = scoreStoreOf();
    scoreStore.of("s").life = newLife;
    assert.equal(storedScores(readState(scoreStore.takeChanges()[0].value as Buffer, "s#live")), null);
  });
});

describe("restore", () => {
  test("restore brings back scores, pending forecasts, calibration and life", async () => {
    const { live, scoreStore, valueByKey } = begun();
    live.life = {
      phase: "drifting",
      sinceMs: 5,
      restsUntilMs: 6,
      driftSinceMs: 7,
      requestId: "r",
      probation: { predecessorMase: 0.5, sinceMs: 8 },
      competedMs: 9,
      verdict: "why",
    };
    write(scoreStore, valueByKey);
    const restored = scoreStoreOf(calibrated);
    const report = await restore(restored, valueByKey);
    assert.deepEqual(report, { stored: { series: 1, forecasts: 5 }, dropped: nothing });
    assert.deepEqual(restored.takeChanges(), []);
    const again = restored.of("s");
    assert.deepEqual(again.life, live.life);
    assert.deepEqual([...restored.ids()], ["s"]);
    for (const one of [live, again]) one.score(placementAt(5, [1002]));
    assert.deepEqual(again.scores(), live.scores());
    assert.ok(live.cappedMase !== null && again.cappedMase === live.cappedMase);
    const publish = (one: typeof live) =>
      one.publish(forecastOf(windowAt(5, [1000]), [999, 1000, 1001]), servingOf("v1"));
    assert.deepEqual(publish(again), publish(live));
    assert.deepEqual(restored.takeChanges(), scoreStore.takeChanges());
  });

  test("a series that has only a life keeps it", async () => {
    const scoreStore = scoreStoreOf();
    scoreStore.of("cohort:x").life = { ...newLife, phase: "training", requestId: "r" };
    const valueByKey = new Map<string, Buffer>();
    write(scoreStore, valueByKey);
    const restored = scoreStoreOf();
    const report = await restore(restored, valueByKey);
    assert.deepEqual(report, { stored: { series: 1, forecasts: 0 }, dropped: nothing });
    assert.equal(restored.get("cohort:x")?.life.requestId, "r");
    assert.equal(restored.get("cohort:x")?.version, null);
  });

  for (const [what, changes, isRestarted] of [
    ["levels", { levels: [0.2, 0.5, 0.8] }, false],
    ["fewer levels", { levels: [0.1, 0.9] }, false],
    ["horizon", { settingsOf: () => ({ ...settings, horizon: 4 }) }, false],
    ["grid", {}, true],
  ] as const) {
    test(`another ${what} drops scores and pending forecasts, keeps the life, and cleans the topic`, async () => {
      const { live, scoreStore, valueByKey } = begun();
      live.life = { ...newLife, phase: "champion" };
      write(scoreStore, valueByKey);
      const restored = scoreStoreOf(changes);
      const { stored, dropped } = await restore(restored, valueByKey, isRestarted);
      assert.deepEqual(stored, { series: 1, forecasts: 5 });
      assert.deepEqual(dropped, isRestarted ? nothing : stored, "a restarted series is reported elsewhere");
      const again = restored.of("s");
      assert.deepEqual(
        [again.life.phase, again.scores(), again.score(placementAt(5, [0]))],
        ["champion", null, 0],
      );
      write(restored, valueByKey);
      assert.deepEqual([...valueByKey.keys()], ["s#live"]);
    });
  }

  test("a pending forecast in the row of another one moves to its own", async () => {
    const { valueByKey } = begun();
    const expected = new Map(valueByKey);
    valueByKey.set("s#f999999999", valueByKey.get("s#f3") as Buffer);
    valueByKey.delete("s#f3");
    const restored = scoreStoreOf(calibrated);
    assert.deepEqual((await restore(restored, valueByKey)).dropped, nothing);
    write(restored, valueByKey);
    assert.deepEqual(new Map([...valueByKey].sort()), new Map([...expected].sort()));
  });

  test("state of an earlier version, with one sum more, is restored, and its calibration learns on", async () => {
    const valueByKey = new Map(storedBase64.map(([key, base64]) => [key, Buffer.from(base64, "base64")]));
    const stored = stateCodec.decode(valueByKey.get("s#live") as Buffer);
    const [played, restored] = [scoreStoreOf(calibrated), scoreStoreOf(calibrated)];
    playStored(played);
    const [before] = played.takeChanges().filter(({ key }) => key === "s#live");
    assert.equal(
      stateCodec.decode(before.value as Buffer).sums.length,
      stored.sums.length - 8,
      "the new state has one sum less",
    );
    const report = await restore(restored, valueByKey);
    assert.deepEqual(report, { stored: { series: 1, forecasts: 5 }, dropped: nothing });
    assert.deepEqual(restored.of("s").scores(), {
      mase: 2.2389625903087755,
      crps: 2.192771441729406,
      coverage: [{ stated: 0.8, observed: 0.14212444851280132 }],
      scoredSteps: 4,
    });
    const calibrator = restored.of("s").period?.calibrator;
    const learnt = Buffer.from(calibrator?.state.slice().buffer as ArrayBuffer);
    const earlier = stored.calibration.length;
    assert.deepEqual(learnt.subarray(0, earlier), stored.calibration);
    assert.ok(
      learnt.subarray(earlier).every((byte) => byte === 0),
      "what the earlier version did not learn is zero",
    );
    const [expected, published] = [played, restored].map((scoreStore) => {
      const live = scoreStore.of("s");
      live.score(placementAt(5, [1003, 17]));
      return live.publish(twoChannelForecastAt(5), servingOf("v1", [1, 2]));
    });
    assert.equal(published.scores?.mase, expected.scores?.mase);
    assert.deepEqual(published.calibration, expected.calibration, "the same number of steps was learnt from");
  });

  test("pending forecasts that an earlier version stored as 16-bit codes are scored like those of this one", async () => {
    const { live, valueByKey } = begun();
    for (const [key, value] of valueByKey) {
      if (key === "s#live") continue;
      const { originSlot } = keptCodec.decode(value);
      // The quantiles were calibrated from the second forecast on, so they are read from the cells.
      const { numbers } = cellsOf(keptCodec.decode(value).cells, {
        horizon: 3,
        channels: 1,
        levels: 3,
        median: 1,
      });
      const codes = Buffer.alloc(2 * 9);
      for (const [l, row] of numbers.entries())
        for (const [h, number] of row.entries())
          codes.writeUInt16LE(Math.round((number + 32) * 1024), 2 * (3 * h + l));
      const scales = Buffer.alloc(16);
      scales.writeDoubleLE(-32, 0);
      scales.writeDoubleLE(1 / 1024, 8);
      const earlier = { modelVersion: "", scales, codes, quantiles: Buffer.alloc(0), cells: Buffer.alloc(0) };
      valueByKey.set(key, keptCodec.encode({ originSlot, ...earlier }));
    }
    const restored = scoreStoreOf(calibrated);
    const report = await restore(restored, valueByKey);
    assert.deepEqual(report, { stored: { series: 1, forecasts: 5 }, dropped: nothing });
    const again = restored.of("s");
    for (const one of [live, again]) assert.equal(one.score(placementAt(5, [1002.5])), 3);
    const [expected, found] = [live.scores(), again.scores()];
    assert.ok(expected !== null && found !== null);
    assert.ok(Math.abs(found.mase - expected.mase) < 1e-3, `${found.mase} instead of ${expected.mase}`);
    assert.deepEqual(found.coverage, expected.coverage);
  });

  test("calibration that was off when the state was stored starts to learn", async () => {
    const { valueByKey } = begun(scoreStoreOf());
    const restored = scoreStoreOf(calibrated);
    await restore(restored, valueByKey);
    const live = restored.of("s");
    assert.equal(live.period?.calibrator?.learntSteps, 0);
    live.score(placementAt(5, [0]));
    assert.equal(live.period?.calibrator?.learntSteps, 3);
  });

  test("a record that contradicts itself is refused with its key in the message", async () => {
    const { valueByKey } = begun();
    const state = stateCodec.decode(valueByKey.get("s#live") as Buffer);
    const pending = keptCodec.decode(valueByKey.get("s#f0") as Buffer);
    const alone = { ...pending, cells: Buffer.alloc(0) };
    const broken: readonly (readonly [string, Buffer])[] = [
      ["s#live", stateCodec.encode({ ...state, sums: state.sums.subarray(8) })],
      ["s#live", stateCodec.encode({ ...state, calibration: Buffer.alloc(3) })],
      ["s#live", stateCodec.encode({ ...state, naiveErrors: [0] })],
      ["s#live", Buffer.from("nonsense")],
      ["t#live", stateCodec.encode(state)],
      ["s#f0", keptCodec.encode({ ...pending, cells: Buffer.alloc(0) })],
      ["s#f0", keptCodec.encode({ ...pending, quantiles: Buffer.alloc(8) })],
      ["s#f0", keptCodec.encode({ ...pending, codes: Buffer.alloc(8), scales: Buffer.alloc(16) })],
      ["s#f0", keptCodec.encode({ ...alone, codes: Buffer.alloc(7), scales: Buffer.alloc(16) })],
      ["s#f0", keptCodec.encode({ ...alone, scales: Buffer.alloc(16) })],
      ["s#f0", keptCodec.encode({ ...alone, codes: Buffer.alloc(8), scales: Buffer.alloc(8) })],
      ["s#f0", keptCodec.encode({ ...alone, quantiles: Buffer.alloc(7) })],
      ["s#f0", Buffer.alloc(20)],
      ["s#what", Buffer.alloc(20)],
    ];
    for (const [key, value] of broken) {
      await assert.rejects(
        restore(scoreStoreOf(), new Map([...valueByKey, [key, value]])),
        { code: "STATE_CORRUPT", message: new RegExp(`^${key} there`) },
        key,
      );
    }
  });
});
