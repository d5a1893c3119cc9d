// The records of the state topic, written by the generated writers: they must equal what avsc writes of the same facts.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { avroCodec } from "../../../src/log/codec/avro.ts";
import type { PhaseSymbol } from "../../../src/log/codec/schemas.generated.ts";
import type { Life, Phase } from "../../../src/models/life.ts";
import { liveKey, pendingKey, readStateKey } from "../../../src/score/score-records.ts";
import type { ScoreStore } from "../../../src/score/score-store.ts";
import type { SeriesScores } from "../../../src/score/series-scores.ts";
import { cellsOf } from "./cells-of.ts";
import { forecastOf, levels, placementAt, scoreStoreOf, servingOf, windowAt } from "./fixtures.ts";

const stateCodec = avroCodec("LiveState");
const keptCodec = avroCodec("KeptForecast");

const phases: readonly Phase[] = ["cold", "training", "champion", "drifting"];
const anyMs = fc.integer({ min: -(10 ** 13), max: 10 ** 13 });
const anyLife: fc.Arbitrary<Life> = fc.record({
  phase: fc.constantFrom(...phases),
  sinceMs: anyMs,
  restsUntilMs: anyMs,
  driftSinceMs: fc.option(anyMs),
  requestId: fc.option(fc.string({ unit: "grapheme", maxLength: 100 })),
  probation: fc.option(fc.record({ predecessorMase: fc.option(fc.double()), sinceMs: anyMs })),
  competedMs: fc.option(anyMs),
  verdict: fc.option(fc.string({ unit: "grapheme", maxLength: 300 })),
});

function newestOf(scoreStore: ScoreStore, key: string): Buffer {
  const record = scoreStore.takeChanges().find((one) => one.key === key);
  assert.ok(record?.value, `${key} was not written`);
  return record.value;
}

const bytesOf = (numbers: Float32Array | Float64Array) => Buffer.from(numbers.slice().buffer);

/** The state of a series as avsc writes it. */
function stateBy(live: SeriesScores): Buffer {
  const { period, life, seriesId } = live;
  const { probation } = life;
  const rolling = period?.rolling;
  const sums = [
    ...(rolling?.sums ?? []),
    ...(period?.frame.base ?? []),
    ...(period ? [period.frame.errorCap] : []),
  ];
  return stateCodec.encode({
    seriesId,
    modelVersion: period?.frame.version ?? "",
    naiveErrors: period?.frame.naiveErrors ?? [],
    levels: period === null ? [] : levels,
    horizon: period?.frame.horizon ?? 0,
    newestSlot: live.scoredSlots === 0 ? 0 : (rolling?.newestSlot ?? 0),
    scoredSlots: live.scoredSlots,
    sums: bytesOf(Float64Array.from(sums)),
    learntSteps: period?.calibrator?.learntSteps ?? 0,
    calibration: bytesOf(period?.calibrator?.state ?? new Float32Array(0)),
    phase: life.phase.toUpperCase() as PhaseSymbol,
    phaseSince: life.sinceMs,
    restsUntil: life.restsUntilMs,
    driftSince: life.driftSinceMs,
    requestId: life.requestId,
    probation: probation && { predecessorMase: probation.predecessorMase, since: probation.sinceMs },
    competedAt: life.competedMs,
    verdict: life.verdict,
  });
}

/** Two channels, so that no order is right by chance. */
function publish(live: SeriesScores, slot: number, version = "v1"): void {
  const window = { ...windowAt(slot, [100, 7]), seriesId: live.seriesId };
  const quantiles = [0, 1, 2].map((l) => [1, 2, 3, 4, 5, 6].map((o) => slot + l + o / 8));
  live.publish(forecastOf(window, quantiles, version), servingOf("v1", [2, 0.3]));
}

