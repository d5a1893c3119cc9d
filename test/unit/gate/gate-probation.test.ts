import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type ProbationCase, provesWorse } from "../../../src/gate/gate.ts";
import { createFamilies } from "../../../src/models/families.ts";
import { historyOf, horizon, hourMs, noise, openEngine, season, stillModel, wave } from "./still-models.ts";

const families = createFamilies(openEngine());
const baseline = families.baselineFor("s", { horizon, season, channels: 1 });
const steps = 300;
const rules = { margin: 0.02, tailSteps: 48, season, horizon };

async function probation(changes: Partial<ProbationCase>) {
  const histories = [historyOf(noise(steps))];
  const afterMs = (steps - 49) * hourMs;
  return provesWorse(families, {
    ...{ model: stillModel(), predecessor: baseline, histories, afterMs, rules },
    isPredecessorBaseline: changes.predecessor === undefined,
    ...changes,
  });
}

describe("a promoted model", () => {
  test("that does worse than its predecessor would have done is found out, with the numbers", async () => {
    const finding = await probation({ model: stillModel({ bias: 2 }), predecessor: stillModel() });
    assert.equal(finding.isWorse, true);
    assert.match(finding.reason, /^worse than its predecessor by [\d.]+ %$/);
    assert.ok(finding.numbers.modelMase > 1.5 * finding.numbers.predecessorMase);
    assert.equal(finding.numbers.steps, 48);
  });

  test("that does better, or as well, passes", async () => {
    const better = await probation({ predecessor: stillModel({ level: "last" }) });
    assert.equal(better.isWorse, false);
    assert.match(better.reason, /^better than its predecessor by/);
    const equal = await probation({ predecessor: stillModel() });
    assert.equal(equal.isWorse, false);
  });

  test("that is worse by a little passes: so short a time proves nothing", async () => {
    const finding = await probation({ model: stillModel({ bias: -0.35 }), predecessor: stillModel() });
    assert.ok(finding.numbers.modelMase > 1.02 * finding.numbers.predecessorMase);
    assert.match(finding.reason, /^worse than its predecessor by [\d.]+ %, which proves nothing$/);
    assert.deepEqual([finding.isWorse, finding.numbers.margin], [false, 0.1]);
    const strict = await probation({
      ...{ model: stillModel({ bias: 2 }), predecessor: stillModel() },
      rules: { ...rules, margin: 0.9 },
    });
    assert.equal(strict.isWorse, false);
  });

  test("that followed no other is held against seasonal-naive", async () => {
    const passes = await probation({});
    assert.deepEqual([passes.isWorse, passes.reason.startsWith("better than seasonal-naive")], [false, true]);
    const fails = await probation({ histories: [historyOf(wave(steps))] });
    assert.equal(fails.isWorse, true);
    assert.match(fails.reason, /^worse than seasonal-naive by/);
  });

  test("that cannot forecast what comes is worse than anyone who can", async () => {
    const model = stillModel({ weight: Number.NaN });
    const finding = await probation({ model, predecessor: stillModel() });
    assert.equal(finding.isWorse, true);
    assert.match(finding.reason, /^it is unfit: .*no finite value/);
    const neither = await probation({ model, predecessor: model });
    assert.equal(neither.isWorse, false);
  });

  test("is not blamed when its predecessor cannot forecast", async () => {
    const finding = await probation({ predecessor: stillModel({ horizon: 4 }) });
    assert.deepEqual(
      [finding.isWorse, finding.reason],
      [false, "its predecessor is unfit: it forecasts 4 steps instead of 6"],
    );
  });

  test("is not judged before there is enough to judge on", async () => {
    const finding = await probation({ model: stillModel({ bias: 9 }), afterMs: (steps - 11) * hourMs });
    assert.deepEqual([finding.isWorse, finding.reason], [false, "too few steps to judge on: 10, needed 24"]);
  });
});
