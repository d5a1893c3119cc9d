import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type GateCase, passGate, type Verdict } from "../../../src/gate/gate.ts";
import { createFamilies } from "../../../src/models/families.ts";
import type { TrainedModel } from "../../../src/models/family.ts";
import {
  historyOf,
  horizon,
  hourMs,
  noise,
  openEngine,
  season,
  stillModel,
  trained,
  wave,
} from "./still-models.ts";

const families = createFamilies(openEngine());
const baseline = families.baselineFor("s", { horizon, season, channels: 1 });
const steps = 300;
const tailSteps = 48;
const trainedTo = steps - tailSteps - 1;
const rules = { margin: 0.02, tailSteps, season, horizon };
const strongFolds = { mase: 0.01, crps: 0.01, points: 600 };
const weakFolds = { mase: 2, crps: 2, points: 600 };

/**
 * Forecasts the mean of its window, which is best where the values are noise, plus a bias. With 1.23 it is about as good as
 * seasonal-naive.
 */
const challenger = (changes: Partial<TrainedModel> = {}, bias = 0): TrainedModel => ({
  ...trained(stillModel({ bias }), trainedTo),
  ...changes,
});

function gate(values: Float64Array, changes: Partial<GateCase> = {}): Promise<Verdict> {
  return passGate(families, {
    ...{ challengers: [challenger()], champion: null, baseline, rules, countsFolds: true },
    histories: [historyOf(values)],
    ...changes,
  });
}

describe("against seasonal-naive, the folds of a training count with the tail", () => {
  test("and a model that is good on both is promoted with the numbers of both", async () => {
    const { outcome, reason, numbers } = await gate(noise(steps));
    assert.equal(outcome, "promoted", reason);
    assert.deepEqual([numbers.challengerFoldMase, numbers.challengerFoldCrps], [0.75, 0.55]);
    // The folds are the last two fifths of what it was trained on.
    assert.ok(numbers.foldSteps > 90 && numbers.foldSteps <= 102, `${numbers.foldSteps} steps`);
    assert.ok(Math.abs(numbers.naiveFoldMase - 1) < 0.2, `naive MASE ${numbers.naiveFoldMase}`);
    const pooled = (name: "Mase" | "Crps", who: "challenger" | "naive") =>
      (numbers.steps * numbers[`${who}${name}`] + numbers.foldSteps * numbers[`${who}Fold${name}`]) /
      (numbers.steps + numbers.foldSteps);
    const ratio = Math.sqrt(
      (pooled("Mase", "challenger") * pooled("Crps", "challenger")) /
        (pooled("Mase", "naive") * pooled("Crps", "naive")),
    );
    assert.equal(reason, `better than seasonal-naive by ${Number((100 * (1 - ratio)).toFixed(1))} %`);
  });

  test("so that a draw on the tail does not stop a model that is better on the folds", async () => {
    const challengers = [challenger({}, 1.23)];
    const alone = await gate(noise(steps), { challengers, countsFolds: false });
    assert.equal(alone.reason, "not better than seasonal-naive by the margin of 2 %");
    const verdict = await gate(noise(steps), { challengers });
    assert.equal(verdict.outcome, "promoted", verdict.reason);
  });

  test("so that a first model that is worse on the tail is promoted if its folds outweigh that", async () => {
    const challengers = [challenger({ folds: strongFolds }, 1.4)];
    const verdict = await gate(noise(steps), { challengers });
    assert.equal(verdict.outcome, "promoted", verdict.reason);
  });

  test("but where a champion serves, a model that is worse on the tail is refused however good its folds are", async () => {
    const champion = { model: stillModel({ key: "champion", bias: 9 }), trainedToMs: trainedTo * hourMs };
    const challengers = [challenger({ folds: strongFolds }, 1.4)];
    const verdict = await gate(noise(steps), { champion, challengers });
    assert.equal(verdict.outcome, "refused");
    assert.equal(verdict.reason, "seasonal-naive is best");
  });

  test("and where a champion serves, a model that leads on the tail is promoted: the series may have changed", async () => {
    const champion = { model: stillModel({ key: "champion", bias: 9 }), trainedToMs: trainedTo * hourMs };
    const challengers = [challenger({ folds: weakFolds })];
    const { outcome, reason, numbers } = await gate(noise(steps), { champion, challengers });
    assert.equal(outcome, "promoted", reason);
    const ratio = Math.sqrt(
      (numbers.challengerMase * numbers.challengerCrps) / (numbers.naiveMase * numbers.naiveCrps),
    );
    const lead = Number((100 * (1 - ratio)).toFixed(1));
    assert.match(reason, new RegExp(`seasonal-naive by ${lead} %$`, "u"));
  });

  test("and a first model that is worse on the folds is refused though it leads on the tail", async () => {
    const verdict = await gate(noise(steps), { challengers: [challenger({ folds: weakFolds })] });
    assert.equal(verdict.outcome, "refused");
    assert.equal(verdict.reason, "seasonal-naive is best");
    assert.ok(verdict.numbers.challengerMase < verdict.numbers.naiveMase);
  });
});

describe("the folds do not count", () => {
  test("for a model that was trained on another series", async () => {
    const request = { challengers: [challenger({ folds: weakFolds })], countsFolds: false };
    const verdict = await gate(noise(steps), request);
    assert.equal(verdict.outcome, "promoted", verdict.reason);
    assert.equal(verdict.numbers.foldSteps, undefined);
  });

  test("against the champion, which may have been trained on them", async () => {
    const champion = { model: stillModel({ key: "champion" }), trainedToMs: trainedTo * hourMs };
    const verdict = await gate(noise(steps), { champion, challengers: [challenger({ folds: strongFolds })] });
    assert.equal(verdict.reason, "not better than the champion by the margin of 2 %");
  });

  test("when a champion that seasonal-naive beats on the tail is retired", async () => {
    const champion = {
      model: stillModel({ key: "champion", level: "last" }),
      trainedToMs: trainedTo * hourMs,
    };
    const verdict = await gate(wave(steps), { champion, challengers: [challenger({ folds: strongFolds })] });
    assert.equal(verdict.reason, "seasonal-naive is best");
    assert.equal(verdict.outcome === "refused" && verdict.retire, true);
  });

  test("where the part trained on is too short to be scored, or was never scored", async () => {
    const trainedFromMs = (trainedTo - 10) * hourMs;
    const unscored = { mase: 0, crps: 0, points: 0 };
    for (const changes of [{ trainedFromMs }, { folds: unscored }]) {
      const verdict = await gate(noise(steps), { challengers: [challenger(changes)] });
      assert.equal(verdict.outcome, "promoted", verdict.reason);
      assert.equal(verdict.numbers.foldSteps, undefined);
    }
  });
});

test("all members of a cohort count in the folds, each in its own unit", async () => {
  const histories = [historyOf(noise(steps)), historyOf(noise(steps, 2).map((value) => 1e6 * value))];
  const model = stillModel({ scale: "deviation" });
  const verdict = await gate(noise(steps), { histories, challengers: [challenger({ model })] });
  assert.equal(verdict.outcome, "promoted", verdict.reason);
  assert.ok(verdict.numbers.foldSteps > 180, `${verdict.numbers.foldSteps} steps`);
  assert.ok(Math.abs(verdict.numbers.naiveFoldMase - 1) < 0.2, `naive MASE ${verdict.numbers.naiveFoldMase}`);
});
