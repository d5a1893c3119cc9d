import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { paint, widthOf } from "../../../src/cli/styled-text.ts";
import { type ChartStyle, drawChart } from "../../../src/cli/terminal-chart.ts";

const oneRow: ChartStyle = { rows: 1, columns: 8, ahead: 2, isColoured: false };

function draw(
  history: readonly number[],
  outlook: Parameters<typeof drawChart>[1],
  style = oneRow,
): string[] {
  return drawChart(history, outlook, style).map((row) => paint(row, 200, false));
}

describe("the chart", () => {
  test("scales from the smallest to the largest value", () => {
    assert.deepEqual(draw([0, 1, 2, 3, 4, 5, 6, 7], []), ["▁▂▃▄▅▆▇█┊  "]);
  });

  test("draws a flat series at half height", () => {
    assert.deepEqual(draw([5, 5, 5], []), ["     ▄▄▄┊  "]);
  });

  test("leaves missing values blank", () => {
    assert.deepEqual(draw([0, Number.NaN, 7], []), ["     ▁ █┊  "]);
  });

  test("draws only the divider without values", () => {
    assert.deepEqual(draw([], []), ["        ┊  "]);
    assert.deepEqual(draw([Number.NaN], []), ["        ┊  "]);
  });

  test("shows the newest values when there are more than fit", () => {
    assert.deepEqual(draw([9, 9, 0, 7], [], { ...oneRow, columns: 2 }), ["▁█┊  "]);
  });

  test("shares one scale between history and forecast", () => {
    const outlook = [{ low: 7, median: 7, high: 14 }];
    assert.deepEqual(draw([0], outlook, { ...oneRow, columns: 1 }), ["▁┊▅ "]);
  });

  test("shades the interval above the median when there are no colours", () => {
    const outlook = [{ low: 0, median: 0, high: 10 }];
    assert.deepEqual(draw([0, 10], outlook, { ...oneRow, rows: 2, columns: 2 }), [" ▆┊░ ", "▁█┊▁ "]);
  });

  test("paints the band over the solid part of the forecast", () => {
    const style = { ...oneRow, rows: 2, columns: 2, isColoured: true };
    const [upper, lower] = drawChart([0, 13], [{ low: 3, median: 5, high: 9 }], style);
    assert.deepEqual(upper[4], { text: "▂", ink: "band" });
    assert.deepEqual(lower[4], { text: "▄", ink: "forecast", ground: "band" });
  });

  test("draws a median without an interval at half height", () => {
    const outlook = [{ low: Number.NaN, median: 3, high: Number.NaN }];
    assert.deepEqual(draw([], outlook, { ...oneRow, columns: 0, ahead: 1 }), ["┊▄"]);
  });

  test("always has the requested size", () => {
    const value = fc.oneof(fc.double(), fc.constant(Number.NaN), fc.constant(3));
    const outlook = fc.array(fc.record({ low: value, median: value, high: value }), { maxLength: 30 });
    const style = fc.record({
      rows: fc.integer({ min: 1, max: 4 }),
      columns: fc.integer({ min: 0, max: 40 }),
      ahead: fc.integer({ min: 0, max: 20 }),
      isColoured: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(value, { maxLength: 60 }), outlook, style, (history, ahead, asked) => {
        const chart = drawChart(history, ahead, asked);
        assert.equal(chart.length, asked.rows);
        for (const row of chart) assert.equal(widthOf(row), asked.columns + 1 + asked.ahead);
      }),
    );
  });
});
