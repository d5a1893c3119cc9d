import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { Story } from "../../../../src/cli/demo/story.ts";
import type { ModelEventKindSymbol } from "../../../../src/log/codec/schemas.generated.ts";
import { modelEvent } from "./model-event.ts";

describe("the story", () => {
  let story: Story;
  const hear = (kind: ModelEventKindSymbol, numbers = {}, modelKey = "pump-1") =>
    story.hear(modelEvent({ kind, numbers, modelKey }), 1);
  const kinds = () => story.chapters.map(({ kind }) => kind);

  beforeEach(() => {
    story = new Story("pump-1", 2);
    story.meet(0.5);
  });

  test("waits until the model of its own sensor has proved itself, and begins once", () => {
    hear("PROMOTED");
    hear("CONFIRMED", {}, "another");
    assert.equal(story.isDue, false);
    hear("CONFIRMED");
    assert.equal(story.isDue, true);
    story.begin(9);
    assert.equal(story.isDue, false);
    assert.deepEqual(kinds(), ["changed"]);
  });

  test("follows the worker from the change to the recovery", () => {
    story.begin(9);
    for (const kind of ["DRIFTED", "REQUESTED"] as const) hear(kind);
    assert.equal(hear("REFUSED"), null);
    for (const kind of ["REQUESTED", "PROMOTED"] as const) hear(kind);
    story.meet(0.4);
    const last = hear("CONFIRMED", { liveMase: 0.7 });
    assert.deepEqual(kinds(), ["changed", "noticed", "learning", "learnt", "recovered"]);
    assert.match(last?.text ?? "", /pump-1 has recovered: live MASE 0\.70, stale would be 0\.80/);
  });

  test("does not call a model recovered whose live scores are as those of a stale one", () => {
    story.begin(9);
    for (const kind of ["DRIFTED", "REQUESTED", "PROMOTED"] as const) hear(kind);
    assert.equal(hear("CONFIRMED", { liveMase: 1.01 }), null);
    assert.equal(hear("DRIFTED")?.kind, "noticed");
    for (const kind of ["REQUESTED", "PROMOTED"] as const) hear(kind);
    assert.equal(hear("CONFIRMED", { liveMase: 0.99 })?.kind, "recovered");
  });

  test("tells of a recovery without a new model, too", () => {
    story.begin(9);
    hear("DRIFTED");
    assert.match(hear("RECOVERED", { rollingMase: 0.6 })?.text ?? "", /recovered: live MASE 0\.60/);
  });
});
