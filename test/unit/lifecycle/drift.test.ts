import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { LiveScores } from "../../../src/domain.ts";
import { assess, type DriftFacts, type DriftRules } from "../../../src/lifecycle/drift.ts";
import { errorCapOf } from "../../../src/models/scores.ts";

const rules: DriftRules = {
  driftRatio: 2,
  driftBound: 0,
  coverageBand: 0.4,
  evidenceSteps: 48,
  release: 0.8,
};

const scoresOf = (mase: number, observed = 0.8): LiveScores => ({
  ...{ mase, crps: 1, scoredSteps: 100 },
  coverage: [
    { stated: 0.5, observed: 0.5 },
    { stated: 0.8, observed },
    { stated: 0.95, observed: 0.95 },
  ],
});

const facts = (changes: Partial<DriftFacts> = {}): DriftFacts => ({
  scores: scoresOf(1),
  ...{ cappedMase: null, scoredSlots: 48, validationMase: 1, isStale: false },
  ...changes,
});

const stateOf = (changes: Partial<DriftFacts>, other: Partial<DriftRules> = {}) =>
  assess(facts(changes), { ...rules, ...other }).state;

describe("a model is stale", () => {
  test("when its rolling MASE is more than the ratio times the one it validated with", () => {
    assert.equal(stateOf({ scores: scoresOf(2) }), "fit");
    const assessment = assess(facts({ scores: scoresOf(2.01) }), rules);
    assert.equal(assessment.state, "stale");
    assert.equal(assessment.reason, "rolling MASE is 2.01, allowed 2 × the 1 it validated with");
    assert.deepEqual(assessment.numbers, {
      ...{ rollingMase: 2.01, validationMase: 1, coverage: 0.8, statedCoverage: 0.8, scoredSlots: 48 },
    });
    assert.equal(stateOf({ scores: scoresOf(2.01), validationMase: 1.1 }), "fit");
  });

  test("by the capped mean rather than by one shock, where that is kept", () => {
    assert.equal(stateOf({ scores: scoresOf(9), cappedMase: 1.4 }), "fit");
    assert.equal(stateOf({ scores: scoresOf(9), cappedMase: 2.1 }), "stale");
  });

  test("when its rolling MASE exceeds the bound, whatever it validated with", () => {
    const shocked = { scores: scoresOf(9), cappedMase: 1.4, validationMase: null };
    assert.equal(stateOf(shocked, { driftBound: 9 }), "fit");
    assert.equal(stateOf(shocked, { driftBound: 8.9 }), "stale");
    assert.equal(stateOf({ scores: scoresOf(9), validationMase: 6 }, { driftBound: 8 }), "stale");
  });

  test("when the coverage of its 80 % interval leaves the band to either side", () => {
    assert.equal(stateOf({ scores: scoresOf(1, 0.41) }), "fit");
    const { state, reason } = assess(facts({ scores: scoresOf(1, 0.39) }), rules);
    assert.deepEqual([state, reason], ["stale", "the 80 % interval held 39 %, allowed ± 40 %"]);
    assert.equal(stateOf({ scores: scoresOf(1, 1) }, { coverageBand: 0.15 }), "stale");
    assert.equal(stateOf({ scores: scoresOf(1, 0) }, { coverageBand: 1 }), "fit");
  });

  test("by its widest interval where 80 % is not stated, and by none where none is", () => {
    const wide = [
      { stated: 0.5, observed: 0 },
      { stated: 0.9, observed: 0.49 },
    ];
    assert.equal(stateOf({ scores: { ...scoresOf(1), coverage: wide } }), "stale");
    assert.equal(stateOf({ scores: { ...scoresOf(1), coverage: wide.slice(0, 1) } }), "stale");
    assert.equal(stateOf({ scores: { ...scoresOf(1), coverage: [] } }), "fit");
  });
});

describe("nothing is said", () => {
  test("before there is evidence", () => {
    const { state, reason } = assess(facts({ scores: scoresOf(99), scoredSlots: 47 }), rules);
    assert.deepEqual([state, reason], ["unknown", "47 steps scored, 48 needed"]);
    assert.equal(stateOf({ scores: null, scoredSlots: 500 }), "unknown");
  });

  test("where there is nothing to compare with", () => {
    assert.equal(stateOf({ validationMase: null }, { coverageBand: 1 }), "unknown");
    assert.equal(stateOf({ validationMase: null }), "fit");
  });
});

describe("a stale model", () => {
  test("is fit again only when every measure is well below its threshold", () => {
    const stale = { isStale: true };
    assert.equal(stateOf({ ...stale, scores: scoresOf(1.7) }), "stale");
    assert.equal(stateOf({ isStale: false, scores: scoresOf(1.7) }), "fit");
    assert.equal(stateOf({ ...stale, scores: scoresOf(1.6) }), "fit");
    assert.equal(stateOf({ ...stale, scores: scoresOf(1.5, 0.45) }), "stale");
    assert.equal(stateOf({ ...stale, scores: scoresOf(1.5, 0.5) }), "fit");
    assert.equal(stateOf({ ...stale, scores: scoresOf(1.7) }, { release: 1 }), "fit");
  });

  test("says what still keeps it", () => {
    const { reason } = assess(facts({ isStale: true, scores: scoresOf(1.7) }), rules);
    assert.match(reason, /^better, but not yet fit: rolling MASE is 1.7/);
  });
});

describe("a series that never moves", () => {
  test("is not called stale for errors that nobody would see", () => {
    assert.equal(stateOf({ scores: scoresOf(0), validationMase: 0 }), "fit");
    assert.equal(stateOf({ scores: scoresOf(1e-6), validationMase: 1e-9 }), "fit");
  });

  test("is called stale once it moves, with the cap too", () => {
    assert.equal(stateOf({ scores: scoresOf(0.5), validationMase: 0 }), "stale");
    assert.equal(stateOf({ scores: scoresOf(7), validationMase: 0, cappedMase: errorCapOf(0) }), "stale");
    assert.equal(errorCapOf(2), 10);
  });
});

test("numbers that are not finite are left out", () => {
  const { numbers } = assess(facts({ scores: scoresOf(Number.POSITIVE_INFINITY) }), rules);
  assert.equal("rollingMase" in numbers, false);
});
