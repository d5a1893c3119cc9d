import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { newLife } from "../../../src/models/life.ts";
import { errorCapOf } from "../../../src/models/scores.ts";
import { forecastAt, forecastOf, placementAt, scoreStoreOf, servingOf, windowAt } from "./fixtures.ts";

const near = (actual: number | undefined, expected: number) =>
  assert.ok(
    actual !== undefined && Math.abs(actual - expected) <= 1e-6 * Math.max(1, Math.abs(expected)),
    `${actual}, expected ${expected}`,
  );

describe("scoring", () => {
  test("an observation scores its step in every forecast that covers its slot", () => {
    const live = scoreStoreOf().of("s");
    live.publish(forecastAt(0, [-1, [1, 2, 3], 9]), servingOf("v1"));
    live.publish(forecastAt(1, [-1, [4, 5, 6], 9]), servingOf("v1"));
    assert.equal(live.scores(), null);
    assert.equal(live.score(placementAt(2, [10])), 2);
    // Step 2 of the first forecast said 2, step 1 of the second 4.
    near(live.scores()?.mase, (8 + 6) / 2);
    assert.deepEqual(live.scores()?.coverage, [{ stated: 0.8, observed: 0 }]);
    assert.equal(live.scores()?.scoredSteps, 1);
    assert.equal(live.score(placementAt(4, [6])), 1);
    assert.equal(live.score(placementAt(5, [6])), 0);
    assert.equal(live.scoredSlots, 2);
  });

  test("a published forecast carries the scores of everything observed before it", () => {
    const live = scoreStoreOf().of("s");
    const publish = (slot: number) => live.publish(forecastAt(slot, [0, 1, 2]), servingOf("v1"));
    assert.equal(publish(0).scores, null);
    live.score(placementAt(1, [3]));
    const { scores, quantiles, raw } = publish(1);
    near(scores?.mase, 2);
    assert.equal(raw.id, "s@1/v1");
    assert.equal(quantiles, raw.quantiles);
  });

  test("errors are divided by the naive errors of the serving model, channel by channel", () => {
    const live = scoreStoreOf().of("s");
    const window = windowAt(0, [0, 0]);
    live.publish(forecastOf(window, [0, 0, 0]), servingOf("v1", [2, 10]));
    live.score(placementAt(1, [6, 20]));
    near(live.scores()?.mase, (3 + 2) / 2);
    near(live.scores()?.crps, (6 + 20) / 2);
  });

  test("without a model, errors are divided by the naive error of the version's first window", () => {
    const live = scoreStoreOf().of("s");
    const first = { ...windowAt(0), values: Float64Array.of(0, 4, 0) };
    live.publish(forecastOf(first, [0, 0, 0], "persistence-1"), null);
    const second = { ...windowAt(1), values: Float64Array.of(0, 100, 0) };
    live.publish(forecastOf(second, [0, 0, 0], "persistence-1"), null);
    live.score(placementAt(2, [8]));
    near(live.scores()?.mase, 2);
  });

  test("the capped MASE limits a shock, and exists only for a validated model", () => {
    const live = scoreStoreOf({ rollingSteps: () => 1e6 }).of("s");
    assert.equal(live.cappedMase, null);
    live.publish(forecastAt(0, [0, 0, 0]), servingOf("v1"));
    assert.equal(live.cappedMase, null);
    live.score(placementAt(1, [1]));
    live.score(placementAt(2, [1000]));
    near(live.scores()?.mase, 1001 / 2);
    near(live.cappedMase ?? 0, (1 + errorCapOf(1)) / 2);
    live.score(placementAt(2, [2], [1000]));
    near(live.cappedMase ?? 0, 3 / 2);
    const unproven = { ...servingOf("v2"), validationMase: null };
    live.publish(forecastAt(3, [0, 0, 0], "v2"), unproven);
    live.score(placementAt(4, [1]));
    assert.equal(live.cappedMase, null);
  });

  test("a flat series that is forecast exactly has no error, full coverage and finite scores", () => {
    const live = scoreStoreOf().of("s");
    const window = { ...windowAt(0, [5.3]), values: Float64Array.of(5.3, 5.3) };
    live.publish(forecastOf(window, [5.3, 5.3, 5.3], "seasonal-naive-2"), null);
    live.score(placementAt(1, [5.3]));
    const expected = { mase: 0, crps: 0, coverage: [{ stated: 0.8, observed: 1 }], scoredSteps: 1 };
    assert.deepEqual(live.scores(), expected);
    live.score(placementAt(2, [7.3]));
    assert.ok(Number.isFinite(live.scores()?.mase));
  });

  test("a value beyond single precision is scored and learnt from, and leaves no trace when it is replaced", () => {
    const live = scoreStoreOf({ calibration: { enabled: true, publishRaw: false } }).of("s");
    const publish = (slot: number) => live.publish(forecastAt(slot, [-1, 0, 1]), servingOf("v1"));
    publish(0);
    live.score(placementAt(1, [1e300]));
    assert.ok(Number.isFinite(live.scores()?.mase) && Number.isFinite(live.scores()?.crps));
    assert.ok(publish(1).quantiles.every(({ values }) => values.every(Number.isFinite)));
    live.score(placementAt(1, [0.5], [1e300]));
    near(live.scores()?.mase, 0.5);
  });

  test("a series far from zero is scored with the precision of its steps, not of its level", () => {
    const live = scoreStoreOf().of("s");
    const level = 123_456_789;
    const window = windowAt(0, [level]);
    live.publish(forecastOf(window, [level, level + 0.125, level + 1]), servingOf("v1"));
    live.score(placementAt(1, [level + 0.25]));
    near(live.scores()?.mase, 0.125);
    assert.equal(live.scores()?.coverage[0].observed, 1);
  });
});

