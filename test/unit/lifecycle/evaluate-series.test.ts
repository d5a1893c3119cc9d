import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { byRank, type TrainingNeed, trainingNeedOf } from "../../../src/lifecycle/evaluate-series.ts";
import type { Life } from "../../../src/models/life.ts";
import type { TrainingReason } from "../../../src/training/training-task.ts";
import { dawnMs, hourMs, LifecycleFixture, type LifecycleOptions, recordOf } from "./lifecycle-fixture.ts";

/** Reason and urgency; null without a need. */
const asked = (fixture: LifecycleFixture, seriesId = "a") => {
  const need = trainingNeedOf(fixture.lifecycle, seriesId, () => 0.05);
  return need && [need.reason, Number(need.urgency.toFixed(3))];
};

describe("needs", () => {
  test("come by their reason first, and among those of one reason the worst first", () => {
    const { lifecycle } = new LifecycleFixture();
    const need = (modelKey: string, reason: TrainingReason, urgency: number): TrainingNeed => ({
      ...{ lifecycle, modelKey, reason, family: "linear", urgency },
    });
    const needs = [
      need("old", "age", 1e12),
      need("linear", "upgrade", 0.05),
      need("fresh", "refresh", 24),
      need("new", "new", 5),
      need("newer", "new", 9),
      need("stale", "drift", 2),
      need("staler", "drift", 3),
      need("wanted", "manual", 0),
    ];
    assert.deepEqual(
      needs.sort(byRank).map(({ modelKey }) => modelKey),
      ["wanted", "staler", "stale", "newer", "new", "fresh", "linear", "old"],
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

/** A model that says it is of this family. */
function serveFamily(fixture: LifecycleFixture, family: string): void {
  fixture.serve("a", "v1", { trainedTo: dawnMs });
  const serving = fixture.models.get("a");
  assert.ok(serving !== undefined);
  fixture.models.get = () => ({ ...serving, facts: { ...serving.facts, family } });
}

describe("a series of the family auto", () => {
  const rules = { firstFamily: "linear", bestFamily: "ensemble", bestHistory: 60, maxAgeMs: 48 * hourMs };
  const family = (fixture: LifecycleFixture) =>
    trainingNeedOf(fixture.lifecycle, "a", () => 0.05)?.family ?? null;
  const seriesOf = (facts: { steps: number; newestHour?: number; life?: Partial<Life>; model?: string }) => {
    const { steps, newestHour = 4, life = {}, model } = facts;
    const fixture = new LifecycleFixture({ rules });
    if (model !== undefined) serveFamily(fixture, model);
    fixture.place("a", newestHour, steps);
    fixture.live("a", { phase: model === undefined ? "cold" : "champion", ...life });
    return fixture;
  };

  test("gets a linear model first, however long its history is", () => {
    const fixture = seriesOf({ steps: 1000 });
    assert.deepEqual([asked(fixture)?.[0], family(fixture)], ["new", "linear"]);
  });

  test("whose linear model was refused gets an ensemble once there is history enough, and only once", () => {
    const life = { restsUntilMs: dawnMs };
    assert.deepEqual(asked(seriesOf({ steps: 59, life }))?.[0], "new");
    const fixture = seriesOf({ steps: 60, life });
    assert.deepEqual([asked(fixture), family(fixture)], [["upgrade", 0.05], "ensemble"]);
    assert.equal(asked(seriesOf({ steps: 60, life: { ...life, competedMs: dawnMs } }))?.[0], "new");
  });

  test("with a linear model is upgraded once there is history enough, and again when that was long ago", () => {
    const askedOf = (steps: number, competedMs: number | null, newestHour = 4) =>
      asked(seriesOf({ steps, model: "linear", life: { competedMs }, newestHour }));
    assert.equal(askedOf(59, null), null);
    assert.deepEqual(askedOf(60, null), ["upgrade", 0.05]);
    assert.equal(askedOf(60, dawnMs), null);
    const longAgoMs = dawnMs - 45 * hourMs;
    assert.deepEqual(askedOf(60, longAgoMs), ["upgrade", 0.05]);
    assert.deepEqual(askedOf(60, longAgoMs, 49), ["refresh", 40], "it is refreshed while its upgrade waits");
  });

  test("has its linear model refreshed a season after the held-back steps, and not on probation", () => {
    const life = { competedMs: dawnMs };
    assert.equal(asked(seriesOf({ steps: 60, model: "linear", life, newestHour: 12 })), null);
    const fixture = seriesOf({ steps: 60, model: "linear", life, newestHour: 13 });
    assert.deepEqual([asked(fixture), family(fixture)], [["refresh", 4], "linear"]);
    const probation = { predecessorMase: 1, sinceMs: 0 };
    const onProbation = { ...life, probation };
    assert.equal(asked(seriesOf({ steps: 60, model: "linear", life: onProbation, newestHour: 13 })), null);
  });

  test("whose ensemble is stale or old gets another ensemble", () => {
    const old = seriesOf({ steps: 60, model: "ensemble", newestHour: 49 });
    assert.deepEqual([asked(old)?.[0], family(old)], ["age", "ensemble"]);
    const life = { phase: "drifting", driftSinceMs: dawnMs } as const;
    const stale = seriesOf({ steps: 60, model: "ensemble", life, newestHour: 20 });
    assert.deepEqual([asked(stale)?.[0], family(stale)], ["drift", "ensemble"]);
    const staleLinear = seriesOf({ steps: 60, model: "linear", life, newestHour: 20 });
    assert.deepEqual([asked(staleLinear)?.[0], family(staleLinear)], ["drift", "linear"]);
  });
});
