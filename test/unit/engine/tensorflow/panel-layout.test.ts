// The layout on the device has every weight once, and weights survive the way there and back.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  fromPanel,
  layOut,
  type PanelRole,
  toPanel,
} from "../../../../src/engine/tensorflow/panel-layout.ts";
import { weightCountOf } from "../../../../src/models/forecastnet/layers.ts";
import { planNet, shortcutsOf } from "../../../../src/models/forecastnet/plan.ts";
import { specOf } from "../../../../src/models/forecastnet/spec.ts";

const plans = [
  planNet(specOf("FN", 4)),
  planNet(specOf("cFN", 5)),
  planNet(specOf("FN2", 3, { shortcut: "linear", channels: 2, targets: [0, 1] })),
  planNet(specOf("cFN2", 3, { shortcut: "linear" })),
];

test("every weight is in one panel, once", () => {
  for (const plan of plans) {
    const indices = layOut(plan).panels.flatMap(({ order }) => [...order]);
    assert.equal(indices.length, plan.weightCount);
    assert.equal(new Set(indices).size, plan.weightCount);
  }
});

test("weights, biases and shortcuts are in separate panels", () => {
  for (const plan of plans) {
    const roles = new Array<PanelRole>(plan.weightCount).fill("biases");
    for (const { layers, mean, deviation } of plan.cells) {
      for (const layer of [...layers, mean, ...(deviation === null ? [] : [deviation])]) {
        roles.fill("weights", layer.weightsAt, layer.weightsAt + weightCountOf(layer));
      }
    }
    for (const { from, to } of shortcutsOf(plan)) roles.fill("shortcuts", from, to);
    for (const { order, role } of layOut(plan).panels) {
      assert.ok(
        order.every((index) => roles[index] === role),
        role,
      );
    }
  }
});

test("weights read back from panels are unchanged", () => {
  for (const plan of plans) {
    const nets = [0, 1].map((net) => Float32Array.from({ length: plan.weightCount }, (_, i) => i + net / 2));
    const back = new Float32Array(plan.weightCount);
    for (const panel of layOut(plan).panels) {
      const values = toPanel(panel, nets);
      fromPanel(panel, values.subarray(panel.order.length), back);
    }
    assert.deepEqual(back, nets[1]);
  }
});

test("the window's columns of all cells but the first share one panel", () => {
  const { window, panels } = layOut(planNet(specOf("FN", 4)));
  assert.ok(window !== null);
  const { rows, columns, blockRows } = panels[window.weights];
  assert.deepEqual({ rows, columns, blockRows }, { rows: 72, columns: 8, blockRows: [24, 24, 24] });
  assert.equal(panels[window.biases].rows, 72);
});

test("the shortcuts' columns of the window share one panel", () => {
  const spec = specOf("cFN", 4, { shortcut: "linear", channels: 2, targets: [0, 1] });
  const { windowShortcuts, panels } = layOut(planNet(spec));
  assert.ok(windowShortcuts !== null);
  const { rows, columns, blockRows } = panels[windowShortcuts];
  assert.deepEqual({ rows, columns, blockRows }, { rows: 6, columns: 16, blockRows: [2, 2, 2] });
  assert.equal(layOut(planNet(specOf("FN", 4))).windowShortcuts, null);
});