describe("amendments", () => {
  const begun = () => {
    const live = scoreStoreOf().of("s");
    for (let slot = 0; slot < 4; slot++) {
      if (slot > 0) live.score(placementAt(slot, [slot === 2 ? 50 : 1]));
      live.publish(forecastAt(slot, [-1, 0, 2]), servingOf("v1"));
    }
    return live;
  };

  test("a replaced value is scored again in every forecast that covers its slot", () => {
    const live = begun();
    assert.ok((live.scores()?.mase ?? 0) > 10);
    assert.equal(live.score(placementAt(2, [1], [50])), 2);
    near(live.scores()?.mase, 1);
    near(live.scores()?.coverage[0].observed, 1);
    assert.equal(live.scoredSlots, 3);
  });

  test("a value sent twice leaves the scores unchanged to the bit", () => {
    const live = begun();
    const before = live.scores();
    assert.equal(live.score(placementAt(2, [50], [50])), 0);
    assert.deepEqual(live.scores(), before);
  });

  test("a late value in a gap is scored by its age, and a slot that was only filled is not scored", () => {
    const [gapped, whole] = [scoreStoreOf().of("s"), scoreStoreOf().of("s")];
    for (const live of [gapped, whole]) {
      live.publish(forecastAt(0, [-1, 0, 2]), servingOf("v1"));
      live.score(placementAt(1, [3]));
      if (live === whole) live.score(placementAt(2, [7]));
      live.score(placementAt(3, [1]));
    }
    assert.equal(gapped.scoredSlots, 2);
    gapped.score(placementAt(2, [7]));
    near(gapped.scores()?.mase, whole.scores()?.mase ?? 0);
    assert.equal(gapped.scoredSlots, 3);
  });

  test("a slot whose forecasts have been dropped changes no score", () => {
    const live = begun();
    for (let slot = 4; slot < 30; slot++) live.publish(forecastAt(slot, [-1, 0, 2]), servingOf("v1"));
    const before = live.scores();
    assert.equal(live.score(placementAt(2, [1], [50])), 0);
    assert.deepEqual(live.scores(), before);
  });
});

describe("versions", () => {
  test("a new version starts without scores, and forecasts of the version before no longer count", () => {
    const live = scoreStoreOf().of("s");
    live.publish(forecastAt(0, [0, 0, 0], "v1"), servingOf("v1"));
    live.score(placementAt(1, [5]));
    const { scores } = live.publish(forecastAt(1, [0, 1, 2], "v2"), servingOf("v2"));
    assert.deepEqual([scores, live.version, live.scoredSlots], [null, "v2", 0]);
    assert.equal(live.score(placementAt(2, [4])), 1);
    near(live.scores()?.mase, 3);
  });

  test("a version that serves again is not scored by the forecasts of its first period", () => {
    const live = scoreStoreOf().of("s");
    live.publish(forecastAt(0, [0, 100, 200], "v1"), servingOf("v1"));
    live.publish(forecastAt(1, [0, 0, 0], "v2"), servingOf("v2"));
    live.publish(forecastAt(2, [0, 1, 2], "v1"), servingOf("v1"));
    assert.equal(live.score(placementAt(3, [1])), 1);
    assert.equal(live.scores()?.mase, 0);
  });

  test("each cold baseline is a version of its own", () => {
    const live = scoreStoreOf().of("s");
    live.publish(forecastAt(0, [0, 0, 0], "persistence-1"), null);
    live.score(placementAt(1, [5]));
    live.publish(forecastAt(1, [0, 0, 0], "seasonal-naive-2"), null);
    assert.deepEqual([live.version, live.scores()], ["seasonal-naive-2", null]);
  });

  test("a model promoted while a forecast is under way starts its period with its own first forecast", () => {
    const live = scoreStoreOf().of("s");
    live.publish(forecastAt(0, [0, 1, 2], "v1"), servingOf("v1"));
    live.publish(forecastAt(1, [0, 1, 2], "v1"), servingOf("v2", [7]));
    assert.equal(live.version, "v1");
    live.publish(forecastAt(2, [0, 1, 2], "v2"), servingOf("v2", [7]));
    assert.deepEqual([live.version, live.period?.frame.naiveErrors], ["v2", [7]]);
  });

  test("a cold forecast that stands in for a new model starts the period of the model", () => {
    const live = scoreStoreOf().of("s");
    live.publish(forecastAt(0, [0, 1, 2], "persistence-1"), servingOf("v1", [7]));
    assert.deepEqual([live.version, live.score(placementAt(1, [1]))], ["v1", 0]);
    assert.deepEqual(live.period?.frame.naiveErrors, [7]);
  });

  test("a cold forecast that stands in for a model is neither scored nor calibrated, and ends no period", () => {
    const live = scoreStoreOf({ calibration: { enabled: true, publishRaw: false } }).of("s");
    const v1 = servingOf("v1");
    live.publish(forecastAt(0, [0, 1, 2], "v1"), v1);
    live.score(placementAt(1, [1]));
    const raw = forecastAt(1, [500, 500, 500], "persistence-1");
    assert.deepEqual(live.publish(raw, v1), {
      raw,
      quantiles: raw.quantiles,
      calibration: null,
      scores: null,
    });
    assert.equal(live.score(placementAt(2, [1])), 1);
    assert.equal(live.scores()?.mase, 0);
    assert.equal(live.version, "v1");
  });
});

