import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { errorCapOf } from "../../../../src/retrain/drift.ts";
import { unborn } from "../../../../src/retrain/life.ts";
import { bookOf, forecastOf, placementAt, servingOf, windowAt } from "./fixtures.ts";

const near = (actual: number | undefined, expected: number) =>
  assert.ok(
    actual !== undefined && Math.abs(actual - expected) <= 1e-6 * Math.max(1, Math.abs(expected)),
    `${actual}, expected ${expected}`,
  );

describe("scoring", () => {
  test("an observation scores its step in every forecast that foresaw it", () => {
    const live = bookOf().of("s");
    live.publish(windowAt(0), forecastOf(windowAt(0), [-1, [1, 2, 3], 9]), servingOf("v1"));
    live.publish(windowAt(1), forecastOf(windowAt(1), [-1, [4, 5, 6], 9]), servingOf("v1"));
    assert.equal(live.scores(), null);
    assert.equal(live.place(placementAt(2, [10])), 2);
    // Step 2 of the first forecast said 2, step 1 of the second 4.
    near(live.scores()?.mase, (8 + 6) / 2);
    assert.deepEqual(live.scores()?.coverage, [{ stated: 0.8, observed: 0 }]);
    assert.equal(live.scores()?.scoredSteps, 1);
    assert.equal(live.place(placementAt(4, [6])), 1);
    assert.equal(live.place(placementAt(5, [6])), 0);
    assert.equal(live.scoredSlots, 2);
  });

  test("a forecast tells the scores of all that came before it", () => {
    const live = bookOf().of("s");
    const publish = (slot: number) =>
      live.publish(windowAt(slot), forecastOf(windowAt(slot), [0, 1, 2]), servingOf("v1"));
    assert.equal(publish(0).scores, null);
    live.place(placementAt(1, [3]));
    const { scores, quantiles, id } = publish(1);
    near(scores?.mase, 2);
    assert.equal(id, "s@1/v1");
    assert.deepEqual(quantiles, forecastOf(windowAt(1), [0, 1, 2]).quantiles);
  });

  test("errors are divided by the naive errors of the serving model, channel by channel", () => {
    const live = bookOf().of("s");
    const window = windowAt(0, [0, 0]);
    live.publish(window, forecastOf(window, [0, 0, 0]), servingOf("v1", [2, 10]));
    live.place(placementAt(1, [6, 20]));
    near(live.scores()?.mase, (3 + 2) / 2);
    near(live.scores()?.crps, (6 + 20) / 2);
  });

  test("without a model they are divided by the naive error of the window, fixed for the version", () => {
    const live = bookOf().of("s");
    const first = { ...windowAt(0), values: Float64Array.of(0, 4, 0) };
    live.publish(first, forecastOf(first, [0, 0, 0], "persistence-1"), null);
    const second = { ...windowAt(1), values: Float64Array.of(0, 100, 0) };
    live.publish(second, forecastOf(second, [0, 0, 0], "persistence-1"), null);
    live.place(placementAt(2, [8]));
    near(live.scores()?.mase, 2);
  });

  test("a shock counts for little in the bounded MASE, which is there when the model has validated", () => {
    const live = bookOf({ rollingSteps: () => 1e6 }).of("s");
    assert.equal(live.cappedMase, null);
    live.publish(windowAt(0), forecastOf(windowAt(0), [0, 0, 0]), servingOf("v1"));
    assert.equal(live.cappedMase, null);
    live.place(placementAt(1, [1]));
    live.place(placementAt(2, [1000]));
    near(live.scores()?.mase, 1001 / 2);
    near(live.cappedMase ?? 0, (1 + errorCapOf(1)) / 2);
    live.place(placementAt(2, [2], [1000]));
    near(live.cappedMase ?? 0, 3 / 2);
    const unproven = { ...servingOf("v2"), validationMase: null };
    live.publish(windowAt(3), forecastOf(windowAt(3), [0, 0, 0], "v2"), unproven);
    live.place(placementAt(4, [1]));
    assert.equal(live.cappedMase, null);
  });

  test("a flat series that is foreseen has no error, is inside every interval, and all is finite", () => {
    const live = bookOf().of("s");
    const window = { ...windowAt(0, [5.3]), values: Float64Array.of(5.3, 5.3) };
    live.publish(window, forecastOf(window, [5.3, 5.3, 5.3], "seasonal-naive-1"), null);
    live.place(placementAt(1, [5.3]));
    const expected = { mase: 0, crps: 0, coverage: [{ stated: 0.8, observed: 1 }], scoredSteps: 1 };
    assert.deepEqual(live.scores(), expected);
    live.place(placementAt(2, [7.3]));
    assert.ok(Number.isFinite(live.scores()?.mase));
  });

  test("a value beyond single precision is scored and learnt from, and comes out again without a trace", () => {
    const live = bookOf({ calibration: { enabled: true, publishRaw: false } }).of("s");
    const publish = (slot: number) =>
      live.publish(windowAt(slot), forecastOf(windowAt(slot), [-1, 0, 1]), servingOf("v1"));
    publish(0);
    live.place(placementAt(1, [1e300]));
    assert.ok(Number.isFinite(live.scores()?.mase) && Number.isFinite(live.scores()?.crps));
    assert.ok(publish(1).quantiles.every(({ values }) => values.every(Number.isFinite)));
    live.place(placementAt(1, [0.5], [1e300]));
    near(live.scores()?.mase, 0.5);
  });

  test("a series far from zero is scored by its steps, not by the digits of its level", () => {
    const live = bookOf().of("s");
    const level = 123_456_789;
    const window = windowAt(0, [level]);
    live.publish(window, forecastOf(window, [level, level + 0.125, level + 1]), servingOf("v1"));
    live.place(placementAt(1, [level + 0.25]));
    near(live.scores()?.mase, 0.125);
    assert.equal(live.scores()?.coverage[0].observed, 1);
  });
});

