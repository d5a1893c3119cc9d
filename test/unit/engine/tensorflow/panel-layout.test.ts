// The layout on the device must hold every weight once and lose none on the way there and back.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fromPanel, layOut, toPanel } from "../../../../src/engine/tensorflow/panel-layout.ts";
import { weightCountOf } from "../../../../src/models/forecastnet/layers.ts";
import { planNet } from "../../../../src/models/forecastnet/plan.ts";
import { specOf } from "../../../../src/models/forecastnet/spec.ts";

const plans = [
  planNet(specOf("FN", 4)),
  planNet(specOf("cFN", 5)),
  planNet(specOf("FN2", 3, { shortcut: "linear", channels: 2, targets: [0, 1] })),
  planNet(specOf("cFN2", 3, { shortcut: "linear" })),
];

test("every weight lies in one panel, once", () => {
  for (const plan of plans) {
    const places = layOut(plan).panels.flatMap(({ order }) => [...order]);
    assert.equal(places.length, plan.weightCount);
    assert.equal(new Set(places).size, plan.weightCount);
  }
});

test("weights decay and biases do not", () => {
  for (const plan of plans) {
    const isWeight = new Uint8Array(plan.weightCount);
    for (const { layers, mean, deviation } of plan.cells) {
      for (const layer of [...layers, mean, ...(deviation === null ? [] : [deviation])]) {
        isWeight.fill(1, layer.weightsAt, layer.weightsAt + weightCountOf(layer));
      }
    }
    for (const { order, isDecayed } of layOut(plan).panels) {
      assert.ok(order.every((place) => isWeight[place] === Number(isDecayed)));
    }
  }
});

test("weights come back from the panels as they went", () => {
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
