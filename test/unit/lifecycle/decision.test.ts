import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import {
  type Decision,
  type DecisionKind,
  lifeAfter,
  toEvent,
  toVersionOf,
} from "../../../src/lifecycle/decision.ts";
import { avroCodec } from "../../../src/log/codec/avro.ts";
import { type Life, newLife, type Phase, phases } from "../../../src/models/life.ts";
import { decisionOf, recordOf } from "./lifecycle-fixture.ts";

const circumstances = { nowMs: 100, newestMs: 50, restMs: 8, hasModel: true, isCohort: false };

function after(
  kind: DecisionKind,
  life: Partial<Life>,
  { decision = {}, ...changes }: Partial<typeof circumstances> & { decision?: Partial<Decision> } = {},
): Life {
  const given = decisionOf(kind, decision);
  return lifeAfter(given, { ...newLife, ...life }, { ...circumstances, ...changes });
}

describe("a training that ends with nothing", () => {
  for (const kind of ["failed", "refused"] as const) {
    test(`because it was ${kind} lets the series rest where it was before`, () => {
      const training = { phase: "training", requestId: "r", sinceMs: 1 } as const;
      const told = { requestId: null, restsUntilMs: 58, verdict: `${kind}: because`, sinceMs: 100 };
      assert.deepEqual(after(kind, training), { ...newLife, ...told, phase: "champion" });
      const drifting = { ...training, driftSinceMs: 9 };
      assert.deepEqual(after(kind, drifting), { ...newLife, ...told, phase: "drifting", driftSinceMs: 9 });
      assert.deepEqual(after(kind, training, { hasModel: false }), { ...newLife, ...told, phase: "cold" });
    });
  }

  test("leaves no drift to a series that has no model any more", () => {
    const { phase, driftSinceMs, probation } = after(
      "failed",
      { phase: "training", driftSinceMs: 9, probation: { predecessorMase: 1, sinceMs: 2 } },
      { hasModel: false },
    );
    assert.deepEqual([phase, driftSinceMs, probation], ["cold", null, null]);
  });
});

test("an order that is refused changes nothing but what is told: a training under way goes on", () => {
  const life = { phase: "training", requestId: "r", sinceMs: 1, restsUntilMs: 4 } as const;
  const decision = { isByHand: true };
  assert.deepEqual(after("refused", life, { decision }), {
    ...newLife,
    ...life,
    verdict: "refused: because",
  });
});

test("a promotion begins a probation, in event time, and ends drift and training", () => {
  const life = { phase: "training", requestId: "r", driftSinceMs: 9 } as const;
  assert.deepEqual(after("promoted", life, { decision: { predecessorMase: 0.7 } as Partial<Decision> }), {
    ...newLife,
    ...{ phase: "champion", sinceMs: 100, restsUntilMs: 58, verdict: "promoted: because" },
    probation: { predecessorMase: 0.7, sinceMs: 50 },
  });
});

test("a cohort has no probation", () => {
  assert.equal(after("promoted", { phase: "training" }, { isCohort: true }).probation, null);
});

test("a rollback to a model leaves a champion, one to nothing a cold series; neither on probation", () => {
  const life = { phase: "champion", probation: { predecessorMase: null, sinceMs: 1 } } as const;
  const record = { record: recordOf("a", "v1") } as Partial<Decision>;
  const back = after("rolled-back", life, { decision: record });
  assert.deepEqual([back.phase, back.probation, back.restsUntilMs], ["champion", null, 58]);
  const cold = after("rolled-back", life);
  assert.deepEqual([cold.phase, cold.probation, cold.restsUntilMs], ["cold", null, 58]);
});

test("a confirmed model is no longer on probation and does not rest for it", () => {
  const life = { phase: "drifting", probation: { predecessorMase: 1, sinceMs: 1 }, restsUntilMs: 3 } as const;
  assert.deepEqual(after("confirmed", life), {
    ...{ ...newLife, ...life },
    ...{ probation: null, verdict: "confirmed: because" },
  });
});

