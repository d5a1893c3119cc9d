import assert from "node:assert/strict";
import { test } from "node:test";
import type { SeriesSettings } from "../../../src/domain.ts";
import { heldBackSteps, resolveRetrainRules } from "../../../src/lifecycle/rules.ts";
import { createStore } from "../../../src/runtime/config/settings.ts";

const { retrain } = createStore().getProperties();

const settings = (changes: Partial<SeriesSettings> = {}): SeriesSettings => ({
  ...{ interval: "PT1H", offsetMs: 0, horizon: 24, season: 24, history: 1440, every: 1 },
  ...{
    gapPolicy: "linear",
    gapMax: 3,
    cohort: "",
    family: "forecastnet",
    form: "auto",
    driftRatio: 3,
    driftBound: 7,
    forgetAfter: "never",
  },
  ...changes,
});

test("what is left at 0 follows from the series' horizon and season", () => {
  const rules = resolveRetrainRules(retrain, settings());
  assert.deepEqual(
    [rules.evidenceSteps, rules.rollingSteps, rules.tailSteps, rules.probationSteps, rules.cooldownSteps],
    [96, 96, 72, 48, 96],
  );
  assert.equal(rules.minHistory, 288);
  assert.equal(resolveRetrainRules(retrain, settings({ season: 100 })).minHistory, 1200);
  assert.deepEqual([rules.driftRatio, rules.driftBound, rules.horizon, rules.season], [3, 7, 24, 24]);
});

test("with the family auto a series has a linear model soon, and an ensemble when there is history enough", () => {
  const rulesOf = (family: string) => {
    const rules = resolveRetrainRules(retrain, settings({ family }));
    return [rules.firstFamily, rules.minHistory, rules.bestFamily, rules.bestHistory];
  };
  assert.deepEqual(rulesOf("forecastnet"), ["forecastnet", 288, "forecastnet", 288]);
  assert.deepEqual(rulesOf("linear"), ["linear", 192, "linear", 192]);
  assert.deepEqual(rulesOf("auto"), ["linear", 192, "ensemble", 288]);
});

test("fewer steps of a young series are held back for the gate, but at least one horizon", () => {
  const rules = resolveRetrainRules(retrain, settings());
  assert.deepEqual(
    [40, 96, 200, 288, 1440].map((steps) => heldBackSteps(rules, steps)),
    [24, 24, 50, 72, 72],
  );
});

test("a short horizon is scored over steps enough all the same", () => {
  const rules = resolveRetrainRules(retrain, settings({ horizon: 3, season: 3 }));
  assert.deepEqual([rules.evidenceSteps, rules.rollingSteps, rules.probationSteps], [36, 36, 36]);
});

test("what is given holds", () => {
  const given = { evidenceSteps: 5, rollingSteps: 6, tailSteps: 7, probationSteps: 8, cooldownSteps: 9 };
  const { evidenceSteps, rollingSteps, tailSteps, probationSteps, cooldownSteps } = resolveRetrainRules(
    { ...retrain, ...given, minHistory: 10 },
    settings(),
  );
  assert.deepEqual({ evidenceSteps, rollingSteps, tailSteps, probationSteps, cooldownSteps }, given);
  assert.equal(resolveRetrainRules({ ...retrain, minHistory: 10 }, settings()).minHistory, 10);
});

test("no more is asked for than is kept", () => {
  const short = settings({ history: 96 });
  assert.deepEqual(
    [resolveRetrainRules(retrain, short).minHistory, resolveRetrainRules(retrain, short).tailSteps],
    [96, 24],
  );
  assert.equal(resolveRetrainRules({ ...retrain, minHistory: 5000 }, short).minHistory, 96);
});

test("an age of 0 is no reason ever", () => {
  assert.equal(
    resolveRetrainRules({ ...retrain, maxAgeHours: 0 }, settings()).maxAgeMs,
    Number.POSITIVE_INFINITY,
  );
  assert.equal(resolveRetrainRules({ ...retrain, maxAgeHours: 2 }, settings()).maxAgeMs, 7_200_000);
});
