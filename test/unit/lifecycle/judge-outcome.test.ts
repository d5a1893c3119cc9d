import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { Decision } from "../../../src/lifecycle/decision.ts";
import { type JudgingContext, judgeOutcome } from "../../../src/lifecycle/judge-outcome.ts";
import { avroCodec } from "../../../src/log/codec/avro.ts";
import type { ModelRecord } from "../../../src/log/codec/schemas.generated.ts";
import { createFamilies } from "../../../src/models/families.ts";
import type { TrainedModel } from "../../../src/models/family.ts";
import type { ForecastNetModel } from "../../../src/models/forecastnet/model.ts";
import { modelRecord } from "../../rig/model-record.ts";
import {
  historyOf,
  horizon,
  noise,
  openEngine,
  season,
  stillModel,
  trained,
  wave,
} from "../gate/still-models.ts";
import { LifecycleFixture } from "./lifecycle-fixture.ts";

const recordCodec = avroCodec("ModelRecord");

/** The mean of its window: the best there is where the values are noise. */
const good = (version: string): ForecastNetModel => ({ ...stillModel({ key: "a" }), version });
const bad = (version: string, key = "a"): ForecastNetModel => ({
  ...stillModel({ key, bias: 8 }),
  version,
});

interface Scene {
  readonly values?: Float64Array;
  readonly champion?: ForecastNetModel;
  readonly cohort?: string;
}

function open(t: TestContext, { values = noise(200), champion, cohort = "" }: Scene = {}) {
  const fixture = new LifecycleFixture({
    settings: () => ({ horizon, season, history: 300, cohort }),
    rules: { horizon, season, tailSteps: 18 },
  });
  fixture.histories.set("a", historyOf(values, { seriesId: "a" }));
  if (champion !== undefined) assert.equal(fixture.models.put(modelRecord(champion)), null);
  const engine = openEngine();
  t.after(() => engine.close());
  const context: JudgingContext = {
    lifecycle: fixture.lifecycle,
    modelKey: "a",
    families: createFamilies(engine),
    gather: async () => [],
    nowMs: 1234,
    signal: new AbortController().signal,
  };
  const judge = (...challengers: TrainedModel[]) =>
    judgeOutcome({ outcome: "trained", challengers }, context);
  return { fixture, context, judge };
}

function recordIn(decision: Decision): ModelRecord {
  assert.equal(decision.kind, "promoted", decision.reason);
  return (decision as Extract<Decision, { kind: "promoted" }>).record;
}

test("a training that failed says why, about the model that serves", async (t) => {
  const { context } = open(t, { champion: bad("v1") });
  assert.deepEqual(await judgeOutcome({ outcome: "failed", reason: "too flat" }, context), {
    ...{ kind: "failed", modelKey: "a", fromVersion: "v1", reason: "too flat", numbers: {} },
  });
});

describe("a challenger that passes the gate", () => {
  test("becomes a record that tells how it came to be and what the gate found", async (t) => {
    const { fixture, judge } = open(t);
    fixture.live("a", { phase: "training", requestId: "r1" });
    const decision = await judge(trained(good("v2"), 150));
    const { version, requestId, trainedAt, previousVersion, previous, validation } = recordIn(decision);
    assert.deepEqual([version, requestId, trainedAt], ["v2", "r1", 1234]);
    assert.deepEqual([previousVersion, previous, decision.fromVersion], [null, null, null]);
    assert.equal(validation.baselineMase, decision.numbers.naiveMase);
    assert.equal(validation.baselineCrps, decision.numbers.naiveCrps);
    assert.ok(validation.baselineMase > 0);
  });

  test("takes its predecessor along, which takes none", async (t) => {
    const { fixture, judge } = open(t);
    const before = { ...modelRecord(bad("v1")), previous: Buffer.from("older"), previousVersion: "v0" };
    fixture.models.put(before);
    const decision = await judge(trained(bad("v3"), 150), trained(good("v2"), 150));
    const record = recordIn(decision);
    assert.deepEqual([decision.fromVersion, record.version, record.previousVersion], ["v1", "v2", "v1"]);
    const previous = recordCodec.decode(record.previous as Buffer);
    assert.deepEqual([previous.version, previous.previous], ["v1", null]);
    assert.deepEqual(previous.weights, before.weights);
  });

  test("tells the live MASE of what served before in its own units", async (t) => {
    const { fixture, judge } = open(t);
    fixture.score("a", "seasonal-naive-2", 3); // In units of 1.
    const decision = await judge({ ...trained(good("v2"), 150), naiveErrors: [2] });
    const told = decision.kind === "promoted" ? decision.predecessorMase : null;
    assert.ok(Math.abs((told ?? 0) - 1.5) < 1e-6, `told ${told}`);
  });

  test("of a cohort's member leaves the cohort's model, which is not its predecessor", async (t) => {
    const champion = bad("c1", "cohort:pumps");
    const decision = await open(t, { champion, cohort: "pumps" }).judge(trained(good("v2"), 150));
    assert.equal(decision.fromVersion, "c1");
    assert.deepEqual([recordIn(decision).previousVersion, recordIn(decision).previous], [null, null]);
    assert.ok(decision.numbers.championMase > 1);
  });
});