describe("amendments", () => {
  const begun = () => {
    const live = bookOf().of("s");
    for (let slot = 0; slot < 4; slot++) {
      if (slot > 0) live.place(placementAt(slot, [slot === 2 ? 50 : 1]));
      live.publish(windowAt(slot), forecastOf(windowAt(slot), [-1, 0, 2]), servingOf("v1"));
    }
    return live;
  };

  test("a replaced value is scored anew in all that foresaw it", () => {
    const live = begun();
    assert.ok((live.scores()?.mase ?? 0) > 10);
    assert.equal(live.place(placementAt(2, [1], [50])), 2);
    near(live.scores()?.mase, 1);
    near(live.scores()?.coverage[0].observed, 1);
    assert.equal(live.scoredSlots, 3);
  });

  test("a value sent twice changes nothing, to the bit", () => {
    const live = begun();
    const before = live.scores();
    assert.equal(live.place(placementAt(2, [50], [50])), 0);
    assert.deepEqual(live.scores(), before);
  });

  test("a late value in a gap counts by its age, and a slot that was only filled never does", () => {
    const [gapped, whole] = [bookOf().of("s"), bookOf().of("s")];
    for (const live of [gapped, whole]) {
      live.publish(windowAt(0), forecastOf(windowAt(0), [-1, 0, 2]), servingOf("v1"));
      live.place(placementAt(1, [3]));
      if (live === whole) live.place(placementAt(2, [7]));
      live.place(placementAt(3, [1]));
    }
    assert.equal(gapped.scoredSlots, 2);
    gapped.place(placementAt(2, [7]));
    near(gapped.scores()?.mase, whole.scores()?.mase ?? 0);
    assert.equal(gapped.scoredSlots, 3);
  });

  test("a slot whose forecasts are gone changes nothing", () => {
    const live = begun();
    for (let slot = 4; slot < 30; slot++)
      live.publish(windowAt(slot), forecastOf(windowAt(slot), [-1, 0, 2]), servingOf("v1"));
    const before = live.scores();
    assert.equal(live.place(placementAt(2, [1], [50])), 0);
    assert.deepEqual(live.scores(), before);
  });
});

describe("versions", () => {
  test("another version begins anew, and forecasts of the one before no longer count", () => {
    const live = bookOf().of("s");
    live.publish(windowAt(0), forecastOf(windowAt(0), [0, 0, 0], "v1"), servingOf("v1"));
    live.place(placementAt(1, [5]));
    const { scores } = live.publish(windowAt(1), forecastOf(windowAt(1), [0, 1, 2], "v2"), servingOf("v2"));
    assert.deepEqual([scores, live.version, live.scoredSlots], [null, "v2", 0]);
    assert.equal(live.place(placementAt(2, [4])), 1);
    near(live.scores()?.mase, 3);
  });

  test("a version that comes back is not scored by what it foresaw before it went", () => {
    const live = bookOf().of("s");
    live.publish(windowAt(0), forecastOf(windowAt(0), [0, 100, 200], "v1"), servingOf("v1"));
    live.publish(windowAt(1), forecastOf(windowAt(1), [0, 0, 0], "v2"), servingOf("v2"));
    live.publish(windowAt(2), forecastOf(windowAt(2), [0, 1, 2], "v1"), servingOf("v1"));
    assert.equal(live.place(placementAt(3, [1])), 1);
    assert.equal(live.scores()?.mase, 0);
  });

  test("the cold tiers are versions of their own", () => {
    const live = bookOf().of("s");
    live.publish(windowAt(0), forecastOf(windowAt(0), [0, 0, 0], "persistence-1"), null);
    live.place(placementAt(1, [5]));
    live.publish(windowAt(1), forecastOf(windowAt(1), [0, 0, 0], "seasonal-naive-1"), null);
    assert.deepEqual([live.version, live.scores()], ["seasonal-naive-1", null]);
  });

  test("a model that takes over while a forecast is made begins with its own first one", () => {
    const live = bookOf().of("s");
    live.publish(windowAt(0), forecastOf(windowAt(0), [0, 1, 2], "v1"), servingOf("v1"));
    live.publish(windowAt(1), forecastOf(windowAt(1), [0, 1, 2], "v1"), servingOf("v2", [7]));
    assert.equal(live.version, "v1");
    live.publish(windowAt(2), forecastOf(windowAt(2), [0, 1, 2], "v2"), servingOf("v2", [7]));
    assert.deepEqual([live.version, live.tenure?.frame.naiveErrors], ["v2", [7]]);
  });

  test("a stand-in before the model's first forecast begins the time of the model", () => {
    const live = bookOf().of("s");
    live.publish(windowAt(0), forecastOf(windowAt(0), [0, 1, 2], "persistence-1"), servingOf("v1", [7]));
    assert.deepEqual([live.version, live.place(placementAt(1, [1]))], ["v1", 0]);
    assert.deepEqual(live.tenure?.frame.naiveErrors, [7]);
  });

  test("the cold tier that stands in for a model is neither scored nor corrected, and ends nothing", () => {
    const live = bookOf({ calibration: { enabled: true, publishRaw: false } }).of("s");
    const v1 = servingOf("v1");
    live.publish(windowAt(0), forecastOf(windowAt(0), [0, 1, 2], "v1"), v1);
    live.place(placementAt(1, [1]));
    const made = forecastOf(windowAt(1), [500, 500, 500], "persistence-1");
    assert.equal(live.publish(windowAt(1), made, v1), made);
    assert.equal(live.place(placementAt(2, [1])), 1);
    assert.equal(live.scores()?.mase, 0);
    assert.equal(live.version, "v1");
  });
});

