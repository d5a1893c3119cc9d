import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { endProbation } from "../../../src/lifecycle/probation.ts";
import { createFamilies } from "../../../src/models/families.ts";
import type { ForecastNetModel } from "../../../src/models/forecastnet/model.ts";
import { modelRecord } from "../../rig/model-record.ts";
import { historyOf, horizon, hourMs, noise, openEngine, season, stillModel } from "../gate/still-models.ts";
import { encodeRecord, LifecycleFixture } from "./lifecycle-fixture.ts";

const good = (version: string): ForecastNetModel => ({ ...stillModel({ key: "a" }), version });
const bad = (version: string): ForecastNetModel => ({ ...stillModel({ key: "a", bias: 8 }), version });

interface Scene {
  readonly model: ForecastNetModel;
  /** The bytes of its record. */
  readonly previous?: Buffer | null;
  /** Whether the predecessor lies on the topic only. */
  readonly isOnTopic?: boolean;
  readonly cohort?: string;
}

function open(t: TestContext, { model, previous = null, isOnTopic = false, cohort = "" }: Scene) {
  const record = { ...modelRecord(model), previous, previousVersion: previous === null ? null : "v1" };
  const fixture = new LifecycleFixture({
    settings: () => ({ horizon, season, history: 300, cohort }),
    rules: { horizon, season, probationSteps: 18 },
    readRecord: async () => (isOnTopic ? record : null),
  });
  fixture.histories.set("a", historyOf(noise(200), { seriesId: "a" }));
  assert.equal(fixture.models.put(record), null);
  if (isOnTopic) fixture.models.forgetPrevious("a");
  fixture.live("a", { phase: "champion", probation: { predecessorMase: 0.7, sinceMs: 150 * hourMs } });
  const engine = openEngine();
  t.after(() => engine.close());
  const end = () => endProbation(fixture.lifecycle, "a", createFamilies(engine));
  return { fixture, end };
}

const before = (model: ForecastNetModel) => encodeRecord(modelRecord(model));

describe("a model on probation", () => {
  test("is confirmed when its predecessor would have done worse, and both live scores are told", async (t) => {
    const { fixture, end } = open(t, { model: good("v2"), previous: before(bad("v1")) });
    fixture.score("a", "v2", 0.5, 18);
    const decision = await end();
    assert.deepEqual([decision?.kind, decision?.fromVersion], ["confirmed", "v2"]);
    const { liveMase, livePredecessorMase, modelMase, predecessorMase } = decision?.numbers ?? {};
    assert.ok(Math.abs(liveMase - 0.5) < 1e-6);
    assert.equal(livePredecessorMase, 0.7);
    assert.ok(modelMase < predecessorMase);
  });

  for (const isOnTopic of [false, true]) {
    const where = isOnTopic ? "read from the topic" : "still at hand";
    test(`gives way to its predecessor, ${where}, that would have done better`, async (t) => {
      const { fixture, end } = open(t, { model: bad("v2"), previous: before(good("v1")), isOnTopic });
      fixture.score("a", "v2", 0.5, 18);
      const decision = await end();
      assert.equal(decision?.kind, "rolled-back");
      assert.equal(decision?.kind === "rolled-back" && decision.record?.version, "v1");
    });
  }

  test("that had none before it is measured by seasonal-naive", async (t) => {
    const { fixture, end } = open(t, { model: bad("v2") });
    fixture.score("a", "v2", 0.5, 18);
    const decision = await end();
    assert.equal(decision?.kind === "rolled-back" && decision.record, null);
    assert.match(decision?.reason ?? "", /worse than seasonal-naive/);
  });

  test("of a member is measured by the cohort's, which would serve in its place", async (t) => {
    // Worse than the cohort's, and better than seasonal-naive.
    const model = { ...stillModel({ key: "a", bias: 0.8 }), version: "v2" };
    const alone = open(t, { model });
    const member = open(t, { model, cohort: "pumps" });
    member.fixture.models.put(modelRecord({ ...good("c1"), key: "cohort:pumps" }));
    for (const { fixture } of [alone, member]) fixture.score("a", "v2", 0.5, 18);
    assert.equal((await alone.end())?.kind, "confirmed");
    const decision = await member.end();
    assert.equal(decision?.kind === "rolled-back" && decision.record, null, decision?.reason);
  });

  test("whose predecessor is damaged is confirmed: there is nothing to go back to", async (t) => {
    const damaged = before(good("v1"));
    damaged[damaged.length >> 1] ^= 0xff;
    for (const previous of [damaged, Buffer.from("scribble")]) {
      const { fixture, end } = open(t, { model: bad("v2"), previous });
      fixture.score("a", "v2", 0.5, 18);
      const decision = await end();
      assert.equal(decision?.kind, "confirmed");
      assert.match(decision?.reason ?? "", /^its predecessor cannot be read: /);
    }
  });
});

describe("a probation goes on", () => {
  test("while too few steps were scored", async (t) => {
    const { fixture, end } = open(t, { model: bad("v2") });
    fixture.score("a", "v2", 0.5, 17);
    assert.equal(await end(), null);
  });

  test("while the scores are those of the version before", async (t) => {
    const { fixture, end } = open(t, { model: bad("v2") });
    fixture.score("a", "v1", 0.5, 18);
    assert.equal(await end(), null);
  });

  test("nowhere else: not without a probation, a model or a history", async (t) => {
    const { fixture, end } = open(t, { model: bad("v2") });
    fixture.score("a", "v2", 0.5, 18);
    fixture.histories.clear();
    assert.equal(await end(), null);
    fixture.live("a", { probation: null });
    assert.equal(await end(), null);
    fixture.models.remove("a");
    assert.equal(await end(), null);
  });
});