describe("live states", () => {
  test("the state of a series without a forecast equals what avsc writes, whatever its life", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 90 }), anyLife, (seriesId, life) => {
        const scoreStore = scoreStoreOf();
        const live = scoreStore.of(seriesId);
        live.life = life;
        assert.deepEqual(newestOf(scoreStore, `${seriesId}#live`), stateBy(live));
      }),
    );
  });

  for (const enabled of [true, false]) {
    test(`the state of a series with forecasts equals what avsc writes, ${enabled ? "with" : "without"} calibration`, () => {
      const scoreStore = scoreStoreOf({ calibration: { enabled, publishRaw: false } });
      const live = scoreStore.of("s");
      for (let slot = -2; slot < 8; slot++) {
        live.score(placementAt(slot, [100 + slot, 6.5]));
        publish(live, slot);
        live.life = { ...live.life, sinceMs: slot };
        assert.deepEqual(newestOf(scoreStore, "s#live"), stateBy(live));
      }
      assert.ok(live.scoredSlots > 5);
      assert.equal((live.period?.calibrator?.learntSteps ?? 0) > 20, enabled);
    });
  }
});

describe("pending forecasts", () => {
  test("a forecast of the current version, and one that stands in for it, equal what avsc writes", () => {
    const scoreStore = scoreStoreOf();
    const live = scoreStore.of("s");
    for (const [slot, version] of [
      [-4, "v1"],
      [2 ** 40, "persistence-1"],
    ] as const) {
      publish(live, slot, version);
      const row = live.period?.pending.rowOf(slot) ?? -1;
      const stored = newestOf(scoreStore, `s#f${row}`) as Buffer;
      const record = keptCodec.decode(stored);
      assert.deepEqual(stored, keptCodec.encode(record));
      assert.deepEqual([record.originSlot, record.modelVersion], [slot, version === "v1" ? "" : version]);
      assert.equal(record.quantiles.length, 0);
      for (const h of [0, 1, 2]) {
        for (const c of [0, 1]) {
          for (const l of [0, 1, 2]) {
            const expected = slot + l + (3 * c + h + 1) / 8 - (c === 0 ? 100 : 7);
            const { numbers, unit } = cellsOf(record.cells, {
              horizon: 3,
              channels: 2,
              levels: 3,
              median: 1,
            });
            assert.ok(Math.abs(numbers[l][3 * c + h] - Math.fround(expected)) <= 256 * unit[c]);
          }
        }
      }
    }
  });

  test("of many forecasts of one batch, those that can be scored are written, each in its row", () => {
    const scoreStore = scoreStoreOf();
    const live = scoreStore.of("s");
    for (let slot = 0; slot <= 22; slot++) publish(live, slot);
    const origins = scoreStore.takeChanges().flatMap(({ key, value }) => {
      if (value === null || !key.startsWith("s#f")) return [];
      const decoded = keptCodec.decode(value);
      assert.deepEqual(value, keptCodec.encode(decoded));
      const { numbers, unit } = cellsOf(decoded.cells, { horizon: 3, channels: 2, levels: 3, median: 1 });
      assert.ok(Math.abs(numbers[1][0] - (decoded.originSlot + 1 + 1 / 8 - 100)) <= unit[0] / 2);
      return [`${key} ${decoded.originSlot}`];
    });
    assert.deepEqual(
      origins.sort(),
      [3, 4, 5, 6, 7].map((row) => `s#f${row} ${row + 15}`),
    );
  });

  test("a forecast of a version that was replaced within the batch is not written", () => {
    const scoreStore = scoreStoreOf();
    const live = scoreStore.of("s");
    publish(live, 0);
    publish(live, 1);
    const window = windowAt(2, [0, 0]);
    live.publish(forecastOf(window, [0, 1, 2], "v2"), servingOf("v2", [1, 1]));
    const pending = scoreStore.takeChanges().filter(({ key }) => key !== "s#live");
    assert.deepEqual(
      pending.map(({ key, value }) => [key, value && keptCodec.decode(value).modelVersion]),
      [
        ["s#f0", null],
        ["s#f1", null],
        ["s#f2", ""],
      ],
    );
  });
});

describe("keys on the state topic", () => {
  test("a key is read by what follows its last #, whatever the id of the series", () => {
    for (const seriesId of ["s", "", "a#live", "b#f3", "c#7", "#"]) {
      assert.deepEqual(readStateKey(liveKey(seriesId)), { kind: "live", seriesId });
      assert.deepEqual(readStateKey(pendingKey(seriesId, 12)), { kind: "pending", seriesId, row: 12 });
    }
  });

  test("a key of another kind reads as null", () => {
    for (const key of ["s", "s#3", "s#f", "s#f-1", "s#fx", "s#Live", "s#f1e3", "s#f9999999999"])
      assert.equal(readStateKey(key), null, key);
  });
});
