import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TrainingReason } from "../../../src/retrain/training-task.ts";
import { byRank, type Wish, wishOf } from "../../../src/retrain/wishes.ts";
import { DeskFixture, type DeskOptions, dawnMs, hourMs, recordOf } from "./desk-fixture.ts";

/** Reason and urgency; null without a wish. */
const asked = (fixture: DeskFixture, seriesId = "a") => {
  const wish = wishOf(fixture.desk, seriesId);
  return wish && [wish.reason, Number(wish.urgency.toFixed(3))];
};

describe("wishes", () => {
  test("come by their reason first, and among those of one reason the worst first", () => {
    const { desk } = new DeskFixture();
    const wish = (modelKey: string, reason: TrainingReason, urgency: number): Wish => ({
      ...{ desk, modelKey, reason, urgency },
    });
    const wishes = [
      wish("old", "age", 1e12),
      wish("new", "new", 5),
      wish("newer", "new", 9),
      wish("stale", "drift", 2),
      wish("staler", "drift", 3),
      wish("wanted", "manual", 0),
    ];
    assert.deepEqual(
      wishes.sort(byRank).map(({ modelKey }) => modelKey),
      ["wanted", "staler", "stale", "newer", "new", "old"],
    );
  });
});

describe("a cold series", () => {
  const coldAt = (steps: number, options: DeskOptions = {}) => {
    const fixture = new DeskFixture(options);
    fixture.live("a");
    fixture.place("a", 100, steps);
    return fixture;
  };

  test("wishes for its first model once it has history enough, the worse forecast the sooner", () => {
    assert.equal(asked(coldAt(39)), null);
    const fixture = coldAt(40);
    assert.deepEqual(asked(fixture), ["new", 0]);
    fixture.score("a", "seasonal-naive-1", 1.5);
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

  test("without a grid, or never forecast, has no wish; nor has a cohort by this way", () => {
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

test("a series in training has no wish", () => {
  const fixture = new DeskFixture();
  fixture.live("a", { phase: "training" });
  fixture.place("a");
  assert.equal(asked(fixture), null);
});

describe("a drifting series", () => {
  const driftingFor = (hours: number, changes = {}) => {
    const fixture = new DeskFixture();
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
    const fixture = new DeskFixture({ rules: { maxAgeMs } });
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
    const fixture = new DeskFixture();
    fixture.serve("a", "v1");
    fixture.place("a", 1e6, 50);
    fixture.live("a", { phase: "champion" });
    assert.equal(asked(fixture), null);
  });
});
