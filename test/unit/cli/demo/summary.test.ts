import assert from "node:assert/strict";
import { test } from "node:test";
import { type DemoResult, isSettled, summaryLines } from "../../../../src/cli/demo/summary.ts";
import type { ModelEventKindSymbol } from "../../../../src/log/codec/schemas.generated.ts";

const countByKind: Partial<Record<ModelEventKindSymbol, number>> = {
  REQUESTED: 44,
  PROMOTED: 40,
  REFUSED: 4,
};

const result: DemoResult = {
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
  news: { countOf: (kind) => countByKind[kind] ?? 0 },
  scenario: {
    seriesId: "pump-vibration-1",
    steps: [
      { kind: "worn", seconds: 17, text: "" },
      { kind: "stale", seconds: 20, text: "" },
      { kind: "training", seconds: 43, text: "" },
      { kind: "promoted", seconds: 44, text: "" },
      { kind: "recovered", seconds: 65, text: "" },
    ],
  },
};

test("the summary says that every observation was counted once, in at most 80 columns", () => {
  assert.ok(isSettled(result));
  const lines = summaryLines(result);
  for (const line of lines) assert.ok(line.length <= 80, line);
  const text = lines.join("\n");
  assert.match(text, /1,000 observations sent, 1,000 counted: every observation was counted once/);
  assert.match(text, /3 malformed records sent, 3 dead letters written/);
  assert.match(text, /900 forecasts made, 900 read back, 0 of them twice/);
  assert.match(text, /80\.0 % of 800/);
});

test("the summary counts the decisions about models and gives the times of the scenario", () => {
  const text = summaryLines(result).join("\n");
  assert.match(
    text,
    /38 of 40 series forecast by a model at the end; trainings: 44\n +40 promoted, 4 refused\n/,
  );
  assert.match(
    text,
    /pump-vibration-1 wore out during the demo:\n +worn out 0:17, found stale 0:20, new model 0:44, recovered 1:05$/,
  );
});

test("the summary of a short run says what a longer run shows", () => {
  const early = {
    ...result,
    news: { countOf: () => 0 },
    scenario: { seriesId: "pump-vibration-1", steps: [] },
  };
  const lines = summaryLines(early);
  for (const line of lines) assert.ok(line.length <= 80, line);
  assert.match(
    lines.join("\n"),
    /no training has started yet.*\n.*pump-vibration-1 wears out and gets a new model/,
  );
});

test("the summary reports observations that are not counted yet", () => {
  const short = { ...result, sent: { observations: 1_001, malformed: 3 } };
  assert.ok(!isSettled(short));
  assert.match(summaryLines(short).join("\n"), /1,001 observations sent, 1,000 counted: 1 not counted yet/);
});

test("the demo is not settled until every dead letter and forecast is read back", () => {
  assert.ok(!isSettled({ ...result, deadLetters: 2 }));
  assert.ok(!isSettled({ ...result, board: { ...result.board, forecasts: 899 } }));
});