describe("a challenger that does not", () => {
  test("is refused with its version and the numbers", async (t) => {
    const decision = await open(t, { champion: good("v1") }).judge(trained(bad("v2"), 150));
    assert.equal(decision.kind, "refused");
    assert.equal((decision as { toVersion?: string }).toVersion, "v2");
    assert.ok(decision.numbers.challengerMase > decision.numbers.championMase);
  });

  test("takes its champion along when seasonal-naive beats both", async (t) => {
    const { judge } = open(t, { values: wave(200), champion: bad("v1") });
    const decision = await judge(trained(bad("v2"), 150));
    assert.deepEqual([decision.kind, decision.fromVersion], ["retired", "v1"]);
  });

  test("does not retire the model of a cohort, which is not its own", async (t) => {
    const champion = bad("c1", "cohort:pumps");
    const { judge } = open(t, { values: wave(200), champion, cohort: "pumps" });
    const decision = await judge(trained(bad("v2"), 150));
    assert.deepEqual([decision.kind, decision.fromVersion], ["refused", "c1"]);
  });

  test("cannot be judged where there is no history any more", async (t) => {
    const { fixture, judge } = open(t);
    fixture.histories.clear();
    const decision = await judge(trained(good("v2"), 150));
    assert.match(decision.reason, /too few steps/);
  });
});

describe("a model that was brought", () => {
  const bring = (model: ForecastNetModel, skipsGate: boolean) => {
    const record = { ...modelRecord(model), lineage: { version: "v0", reason: "brought" }, trainedAt: 77 };
    return [
      { outcome: "trained", challengers: [trained(model, 150)] },
      { record, skipsGate },
    ] as const;
  };

  test("meets the same gate, and stays the record that it was", async (t) => {
    const { context } = open(t, { champion: bad("v1") });
    const [result, imported] = bring(good("v5"), false);
    const record = recordIn(await judgeOutcome(result, context, imported));
    assert.deepEqual([record.trainedAt, record.lineage?.version, record.previousVersion], [77, "v0", "v1"]);
    const [poor, worse] = bring(bad("v6"), false);
    const refused = await judgeOutcome(poor, open(t, { champion: good("v1") }).context, worse);
    assert.deepEqual([refused.kind, refused.reason], ["refused", "the champion is better"]);
  });

  test("is judged on the tail alone: its folds may be of another series", async (t) => {
    const folds = { mase: 9, crps: 9, points: 600 };
    const challengers = [{ ...trained(good("v5"), 150), folds }];
    const own = await judgeOutcome({ outcome: "trained", challengers }, open(t).context);
    assert.deepEqual([own.kind, own.reason], ["refused", "seasonal-naive is best"]);
    const [, imported] = bring(good("v5"), false);
    const brought = await judgeOutcome({ outcome: "trained", challengers }, open(t).context, imported);
    assert.equal(brought.kind, "promoted", brought.reason);
    assert.equal(brought.numbers.foldSteps, undefined);
  });

  test("is measured by the naive errors of the series that it serves", async (t) => {
    const { fixture, context } = open(t, { values: noise(200).map((value) => 1000 * value) });
    const [result, { record, skipsGate }] = bring(good("v5"), true);
    assert.deepEqual(record.validation.naiveErrors, [1]);
    const decision = await judgeOutcome(result, context, { record, skipsGate });
    const { naiveErrors, mase, crps } = recordIn(decision).validation;
    // The mean difference of two normal values is 2/√π deviations.
    assert.ok(Math.abs(naiveErrors[0] / 1128 - 1) < 0.15, `naive errors of ${naiveErrors}`);
    assert.deepEqual([mase, crps / naiveErrors[0]], [0.5, 0.5], "of which it has as many as before");
    fixture.histories.clear();
    const unknown = await judgeOutcome(result, context, { record, skipsGate });
    assert.deepEqual(recordIn(unknown).validation.naiveErrors, [1]);
  });

  test("serves without the gate where that is asked for", async (t) => {
    const { context } = open(t, { champion: good("v1") });
    const [result, imported] = bring(bad("v6"), true);
    const decision = await judgeOutcome(result, context, imported);
    assert.deepEqual([recordIn(decision).version, recordIn(decision).previousVersion], ["v6", "v1"]);
    assert.equal(decision.reason, "ordered by hand, without the gate");
  });
});
