import assert from "node:assert/strict";
import { test } from "node:test";
import { avroCodec } from "../../../src/log/codec/avro.ts";
import type { DecisionKind } from "../../../src/retrain/decision.ts";
import { toEvent, toVersionOf } from "../../../src/retrain/event-record.ts";
import { decisionOf, recordOf } from "./desk-fixture.ts";

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