describe("calibration", () => {
  const calibrated = (publishRaw: boolean) =>
    scoreStoreOf({ calibration: { enabled: true, publishRaw }, rollingSteps: () => 1e6 }).of("s");

  test("a forecast names its calibration once the calibrator has learnt, with the number of steps", () => {
    const live = calibrated(false);
    const publish = (slot: number) => live.publish(forecastAt(slot, [-1, 0, 1]), servingOf("v1"));
    assert.equal(publish(0).calibration, null);
    live.score(placementAt(1, [5]));
    const { calibration, quantiles } = publish(1);
    assert.deepEqual(calibration, { method: "adaptive-conformal", scoredSteps: 1, rawQuantiles: [] });
    assert.deepEqual(
      quantiles.map(({ level }) => level),
      [0.1, 0.5, 0.9],
    );
  });

  test("calibration learns until intervals hold what they state, and scores are of the calibrated quantiles", () => {
    const live = calibrated(true);
    const random = (slot: number) => 5 * Math.sin(slot * slot * 12.9898) * Math.sin(slot * 78.233);
    let stated = [0, 0];
    let inside = 0;
    for (let slot = 0; slot < 4000; slot++) {
      if (slot > 0) live.score(placementAt(slot, [1000 + random(slot)]));
      if (slot > 2000 && random(slot) + 1000 >= stated[0] && random(slot) + 1000 <= stated[1]) inside++;
      const window = windowAt(slot, [1000]);
      const raw = forecastOf(window, [999.9, 1000, 1000.1]);
      const { quantiles, calibration } = live.publish(raw, servingOf("v1"));
      if (slot > 0) assert.deepEqual(calibration?.rawQuantiles, raw.quantiles);
      stated = [quantiles[0].values[0], quantiles[2].values[0]];
    }
    const coverage = inside / 1999;
    assert.ok(coverage > 0.74 && coverage < 0.86, `${coverage} of the values were inside`);
    const scored = live.scores()?.coverage[0].observed ?? 0;
    assert.ok(scored > 0.7 && scored < 0.86, `${scored} of the steps were scored as inside`);
  });

  test("calibration does not learn from the replacement of a value", () => {
    const live = calibrated(false);
    live.publish(forecastAt(0, [-1, 0, 1]), servingOf("v1"));
    live.score(placementAt(1, [5]));
    const learnt = live.period?.calibrator?.state.slice();
    live.score(placementAt(1, [-5], [5]));
    assert.deepEqual(live.period?.calibrator?.state, learnt);
    assert.equal(live.period?.calibrator?.learntSteps, 1);
  });

  test("calibration that is switched off leaves the quantiles unchanged", () => {
    const live = scoreStoreOf().of("s");
    live.publish(forecastAt(0, [-1, 0, 1]), servingOf("v1"));
    live.score(placementAt(1, [5]));
    const { calibration, quantiles, raw } = live.publish(forecastAt(1, [-1, 0, 1]), servingOf("v1"));
    assert.equal(calibration, null);
    assert.equal(quantiles, raw.quantiles);
  });
});

test("the life of a series starts cold, and a change of it is stored", () => {
  const scoreStore = scoreStoreOf();
  const live = scoreStore.of("s");
  assert.equal(live.life, newLife);
  assert.deepEqual(scoreStore.takeChanges(), []);
  live.life = { ...newLife, phase: "training" };
  assert.deepEqual(
    scoreStore.takeChanges().map(({ key }) => key),
    ["s#live"],
  );
});

test("metrics show scores after as many slots as the horizon, with the CRPS in naive errors", () => {
  const live = scoreStoreOf().of("s");
  live.publish(forecastAt(0, [0, 0, 0]), servingOf("v1", [4]));
  for (const slot of [1, 2]) live.score(placementAt(slot, [8]));
  const quality = new Float64Array(3);
  assert.equal(live.writeQuality(quality), false);
  live.score(placementAt(3, [8]));
  assert.equal(live.writeQuality(quality), true);
  assert.deepEqual([...quality], [2, 2, 0]); // MASE, CRPS, coverage.
});
