// Charts: everything that is given is drawn, inside the frame, and names from outside cannot become markup.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { boxPlotHeight, drawBoxes } from "../../../src/plots/box-plot.ts";
import { drawFan, fanOf, fanSize } from "../../../src/plots/fan-chart.ts";
import { svgDocument } from "../../../src/plots/svg.ts";
import { drawXy, type XyChart } from "../../../src/plots/xy-chart.ts";

function count(drawing: string, what: RegExp): number {
  return [...drawing.matchAll(new RegExp(what, "g"))].length;
}

/** Every coordinate pair of the paths of a class. */
function coordinates(drawing: string, name: string): readonly (readonly [number, number])[] {
  const paths = [...drawing.matchAll(new RegExp(`<path class="${name}" d="([^"]*)"`, "g"))].map(
    ([, d]) => d as string,
  );
  return paths.flatMap((d) =>
    [...d.matchAll(/[ML](-?[\d.]+) (-?[\d.]+)/g)].map(([, x, y]) => [Number(x), Number(y)] as const),
  );
}

const hour = 3_600_000;
const hostile = `<script>alert("1")</script> & \u0001`;

describe("a fan chart", () => {
  const past = Array.from({ length: 48 }, (_, i) => ({
    timeMs: i * hour,
    value: i === 10 ? Number.NaN : Math.sin(i),
  }));
  const timesMs = Array.from({ length: 12 }, (_, h) => (48 + h) * hour);
  const flat = (value: number) => timesMs.map(() => value);
  const fan = fanOf([0.025, 0.1, 0.5, 0.9, 0.975], [-2, -1, 0, 1, 2].map(flat), timesMs);

  test("pairs the levels of a band, the widest first", () => {
    assert.deepEqual(
      fan.bands.map(({ stated, low, high }) => [Number(stated.toFixed(3)), low[0], high[0]]),
      [
        [0.95, -2, 2],
        [0.8, -1, 1],
      ],
    );
    assert.equal(fan.median[0], 0);
  });

  test("draws past, bands, median and actual values inside its frame, and leaves gaps open", () => {
    const actual = [{ timeMs: 50 * hour, value: 3 }];
    const drawing = drawFan({ title: "pump", note: "note", past, fan, actual });
    assert.equal(count(drawing, /class="band"/), 2);
    assert.equal(count(drawing, /class="observed"/), 2);
    assert.equal(coordinates(drawing, "observed").length, 48);
    assert.equal(count(drawing, /class="observed" d="M[^"]*M/), 1, "the gap is bridged");
    const all = ["band", "median", "observed"].flatMap((name) => coordinates(drawing, name));
    for (const [x, y] of all)
      assert.ok(x >= 0 && x <= fanSize.width && y >= 0 && y <= fanSize.height, `${x} ${y} is outside`);
  });

  test("of a flat series without a past is drawn", () => {
    const drawing = drawFan({ title: "", note: "", past: [], fan: fanOf([0.5], [flat(3)], timesMs) });
    assert.equal(coordinates(drawing, "median").length, 12);
    assert.doesNotMatch(drawing, /NaN|Infinity/);
  });

  test("shows names as they are", () => {
    const drawing = svgDocument(fanSize, hostile, drawFan({ title: hostile, note: hostile, past, fan }));
    assert.doesNotMatch(drawing, /<script/);
    assert.match(drawing, /&lt;script&gt;alert\(&quot;1&quot;\)&lt;\/script&gt; &amp; \ufffd/);
  });
});

describe("a box plot", () => {
  const groups = [
    { name: "linear", values: [1, 2, 3, 4, 5, 6, 7, 8, 40] },
    { name: hostile, values: [5] },
    { name: "none", values: [] },
  ];

  test("has a box for each group with values, and a dot for what is far outside", () => {
    const drawing = drawBoxes({ title: "MASE", name: "MASE", groups, width: 900 });
    assert.equal(count(drawing, /<rect class="box/), 2);
    assert.equal(count(drawing, /<circle/), 1);
    assert.doesNotMatch(drawing, /NaN|<script/);
    assert.ok(boxPlotHeight({ groups }) > boxPlotHeight({ groups: groups.slice(1) }));
  });
});

describe("a chart of two axes", () => {
  const chart: XyChart = {
    ...{ title: "Error", xName: "step", yName: "MASE", isJoined: true, width: 470, height: 300 },
    lines: [
      { name: "linear", points: [1, 2, 3].map((x) => ({ x, y: x * x })) },
      {
        name: hostile,
        points: [
          { x: 1, y: Number.NaN },
          { x: 2, y: 5 },
        ],
      },
    ],
  };

  test("joins the points of each line and names it", () => {
    const drawing = drawXy(chart);
    assert.equal(coordinates(drawing, "line s0").length, 4, "three points and the mark of the legend");
    assert.match(drawing, />linear</);
    assert.doesNotMatch(drawing, /NaN|<script/);
  });

  test("marks single points, and the diagonal where both axes are alike", () => {
    assert.equal(count(drawXy({ ...chart, isJoined: false }), /<circle/), 4);
    assert.equal(count(drawXy({ ...chart, hasDiagonal: true }), /class="now"/), 1);
  });

  test("without a point is empty", () => {
    assert.doesNotMatch(drawXy({ ...chart, lines: [] }), /NaN|Infinity/);
  });
});
