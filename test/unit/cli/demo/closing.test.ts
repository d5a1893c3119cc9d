import assert from "node:assert/strict";
import { test } from "node:test";
import { closingLines, isSettled, type Outcome } from "../../../../src/cli/demo/closing.ts";
import type { ModelEventKindSymbol } from "../../../../src/log/codec/schemas.generated.ts";

const countByKind: Partial<Record<ModelEventKindSymbol, number>> = {
  REQUESTED: 44,
  PROMOTED: 40,
  REFUSED: 4,
};

const outcome: Outcome = {
  seconds: 9,
  sent: { observations: 1_000, malformed: 3 },
  tally: {
    observationsByOutcome: new Map([
      ["advanced", 990],
      ["duplicate", 10],
    ]),
    deadLettersByReason: new Map([["bad-value", 3]]),
    forecasts: 900,
  },
  deadLetters: 3,
  board: { forecasts: 900, repeated: 0, coverage: { inside: 640, scored: 800 }, size: 40, modelled: 38 },
  newsroom: { countOf: (kind) => countByKind[kind] ?? 0 },
  story: {
    seriesId: "pump-vibration-1",
    chapters: [
      { kind: "changed", seconds: 17, text: "" },
      { kind: "noticed", seconds: 20, text: "" },
      { kind: "learning", seconds: 43, text: "" },
      { kind: "learnt", seconds: 44, text: "" },
      { kind: "recovered", seconds: 65, text: "" },
    ],
  },
};

test("the closing lines say that every observation was counted once, in at most 80 columns", () => {
  assert.ok(isSettled(outcome));
  const lines = closingLines(outcome);
  for (const line of lines) assert.ok(line.length <= 80, line);
  const text = lines.join("\n");
  assert.match(text, /1,000 observations sent, 1,000 counted: every observation was counted once/);
  assert.match(text, /3 malformed records sent, 3 dead letters written/);
  assert.match(text, /900 forecasts made, 900 read back, 0 of them twice/);
  assert.match(text, /80\.0 % of 800/);
});

test("the closing lines tell what became of the models, and when the sensor changed and recovered", () => {
  const text = closingLines(outcome).join("\n");
  assert.match(
    text,
    /38 of 40 series forecast by a model at the end; trainings: 44\n +40 promoted, 4 refused\n/,
  );
  assert.match(
    text,
    /pump-vibration-1 changed its nature:\n +worn out 0:17, found stale 0:20, new model 0:44, recovered 1:05$/,
  );
});

test("the closing lines of a run too short for models say what there would have been to see", () => {
  const early = {
    ...outcome,
    newsroom: { countOf: () => 0 },
    story: { seriesId: "pump-vibration-1", chapters: [] },
  };
  const lines = closingLines(early);
  for (const line of lines) assert.ok(line.length <= 80, line);
  assert.match(lines.join("\n"), /no model was in training yet.*\n.*pump-vibration-1 change its nature/);
});

test("the closing lines do not claim it when an observation is missing", () => {
  const short = { ...outcome, sent: { observations: 1_001, malformed: 3 } };
  assert.ok(!isSettled(short));
  assert.match(
    closingLines(short).join("\n"),
    /1,001 observations sent, 1,000 counted: 1 were still on their way/,
  );
});

test("a dead letter or a forecast that has not come back is waited for", () => {
  assert.ok(!isSettled({ ...outcome, deadLetters: 2 }));
  assert.ok(!isSettled({ ...outcome, board: { ...outcome.board, forecasts: 899 } }));
});