describe("calibration", () => {
  const calibrated = (publishRaw: boolean) =>
    bookOf({ calibration: { enabled: true, publishRaw }, rollingSteps: () => 1e6 }).of("s");

  test("is not spoken of before it has learnt, and then says from how many steps it has", () => {
    const live = calibrated(false);
    const publish = (slot: number) =>
      live.publish(windowAt(slot, [0]), forecastOf(windowAt(slot), [-1, 0, 1]), servingOf("v1"));
    assert.equal(publish(0).calibration, null);
    live.place(placementAt(1, [5]));
    const { calibration, quantiles } = publish(1);
    assert.deepEqual(calibration, { method: "adaptive-conformal", scoredSteps: 1, rawQuantiles: [] });
    assert.deepEqual(
      quantiles.map(({ level }) => level),
      [0.1, 0.5, 0.9],
    );
  });

  test("learns until the intervals hold what they state, and what is scored is what was stated", () => {
    const live = calibrated(true);
    const random = (slot: number) => 5 * Math.sin(slot * slot * 12.9898) * Math.sin(slot * 78.233);
    let stated = [0, 0];
    let inside = 0;
    for (let slot = 0; slot < 4000; slot++) {
      if (slot > 0) live.place(placementAt(slot, [1000 + random(slot)]));
      if (slot > 2000 && random(slot) + 1000 >= stated[0] && random(slot) + 1000 <= stated[1]) inside++;
      const window = windowAt(slot, [1000]);
      const raw = forecastOf(window, [999.9, 1000, 1000.1]);
      const { quantiles, calibration } = live.publish(window, raw, servingOf("v1"));
      if (slot > 0) assert.deepEqual(calibration?.rawQuantiles, raw.quantiles);
      stated = [quantiles[0].values[0], quantiles[2].values[0]];
    }
    const coverage = inside / 1999;
    assert.ok(coverage > 0.74 && coverage < 0.86, `${coverage} of the values were inside`);
    const scored = live.scores()?.coverage[0].observed ?? 0;
    assert.ok(scored > 0.7 && scored < 0.86, `${scored} of the steps were scored as inside`);
  });

  test("does not learn again from a value that is replaced", () => {
    const live = calibrated(false);
    live.publish(windowAt(0), forecastOf(windowAt(0), [-1, 0, 1]), servingOf("v1"));
    live.place(placementAt(1, [5]));
    const learnt = live.tenure?.calibrator?.state.slice();
    live.place(placementAt(1, [-5], [5]));
    assert.deepEqual(live.tenure?.calibrator?.state, learnt);
    assert.equal(live.tenure?.calibrator?.learntSteps, 1);
  });

  test("switched off leaves the quantiles as they are", () => {
    const live = bookOf().of("s");
    live.publish(windowAt(0), forecastOf(windowAt(0), [-1, 0, 1]), servingOf("v1"));
    live.place(placementAt(1, [5]));
    const { calibration, quantiles } = live.publish(
      windowAt(1),
      forecastOf(windowAt(1), [-1, 0, 1]),
      servingOf("v1"),
    );
    assert.deepEqual([calibration, quantiles], [null, forecastOf(windowAt(1), [-1, 0, 1]).quantiles]);
  });
});

test("a life begins cold, and a change of it is stored", () => {
  const book = bookOf();
  const live = book.of("s");
  assert.equal(live.life, unborn);
  assert.deepEqual(book.takeChanges(), []);
  live.life = { ...unborn, phase: "training" };
  assert.deepEqual(
    book.takeChanges().map(({ key }) => key),
    ["s#live"],
  );
});