/** What may be decided about a series in each phase: by the loop, by an outcome, or by hand at any time. */
const decidable: Readonly<Record<Phase, readonly DecisionKind[]>> = {
  cold: ["requested", "failed", "refused", "promoted", "retired", "rolled-back"],
  training: ["requested", "failed", "refused", "promoted", "retired", "rolled-back"],
  champion: [
    ...(["drifted", "requested", "failed", "refused", "promoted"] as const),
    ...(["confirmed", "retired", "rolled-back"] as const),
  ],
  drifting: [
    ...(["recovered", "requested", "failed", "refused", "promoted"] as const),
    ...(["confirmed", "retired", "rolled-back"] as const),
  ],
};

const step = fc.record({
  choice: fc.nat(),
  isByHand: fc.boolean(),
  hasRecord: fc.boolean(),
  // A model may be lost to changed settings, and found again, by a restart between two decisions.
  hasModel: fc.boolean(),
  isCohort: fc.boolean(),
});

test("no life that the loop can lead meets an illegal move, and its facts stay consistent", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      let life = newLife;
      for (const [i, { choice, isByHand, hasRecord, ...told }] of steps.entries()) {
        const kinds = decidable[life.phase];
        const record = hasRecord ? recordOf("a") : null;
        const decision = decisionOf(kinds[choice % kinds.length], {
          ...{ isByHand },
          ...(kinds[choice % kinds.length] === "rolled-back" && { record }),
        } as Partial<Decision>);
        life = lifeAfter(decision, life, { nowMs: i, newestMs: i, restMs: 5, ...told });
        assert.ok(phases.includes(life.phase));
        assert.match(life.verdict ?? "", new RegExp(`^${decision.kind}: `));
        if (life.phase !== "training") assert.equal(life.requestId, null, `${decision.kind} left a request`);
        if (life.phase === "cold") assert.equal(life.driftSinceMs, null, `${decision.kind} left a drift`);
        if (life.phase === "drifting") assert.notEqual(life.driftSinceMs, null);
      }
    }),
    { numRuns: 500 },
  );
});

const codec = avroCodec("ModelEvent");
const symbols: Readonly<Record<DecisionKind, string>> = {
  ...{ drifted: "DRIFTED", recovered: "RECOVERED", requested: "REQUESTED", failed: "FAILED" },
  ...{ refused: "REFUSED", promoted: "PROMOTED", confirmed: "CONFIRMED" },
  ...{ "rolled-back": "ROLLED_BACK", retired: "RETIRED" },
};

for (const [kind, symbol] of Object.entries(symbols) as [DecisionKind, string][]) {
  test(`${kind} is told as ${symbol}, with all that decided it`, () => {
    const decision = decisionOf(kind, { fromVersion: "v1" });
    const event = { ...codec.decode(codec.encode(toEvent(decision, 77))) };
    const toVersion = kind === "promoted" ? "v2" : null;
    assert.deepEqual(event, {
      ...{
        id: `a/${kind}/${toVersion ?? "v1"}/77`,
        modelKey: "a",
        kind: symbol,
        fromVersion: "v1",
        toVersion,
      },
      ...{ reason: "because", numbers: { mase: 0.5 }, time: 77 },
    });
  });
}

test("the version that serves from now on, or was refused, is named", () => {
  assert.equal(toVersionOf(decisionOf("rolled-back", { record: recordOf("a", "v0") })), "v0");
  assert.equal(toVersionOf(decisionOf("rolled-back")), null);
  assert.equal(toVersionOf(decisionOf("refused", { toVersion: "v3" })), "v3");
});

test("the event of a series that has no model and gets none has an id as well", () => {
  assert.equal(toEvent(decisionOf("failed"), 5).id, "a/failed/cold/5");
});
