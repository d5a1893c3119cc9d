import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { WearScenario } from "../../../../src/cli/demo/wear-scenario.ts";
import type { ModelEventKindSymbol } from "../../../../src/log/codec/schemas.generated.ts";
import { modelEvent } from "./model-event.ts";

describe("the wear scenario", () => {
  let scenario: WearScenario;
  const receive = (kind: ModelEventKindSymbol, numbers = {}, modelKey = "pump-1") =>
    scenario.receive(modelEvent({ kind, numbers, modelKey }), 1);
  const kinds = () => scenario.steps.map(({ kind }) => kind);

  beforeEach(() => {
    scenario = new WearScenario("pump-1", 2);
    scenario.receiveModel(0.5);
  });

  test("is due once the model of its sensor is confirmed, and begins only once", () => {
    receive("PROMOTED");
    receive("CONFIRMED", {}, "another");
    assert.equal(scenario.isDue, false);
    receive("CONFIRMED");
    assert.equal(scenario.isDue, true);
    scenario.begin(9);
    assert.equal(scenario.isDue, false);
    assert.deepEqual(kinds(), ["worn"]);
  });

  test("follows the worker from wear to recovery", () => {
    scenario.begin(9);
    for (const kind of ["DRIFTED", "REQUESTED"] as const) receive(kind);
    assert.equal(receive("REFUSED"), null);
    for (const kind of ["REQUESTED", "PROMOTED"] as const) receive(kind);
    scenario.receiveModel(0.4);
    const last = receive("CONFIRMED", { liveMase: 0.7 });
    assert.deepEqual(kinds(), ["worn", "stale", "training", "promoted", "recovered"]);
    assert.match(last?.text ?? "", /pump-1 has recovered: live MASE 0\.70, stale above 0\.80/);
  });

  test("does not end with a confirmed model whose live scores are still stale", () => {
    scenario.begin(9);
    for (const kind of ["DRIFTED", "REQUESTED", "PROMOTED"] as const) receive(kind);
    assert.equal(receive("CONFIRMED", { liveMase: 1.01 }), null);
    assert.equal(receive("DRIFTED")?.kind, "stale");
    for (const kind of ["REQUESTED", "PROMOTED"] as const) receive(kind);
    assert.equal(receive("CONFIRMED", { liveMase: 0.99 })?.kind, "recovered");
  });

  test("ends when the old model recovers by itself", () => {
    scenario.begin(9);
    receive("DRIFTED");
    assert.match(receive("RECOVERED", { rollingMase: 0.6 })?.text ?? "", /recovered: live MASE 0\.60/);
  });
});
