import assert from "node:assert/strict";
import { test } from "node:test";
import { kindOf, NetGains } from "../../../src/lifecycle/net-gains.ts";

test("where nothing is known, nets are expected to gain what they usually do", () => {
  assert.ok(new NetGains().expected("any") > 0.01);
});

test("the expectation follows what nets have gained on series of the same kind, and of no other", () => {
  const gains = new NetGains();
  for (let i = 0; i < 20; i++) gains.note("plain", -0.02);
  for (let i = 0; i < 20; i++) gains.note("weekly", 0.2);
  assert.ok(gains.expected("plain") < 0.01, "nets do not pay there");
  assert.ok(gains.expected("weekly") > 0.15, "and do here");
  assert.equal(gains.expected("other"), new NetGains().expected("any"));
});

test("series are of a kind when shape and share of the naive error left are alike", () => {
  const shape = { horizon: 24, season: 24 };
  const one = kindOf(shape, { mase: 0.5, baselineMase: 1 });
  assert.equal(kindOf(shape, { mase: 1.1, baselineMase: 2 }), one);
  assert.notEqual(kindOf(shape, { mase: 0.9, baselineMase: 1 }), one);
  assert.notEqual(kindOf({ ...shape, season: 168 }, { mase: 0.5, baselineMase: 1 }), one);
  assert.equal(kindOf(shape, { mase: 0.5, baselineMase: 0 }), kindOf(shape, { mase: 1, baselineMase: 1 }));
});
