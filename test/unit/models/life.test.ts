import assert from "node:assert/strict";
import { test } from "node:test";
import { moveLife, newLife, type Phase, phases } from "../../../src/models/life.ts";

/** As the drawing at the top of the file has it. */
const legal = new Set([
  ...["cold champion", "cold training", "training cold", "training champion", "training drifting"],
  ...["champion training", "champion drifting", "champion cold"],
  ...["drifting training", "drifting champion", "drifting cold"],
]);

for (const from of phases) {
  for (const to of phases.filter((phase) => phase !== from)) {
    const isLegal = legal.has(`${from} ${to}`);
    test(`a series that is ${from} ${isLegal ? "may" : "cannot"} become ${to}`, () => {
      const facts = { ...newLife, phase: from, sinceMs: 3, requestId: "r" };
      if (!isLegal) {
        assert.throws(() => moveLife(facts, to, 7), new RegExp(`${from} cannot become ${to}`));
        return;
      }
      const moved = moveLife(facts, to, 7, { requestId: null });
      assert.deepEqual(moved, { ...facts, phase: to, sinceMs: 7, requestId: null });
      assert.deepEqual([facts.phase, facts.requestId], [from, "r"], "what was given has not changed");
    });
  }
}

test("a phase that stays keeps its time, whatever else changes", () => {
  for (const phase of phases satisfies readonly Phase[]) {
    const facts = { ...newLife, phase, sinceMs: 3 };
    assert.deepEqual(moveLife(facts, phase, 7, { verdict: "v" }), { ...facts, verdict: "v" });
  }
});
