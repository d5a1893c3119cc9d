// Lines and points between two axes of numbers, with a name for each.

import { colourClass, element, escapeText, linePath, type Point } from "./svg.ts";
import { type Axis, axisOf, type Tick, valueTicks } from "./ticks.ts";

export interface NamedLine {
  readonly name: string;
  readonly points: readonly Point[];
}

export interface XyChart {
  readonly title: string;
  readonly xName: string;
  readonly yName: string;
  readonly lines: readonly NamedLine[];
  /** Whether points are joined. */
  readonly isJoined: boolean;
  /** Where both axes are the same and points should lie on the diagonal. */
  readonly hasDiagonal?: boolean;
  readonly width: number;
  readonly height: number;
}

const frame = { left: 56, right: 120, top: 52, bottom: 44 };
const radius = 4;
/** Of the range of the values, on either side. */
const margin = 0.06;

export function drawXy(chart: XyChart): string {
  const { title, xName, yName, lines, isJoined, hasDiagonal = false, width, height } = chart;
  const all = lines.flatMap(({ points }) => points).filter(({ x, y }) => Number.isFinite(x + y));
  const { left, right, top, bottom } = frame;
  const both = hasDiagonal ? [...all.map(({ x }) => x), ...all.map(({ y }) => y)] : null;
  const x = axisOf(both ?? all.map((point) => point.x), { from: left, to: width - right, margin });
  const y = axisOf(both ?? all.map((point) => point.y), { from: height - bottom, to: top, margin });
  const place = (point: Point): Point => ({ x: x.place(point.x), y: y.place(point.y) });
  const drawn = lines.flatMap(({ name, points }, n) => {
    const placed = points.map(place);
    const known = placed.filter((point) => Number.isFinite(point.x + point.y));
    const last = known[known.length - 1];
    return [
      ...(isJoined ? [element("path", { class: `line ${colourClass(n)}`, d: linePath(placed) })] : []),
      ...(isJoined
        ? []
        : known.map((point) =>
            element("circle", { class: `dot ${colourClass(n)}`, cx: point.x, cy: point.y, r: radius }),
          )),
      ...(last === undefined || isJoined
        ? []
        : [element("text", { class: "tick", x: last.x + 8, y: last.y + 4 }, escapeText(name))]),
    ];
  });
  const diagonal = hasDiagonal
    ? [
        element("path", {
          class: "now",
          d: linePath([place({ x: x.low, y: x.low }), place({ x: x.high, y: x.high })]),
        }),
      ]
    : [];
  return [
    element("text", { class: "title", x: left, y: 20 }, escapeText(title)),
    ...axes({ x, y, xName, yName, width, height }),
    ...diagonal,
    ...drawn,
    ...(isJoined ? legend(lines, width - right + 12) : []),
  ].join("");
}

interface AxesOptions {
  readonly x: Axis;
  readonly y: Axis;
  readonly xName: string;
  readonly yName: string;
  readonly width: number;
  readonly height: number;
}

function axes({ x, y, xName, yName, width, height }: AxesOptions): readonly string[] {
  const { left, right, bottom } = frame;
  const rule = ({ at, label }: Tick) => {
    const place = y.place(at);
    return (
      element("path", { class: "rule", d: `M${left} ${place.toFixed(1)}H${width - right}` }) +
      element("text", { class: "tick", x: left - 8, y: place + 4, "text-anchor": "end" }, label)
    );
  };
  const mark = ({ at, label }: Tick) =>
    element(
      "text",
      { class: "tick", x: x.place(at), y: height - bottom + 16, "text-anchor": "middle" },
      label,
    );
  return [
    ...valueTicks(y.low, y.high, 5).map(rule),
    ...valueTicks(x.low, x.high, 6).map(mark),
    element(
      "text",
      { class: "note", x: (left + width - right) / 2, y: height - 8, "text-anchor": "middle" },
      escapeText(xName),
    ),
    element("text", { class: "note", x: left, y: 40 }, escapeText(yName)),
  ];
}

function legend(lines: readonly NamedLine[], left: number): readonly string[] {
  return lines.map(({ name }, n) => {
    const y = frame.top + 8 + 18 * n;
    return (
      element("path", { class: `line ${colourClass(n)}`, d: `M${left} ${y}h16` }) +
      element("text", { class: "tick", x: left + 22, y: y + 4 }, escapeText(name))
    );
  });
}
