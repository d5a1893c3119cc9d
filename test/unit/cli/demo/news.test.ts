import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { NewsFeed } from "../../../../src/cli/demo/news.ts";
import { modelEvent } from "./model-event.ts";

describe("the news feed", () => {
  let news: NewsFeed;

  beforeEach(() => {
    news = new NewsFeed();
  });

  test("turns a decision into a line with its time and tone", () => {
    news.receive(modelEvent({ kind: "PROMOTED" }), 7);
    news.receive(modelEvent({ kind: "ROLLED_BACK", reason: "worse than seasonal-naive by 23 %" }), 9);
    assert.deepEqual(news.latest(2), [
      { seconds: 7, text: "pump-1: promoted, better than seasonal-naive by 38 %", tone: "good" },
      { seconds: 9, text: "pump-1: rolled back, worse than seasonal-naive by 23 %", tone: "bad" },
    ]);
  });

  test("describes a drift by the numbers that the event has", () => {
    const numbers = { rollingMase: 2.195, validationMase: 0.62, coverage: 0.538 };
    news.receive(modelEvent({ kind: "DRIFTED", numbers }), 20);
    news.receive(modelEvent({ kind: "DRIFTED", numbers: { rollingMase: 3 } }), 21);
    assert.deepEqual(
      news.latest(2).map(({ text }) => text),
      ["pump-1: drifting, MASE 2.19 (validated 0.62), coverage 54 %", "pump-1: drifting, MASE 3.00"],
    );
  });

  test("counts a first training silently, and reports a retraining", () => {
    news.receive(modelEvent({ kind: "REQUESTED", reason: "new" }), 3);
    assert.equal(news.added, 0);
    news.receive(modelEvent({ kind: "REQUESTED", reason: "drift" }), 30);
    assert.match(news.latest(1)[0].text, /pump-1: retraining, because it drifts/);
    assert.equal(news.countOf("REQUESTED"), 2);
    assert.equal(news.countOf("FAILED"), 0);
  });

  for (const kind of ["PROMOTED", "RECOVERED", "ROLLED_BACK", "RETIRED"] as const) {
    test(`lists a drifting model as stale until it is ${kind}`, () => {
      news.receive(modelEvent({ kind: "DRIFTED" }), 1);
      for (const other of ["REQUESTED", "REFUSED", "FAILED"] as const)
        news.receive(modelEvent({ kind: other }), 2);
      news.receive(modelEvent({ kind, modelKey: "another" }), 3);
      assert.deepEqual([...news.stale], ["pump-1"]);
      news.receive(modelEvent({ kind }), 4);
      assert.deepEqual([...news.stale], []);
    });
  }

  test("returns the lines added after a position, and drops the oldest", () => {
    const add = (seconds: number) => news.add({ seconds, text: String(seconds), tone: "plain" });
    add(1);
    const { added } = news;
    assert.deepEqual(news.since(added), []);
    for (let seconds = 2; seconds <= 4; seconds++) add(seconds);
    assert.deepEqual(
      news.since(added).map(({ seconds }) => seconds),
      [2, 3, 4],
    );
    for (let seconds = 5; seconds <= 2_000; seconds++) add(seconds);
    const kept = news.since(0);
    assert.ok(kept.length < 1_000, `${kept.length} lines are stored`);
    assert.equal(kept.at(-1)?.seconds, 2_000);
  });
});
