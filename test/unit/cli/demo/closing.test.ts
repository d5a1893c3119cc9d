import assert from "node:assert/strict";
import { test } from "node:test";
import { closingLines, isSettled, type Outcome } from "../../../../src/cli/demo/closing.ts";

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
    news: "",
  },
  deadLetters: 3,
  board: { forecasts: 900, repeated: 0, coverage: { inside: 640, scored: 800 } },
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
