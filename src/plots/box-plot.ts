// How values spread, one box for each group: the middle half in the box with its median, the rest up to one and a half boxes in
// the whiskers, and what is beyond as dots.

import { colourClass, element, escapeText } from "./svg.ts";
import { axisOf, valueTicks } from "./ticks.ts";

export interface Group {
  readonly name: string;
  readonly values: readonly number[];
}

export interface BoxPlot {
  readonly title: string;
  /** What the values are. */
  readonly name: string;
  readonly groups: readonly Group[];
  readonly width: number;
}

const frame = { left: 140, right: 24, top: 36, bottom: 44 };
const rowHeight = 36;
const boxHeight = 18;

export function boxPlotHeight({ groups }: Pick<BoxPlot, "groups">): number {
  return frame.top + frame.bottom + rowHeight * groups.length;
}

export function drawBoxes(plot: BoxPlot): string {
  const { title, name, groups, width } = plot;
  const height = boxPlotHeight(plot);
  const { left, right, top, bottom } = frame;
  const values = groups.flatMap((group) => group.values);
  const { low, high, place: x } = axisOf(values, { from: left, to: width - right, margin: 0.04 });
  const marks = valueTicks(low, high, 6).map(
    ({ at, label }) =>
      element("path", { class: "rule", d: `M${x(at).toFixed(1)} ${top}V${height - bottom}` }) +
      element("text", { class: "tick", x: x(at), y: height - bottom + 16, "text-anchor": "middle" }, label),
  );
  return [
    element("text", { class: "title", x: left, y: 20 }, escapeText(title)),
    ...marks,
    ...groups.map((group, n) => drawBox(group, n, x)),
    element(
      "text",
      { class: "note", x: (left + width - right) / 2, y: height - 8, "text-anchor": "middle" },
      escapeText(name),
    ),
  ].join("");
}

function drawBox({ name, values }: Group, n: number, x: (value: number) => number): string {
  const y = frame.top + rowHeight * n + rowHeight / 2;
  const label = element(
    "text",
    { class: "tick", x: frame.left - 12, y: y + 4, "text-anchor": "end" },
    escapeText(name),
  );
  if (values.length === 0) return label;
  const sorted = values.toSorted((one, other) => one - other);
  const [first, median, third] = [0.25, 0.5, 0.75].map((share) => quantileOf(sorted, share)) as [
    number,
    number,
    number,
  ];
  const reach = 1.5 * (third - first);
  const inside = sorted.filter((value) => value >= first - reach && value <= third + reach);
  const outside = sorted.filter((value) => value < first - reach || value > third + reach);
  const [from, to] = [Math.min(first, ...inside), Math.max(third, ...inside)];
  const colour = colourClass(n);
  return [
    label,
    element("path", {
      class: `line ${colour}`,
      d: `M${x(from).toFixed(1)} ${y}H${x(first).toFixed(1)}M${x(third).toFixed(1)} ${y}H${x(to).toFixed(1)}`,
    }),
    element("rect", {
      class: `box ${colour}`,
      x: x(first),
      y: y - boxHeight / 2,
      width: Math.max(1, x(third) - x(first)),
      height: boxHeight,
    }),
    element("path", {
      class: `line ${colour}`,
      d: `M${x(median).toFixed(1)} ${y - boxHeight / 2}v${boxHeight}`,
    }),
    ...outside.map((value) => element("circle", { class: `dot ${colour}`, cx: x(value), cy: y, r: 2.5 })),
  ].join("");
}

/** Linear between neighbours. */
function quantileOf(ascending: readonly number[], share: number): number {
  const place = share * (ascending.length - 1);
  const below = Math.floor(place);
  const low = ascending[below];
  const high = ascending[Math.min(below + 1, ascending.length - 1)];
  return low + (place - below) * (high - low);
}
