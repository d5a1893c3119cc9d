import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { Newsroom } from "../../../../src/cli/demo/newsroom.ts";
import { modelEvent } from "./model-event.ts";

describe("the newsroom", () => {
  let newsroom: Newsroom;

  beforeEach(() => {
    newsroom = new Newsroom();
  });

  test("tells a decision in words, with its time and its tone", () => {
    newsroom.hear(modelEvent({ kind: "PROMOTED" }), 7);
    newsroom.hear(modelEvent({ kind: "ROLLED_BACK", reason: "worse than seasonal-naive by 23 %" }), 9);
    assert.deepEqual(newsroom.latest(2), [
      { seconds: 7, text: "pump-1: promoted, better than seasonal-naive by 38 %", tone: "good" },
      { seconds: 9, text: "pump-1: rolled back, worse than seasonal-naive by 23 %", tone: "bad" },
    ]);
  });

  test("tells a drift by its numbers, those it has", () => {
    const numbers = { rollingMase: 2.195, validationMase: 0.62, coverage: 0.538 };
    newsroom.hear(modelEvent({ kind: "DRIFTED", numbers }), 20);
    newsroom.hear(modelEvent({ kind: "DRIFTED", numbers: { rollingMase: 3 } }), 21);
    assert.deepEqual(
      newsroom.latest(2).map(({ text }) => text),
      ["pump-1: drifts, MASE 2.19 (validated 0.62), interval held 54 %", "pump-1: drifts, MASE 3.00"],
    );
  });

  test("counts a first training without a word, and tells of one after a drift", () => {
    newsroom.hear(modelEvent({ kind: "REQUESTED", reason: "new" }), 3);
    assert.equal(newsroom.told, 0);
    newsroom.hear(modelEvent({ kind: "REQUESTED", reason: "drift" }), 30);
    assert.match(newsroom.latest(1)[0].text, /pump-1: in training again, because it drifts/);
    assert.equal(newsroom.countOf("REQUESTED"), 2);
    assert.equal(newsroom.countOf("FAILED"), 0);
  });

  for (const kind of ["PROMOTED", "RECOVERED", "ROLLED_BACK", "RETIRED"] as const) {
    test(`knows a drifting model as stale until it is ${kind}`, () => {
      newsroom.hear(modelEvent({ kind: "DRIFTED" }), 1);
      for (const other of ["REQUESTED", "REFUSED", "FAILED"] as const)
        newsroom.hear(modelEvent({ kind: other }), 2);
      newsroom.hear(modelEvent({ kind, modelKey: "another" }), 3);
      assert.deepEqual([...newsroom.stale], ["pump-1"]);
      newsroom.hear(modelEvent({ kind }), 4);
      assert.deepEqual([...newsroom.stale], []);
    });
  }

  test("gives what was told after a place, and forgets the oldest", () => {
    const tell = (seconds: number) => newsroom.tell({ seconds, text: String(seconds), tone: "plain" });
    tell(1);
    const { told } = newsroom;
    assert.deepEqual(newsroom.since(told), []);
    for (let seconds = 2; seconds <= 4; seconds++) tell(seconds);
    assert.deepEqual(
      newsroom.since(told).map(({ seconds }) => seconds),
      [2, 3, 4],
    );
    for (let seconds = 5; seconds <= 2_000; seconds++) tell(seconds);
    const kept = newsroom.since(0);
    assert.ok(kept.length < 1_000, `${kept.length} kept`);
    assert.equal(kept.at(-1)?.seconds, 2_000);
  });
});
