import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { byRank, type TrainingNeed, trainingNeedOf } from "../../../src/lifecycle/evaluate-series.ts";
import type { TrainingReason } from "../../../src/training/training-task.ts";
import { dawnMs, hourMs, LifecycleFixture, type LifecycleOptions, recordOf } from "./lifecycle-fixture.ts";

/** Reason and urgency; null without a need. */
const asked = (fixture: LifecycleFixture, seriesId = "a") => {
  const need = trainingNeedOf(fixture.lifecycle, seriesId);
  return need && [need.reason, Number(need.urgency.toFixed(3))];
};

describe("needs", () => {
  test("come by their reason first, and among those of one reason the worst first", () => {
    const { lifecycle } = new LifecycleFixture();
    const need = (modelKey: string, reason: TrainingReason, urgency: number): TrainingNeed => ({
      ...{ lifecycle, modelKey, reason, urgency },
    });
    const needs = [
      need("old", "age", 1e12),
      need("new", "new", 5),
      need("newer", "new", 9),
      need("stale", "drift", 2),
      need("staler", "drift", 3),
      need("wanted", "manual", 0),
    ];
    assert.deepEqual(
      needs.sort(byRank).map(({ modelKey }) => modelKey),
      ["wanted", "staler", "stale", "newer", "new", "old"],
    );
  });
});

describe("a cold series", () => {
  const coldAt = (steps: number, options: LifecycleOptions = {}) => {
    const fixture = new LifecycleFixture(options);
    fixture.live("a");
    fixture.place("a", 100, steps);
    return fixture;
  };

  test("needs for its first model once it has history enough, the worse forecast the sooner", () => {
    assert.equal(asked(coldAt(39)), null);
    const fixture = coldAt(40);
    assert.deepEqual(asked(fixture), ["new", 0]);
    fixture.score("a", "seasonal-naive-2", 1.5);
    assert.deepEqual(asked(fixture), ["new", 1.5]);
  });

  test("of a cohort needs twice as much: it has a model to beat", () => {
    const settings = () => ({ cohort: "pumps" });
    assert.equal(asked(coldAt(79, { settings })), null);
    assert.deepEqual(asked(coldAt(80, { settings })), ["new", 0]);
  });

  test("that was refused a model rests first", () => {
    const fixture = coldAt(60);
    fixture.live("a", { restsUntilMs: dawnMs + 101 * hourMs });
    assert.equal(asked(fixture), null);
    fixture.place("a", 101, 60);
    assert.deepEqual(asked(fixture), ["new", 0]);
  });

  test("without a grid, or never forecast, has no need; nor has a cohort by this way", () => {
    const fixture = coldAt(60);
    fixture.live("no grid");
    fixture.place("never forecast", 100, 60);
    fixture.live("cohort:pumps");
    fixture.place("cohort:pumps", 100, 60);
    for (const id of ["no grid", "never forecast", "cohort:pumps", "unknown"]) {
      assert.equal(asked(fixture, id), null, id);
    }
  });
});

test("a series in training has no need", () => {
  const fixture = new LifecycleFixture();
  fixture.live("a", { phase: "training" });
  fixture.place("a");
  assert.equal(asked(fixture), null);
});

describe("a drifting series", () => {
  const driftingFor = (hours: number, changes = {}) => {
    const fixture = new LifecycleFixture();
    fixture.serve("a", "v1", changes);
    fixture.place("a", 100, 80);
    fixture.live("a", { phase: "drifting", driftSinceMs: dawnMs + (100 - hours) * hourMs });
    fixture.score("a", "v1", 3);
    return fixture;
  };

  test("is trained once there is enough of the new kind to learn from and to be judged on", () => {
    assert.equal(asked(driftingFor(9 + 3 - 1)), null);
    // Live MASE of 3 over the 0.5 it validated with.
    assert.deepEqual(asked(driftingFor(9 + 3)), ["drift", 6]);
  });

  test("whose model validated on nothing is as urgent as its live MASE", () => {
    const { validation } = recordOf("a");
    const fixture = driftingFor(20, { validation: { ...validation, scoredSteps: 0 } });
    assert.deepEqual(asked(fixture), ["drift", 3]);
  });
});

describe("a champion", () => {
  const maxAgeMs = 24 * hourMs;
  const championOf = (newestHour: number, life = {}) => {
    const fixture = new LifecycleFixture({ rules: { maxAgeMs } });
    fixture.serve("a", "v1", { trainedTo: dawnMs });
    fixture.place("a", newestHour, 50);
    fixture.live("a", { phase: "champion", ...life });
    return fixture;
  };

  test("is trained again when it is older than allowed, and not before", () => {
    assert.equal(asked(championOf(24)), null);
    assert.deepEqual(asked(championOf(25)), ["age", 25 * hourMs]);
  });

  test("whose retraining gave nothing better is not tried again before it is as old once more", () => {
    const restsUntilMs = dawnMs + 30 * hourMs;
    assert.equal(asked(championOf(29, { restsUntilMs })), null);
    assert.equal(asked(championOf(30 + 24, { restsUntilMs })), null);
    assert.deepEqual(asked(championOf(30 + 25, { restsUntilMs })), ["age", 25 * hourMs]);
  });

  test("from before all families could be trained is challenged once they can be, and only then", () => {
    const earlyOf = (newestHour: number, steps: number, life = {}) => {
      const fixture = new LifecycleFixture({ rules: { fullHistory: 60 } });
      fixture.serve("a", "v1", { trainedTo: dawnMs });
      fixture.place("a", newestHour, steps);
      fixture.live("a", { phase: "champion", ...life });
      return asked(fixture);
    };
    assert.equal(earlyOf(20, 59), null);
    assert.deepEqual(earlyOf(20, 60), ["age", 20 * hourMs]);
    // Trained on 55 steps, with nine more held back for the gate.
    assert.equal(earlyOf(5, 60), null);
    assert.equal(earlyOf(20, 60, { restsUntilMs: dawnMs + 18 * hourMs }), null, "challenged already");
  });

  test("on probation has to prove itself first", () => {
    const probation = { predecessorMase: 1, sinceMs: 0 };
    assert.equal(asked(championOf(1000, { probation })), null);
  });

  test("without an age limit stays for ever", () => {
    const fixture = new LifecycleFixture();
    fixture.serve("a", "v1");
    fixture.place("a", 1e6, 50);
    fixture.live("a", { phase: "champion" });
    assert.equal(asked(fixture), null);
  });
});
