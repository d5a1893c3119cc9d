// The records of the state topic are written by hand, for speed: they must be what avsc writes of the same facts.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { avroCodec } from "../../../../src/log/codec/avro.ts";
import type { PhaseSymbol } from "../../../../src/log/codec/schemas.generated.ts";
import type { LifeFacts, Phase } from "../../../../src/retrain/life.ts";
import type { LiveBook } from "../../../../src/retrain/live/live-book.ts";
import type { SeriesLive } from "../../../../src/retrain/live/series-live.ts";
import { bookOf, forecastOf, levels, placementAt, servingOf, windowAt } from "./fixtures.ts";

const stateCodec = avroCodec("LiveState");
const keptCodec = avroCodec("KeptForecast");

const phases: readonly Phase[] = ["cold", "training", "champion", "drifting"];
const anyMs = fc.integer({ min: -(10 ** 13), max: 10 ** 13 });
const anyLife: fc.Arbitrary<LifeFacts> = fc.record({
  phase: fc.constantFrom(...phases),
  sinceMs: anyMs,
  restsUntilMs: anyMs,
  driftSinceMs: fc.option(anyMs),
  requestId: fc.option(fc.string({ unit: "grapheme", maxLength: 100 })),
  probation: fc.option(fc.record({ predecessorMase: fc.option(fc.double()), sinceMs: anyMs })),
  verdict: fc.option(fc.string({ unit: "grapheme", maxLength: 300 })),
});

function newestOf(book: LiveBook, key: string): Buffer {
  const record = book.takeChanges().find((one) => one.key === key);
  assert.ok(record?.value, `${key} was not written`);
  return record.value;
}

const bytesOf = (numbers: Float32Array | Float64Array) => Buffer.from(numbers.slice().buffer);

/** What the state of a series should read as. */
function stateBy(live: SeriesLive): Buffer {
  const { tenure, life, seriesId } = live;
  const { probation } = life;
  const rolling = tenure?.rolling;
  const sums = [
    ...(rolling?.sums ?? []),
    ...(tenure?.frame.base ?? []),
    ...(tenure ? [tenure.frame.errorCap] : []),
  ];
  return stateCodec.encode({
    seriesId,
    modelVersion: tenure?.frame.version ?? "",
    naiveErrors: tenure?.frame.naiveErrors ?? [],
    levels: tenure === null ? [] : levels,
    horizon: tenure?.frame.horizon ?? 0,
    newestSlot: live.scoredSlots === 0 ? 0 : (rolling?.newestSlot ?? 0),
    scoredSlots: live.scoredSlots,
    sums: bytesOf(Float64Array.from(sums)),
    learntSteps: tenure?.calibrator?.learntSteps ?? 0,
    calibration: bytesOf(tenure?.calibrator?.state ?? new Float32Array(0)),
    phase: life.phase.toUpperCase() as PhaseSymbol,
    phaseSince: life.sinceMs,
    restsUntil: life.restsUntilMs,
    driftSince: life.driftSinceMs,
    requestId: life.requestId,
    probation: probation && { predecessorMase: probation.predecessorMase, since: probation.sinceMs },
    verdict: life.verdict,
  });
}

/** Two channels, so that nothing is right by chance. */
function publish(live: SeriesLive, slot: number, version = "v1"): void {
  const window = { ...windowAt(slot, [100, 7]), seriesId: live.seriesId };
  const quantiles = [0, 1, 2].map((l) => [1, 2, 3, 4, 5, 6].map((o) => slot + l + o / 8));
  live.publish(window, forecastOf(window, quantiles, version), servingOf("v1", [2, 0.3]));
}

describe("a live state is what avsc writes of it", () => {
  test("whatever life the series has, and without a forecast", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 90 }), anyLife, (seriesId, life) => {
        const book = bookOf();
        const live = book.of(seriesId);
        live.life = life;
        assert.deepEqual(newestOf(book, `${seriesId}#live`), stateBy(live));
      }),
    );
  });

  for (const enabled of [true, false]) {
    test(`from its first forecast on, ${enabled ? "calibrated" : "as forecast"}`, () => {
      const book = bookOf({ calibration: { enabled, publishRaw: false } });
      const live = book.of("s");
      for (let slot = -2; slot < 8; slot++) {
        live.place(placementAt(slot, [100 + slot, 6.5]));
        publish(live, slot);
        live.life = { ...live.life, sinceMs: slot };
        assert.deepEqual(newestOf(book, "s#live"), stateBy(live));
      }
      assert.ok(live.scoredSlots > 5);
      assert.equal((live.tenure?.calibrator?.learntSteps ?? 0) > 20, enabled);
    });
  }
});

describe("a kept forecast is what avsc writes of it", () => {
  test("one of the version in force, and one that stands in for it", () => {
    const book = bookOf();
    const live = book.of("s");
    for (const [slot, version] of [
      [-4, "v1"],
      [2 ** 40, "persistence-1"],
    ] as const) {
      publish(live, slot, version);
      const quantiles = [0, 1, 2].flatMap((l) =>
        [1, 2, 3, 4, 5, 6].map((o) => slot + l + o / 8 - (o <= 3 ? 100 : 7)),
      );
      const facts = {
        seriesId: "s",
        originSlot: slot,
        modelVersion: version,
        channels: 2,
        horizon: 3,
        levels,
      };
      const expected = keptCodec.encode({ ...facts, quantiles: bytesOf(Float32Array.from(quantiles)) });
      assert.deepEqual(newestOf(book, "s#f0"), expected);
    }
  });

  test("several of one batch, each in its place", () => {
    const book = bookOf();
    const live = book.of("s");
    for (const slot of [0, 1, 2, 3, 4, 5, 6]) publish(live, slot);
    const origins = book.takeChanges().flatMap(({ key, value }) => {
      if (value === null || !key.startsWith("s#f")) return [];
      const decoded = keptCodec.decode(value);
      assert.deepEqual(value, keptCodec.encode(decoded));
      assert.equal(decoded.quantiles.readFloatLE(0), decoded.originSlot + 1 / 8 - 100);
      return [`${key} ${decoded.originSlot}`];
    });
    assert.deepEqual(origins, ["s#f0 5", "s#f1 6", "s#f2 2", "s#f3 3", "s#f4 4"]);
  });

  test("not one of a version that has gone within the batch", () => {
    const book = bookOf();
    const live = book.of("s");
    publish(live, 0);
    publish(live, 1);
    const window = windowAt(2, [0, 0]);
    live.publish(window, forecastOf(window, [0, 1, 2], "v2"), servingOf("v2", [1, 1]));
    const kept = book.takeChanges().filter(({ key }) => key !== "s#live");
    assert.deepEqual(
      kept.map(({ key, value }) => [key, value && keptCodec.decode(value).modelVersion]),
      [
        ["s#f0", "v2"],
        ["s#f1", null],
      ],
    );
  });
});
