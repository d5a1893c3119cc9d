import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { SeriesView } from "../../../../src/cli/demo/forecast-board.ts";
import {
  type DemoModel,
  newsLine,
  plainLines,
  screenLines,
  seriesThatFit,
} from "../../../../src/cli/demo/view.ts";

// biome-ignore lint/suspicious/noControlCharactersInRegex: escape codes are what is looked for
const controlCharacters = /[\u0000-\u001f\u007f-\u009f]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape codes are what is removed
const escapeCodes = /\u001b\[[0-9;]*m/g;

const river: SeriesView = {
  seriesId: "river-level-1",
  unit: "m",
  history: Array.from({ length: 100 }, (_, i) => 2 + Math.sin(i / 4)),
  outlook: Array.from({ length: 12 }, () => ({ low: 1.5, median: 2.25, high: 2.9 })),
  tier: "cold",
  method: "seasonal-naive",
  scores: { mase: 0.624, coverage: 0.8125 },
  isInside: true,
};

const model: DemoModel = {
  state: "ready",
  seriesCount: 40,
  elapsedSeconds: 75,
  observationsPerSecond: 40.2,
  forecastsPerSecond: 39.6,
  latency: { p50Ms: 2, p99Ms: 1250 },
  deadLetters: 7,
  coverage: { inside: 1600, scored: 2000 },
  horizon: 12,
  address: "http://127.0.0.1:9464",
  modelled: 31,
  stale: new Set(),
  headline: null,
  news: [1, 2, 3, 4, 5].map((seconds) => ({ seconds, text: `news ${seconds}`, tone: "plain" as const })),
  series: Array.from({ length: 20 }, (_, i) => ({ ...river, seriesId: `river-level-${i + 1}` })),
};

describe("the screen", () => {
  for (const [columns, rows] of [
    [80, 24],
    [120, 40],
    [100, 33],
    [40, 10],
    [10, 3],
  ] as const) {
    test(`stays within ${columns} columns and ${rows} rows`, () => {
      for (const isColoured of [true, false]) {
        const lines = screenLines(model, { columns, rows }, isColoured);
        assert.ok(lines.length <= rows, `${lines.length} lines`);
        for (const line of lines) assert.ok([...line.replace(escapeCodes, "")].length <= columns, line);
      }
    });
  }

  test("shows six series on 80 by 24, each with chart, values, method and scores", () => {
    const size = { columns: 80, rows: 24 };
    assert.equal(seriesThatFit(size), 6);
    const lines = screenLines(model, size, false);
    assert.equal(lines.length, 24);
    const at = lines.findIndex((line) => line.includes("river-level-6"));
    assert.match(lines[at], /^ river-level-6 .*[▁-█].*┊.* {2}\d\.\d\d m ✓ +0\.62$/);
    assert.match(lines[at + 1], /^ seasonal-naive .*[▁-█].*┊.* {2}2\.25 \(1\.50…2\.90\) +81 %$/);
    assert.ok(!lines.some((line) => line.includes("river-level-7")));
  });

  test("shows the latest news below the headline", () => {
    const headline = "river-level-1 wears out";
    const lines = screenLines({ ...model, headline }, { columns: 80, rows: 24 }, false);
    assert.deepEqual(lines.slice(-5, -1), [` ${headline}`, ...[3, 4, 5].map((s) => ` 0:0${s}  news ${s}`)]);
  });

  test("shortens long news with an ellipsis", () => {
    const news = [{ seconds: 1, text: "x".repeat(100), tone: "bad" as const }];
    const lines = screenLines({ ...model, news }, { columns: 80, rows: 24 }, false);
    assert.ok(lines.includes(` 0:01  ${"x".repeat(71)}…`));
  });

  test("marks a series whose model is stale", () => {
    const served = { ...river, method: "forecastnet", tier: "model" };
    const shown = { ...model, series: [served], stale: new Set([served.seriesId]) };
    const lines = screenLines(shown, { columns: 80, rows: 24 }, false);
    assert.ok(lines.some((line) => line.startsWith(" forecastnet stale ")));
  });

  test("shows state, rates, latency, coverage, dead letters and models at the top", () => {
    const top = screenLines(model, { columns: 80, rows: 24 }, false).slice(0, 3).join("\n");
    assert.match(top, /ready +40 simulated series.* 1:15/);
    assert.match(top, /40 observations\/s +40 forecasts\/s +p50 2 ms, p99 1,250 ms to forecast/);
    assert.match(top, /80\.0 % of 2,000 inside the 80 % band +7 dead letters +31 of 40 on models/);
  });

  test("shows the tier where there is room for it", () => {
    const lines = screenLines(model, { columns: 120, rows: 40 }, false);
    assert.ok(lines.some((line) => line.startsWith(" seasonal-naive (cold) ")));
  });

  test("marks an observation outside its interval, and one without a forecast", () => {
    const series = [
      { ...river, isInside: false },
      { ...river, isInside: null, outlook: [], scores: null },
    ];
    const lines = screenLines({ ...model, series }, { columns: 80, rows: 24 }, false);
    assert.match(lines[6], /✗ +0\.62$/);
    assert.match(lines[8], /· +–$/);
    assert.match(lines[9], /no forecast yet +–$/);
  });

  test("has no escape codes without colours, and resets each colour", () => {
    const size = { columns: 80, rows: 24 };
    for (const line of screenLines(model, size, false)) assert.doesNotMatch(line, controlCharacters);
    const coloured = screenLines(model, size, true);
    assert.ok(coloured.some((line) => line.includes("\u001b[")));
    for (const line of coloured.filter((text) => text.includes("\u001b["))) {
      assert.equal(line.match(escapeCodes)?.at(-1), "\u001b[0m");
    }
  });
});

describe("plain lines", () => {
  test("are a summary and one line per series, without control characters", () => {
    const lines = plainLines({ ...model, series: [river] });
    assert.equal(lines.length, 2);
    for (const line of lines) assert.doesNotMatch(line, controlCharacters);
    assert.match(
      lines[0],
      /^75 s ready \| 40 observations\/s \| .*p99 1,250 ms.*80\.0 % of 2,000 \| 7 dead letters \| 31 of 40 series forecast by a model$/,
    );
    assert.match(
      lines[1],
      /river-level-1 .*┊.*now \d\.\d\d m, inside; next 2\.25 \(1\.50…2\.90\) by seasonal-naive; MASE 0\.62, coverage 81 %$/,
    );
  });

  test("say that a model is stale", () => {
    const [, line] = plainLines({ ...model, series: [river], stale: new Set([river.seriesId]) });
    assert.match(line, /by seasonal-naive, which is stale; MASE/);
  });

  test("print news with its time", () => {
    assert.equal(newsLine({ seconds: 65, text: "a: promoted", tone: "good" }), "1:05  a: promoted");
  });

  test("show no latency before the first forecast", () => {
    assert.match(plainLines({ ...model, latency: null })[0], /latency –/);
  });
});
