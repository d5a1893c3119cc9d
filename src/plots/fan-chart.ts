// A forecast as a fan: the past as a line, the median as a line, and the intervals around it as bands, the widest the lightest.

import { nearestLevel } from "../models/scores.ts";
import { bandPath, element, escapeText, linePath, type Point } from "./svg.ts";
import { axisOf, timeTicks, valueTicks } from "./ticks.ts";

export interface TimedValue {
  readonly timeMs: number;
  /** NaN where nothing is known. */
  readonly value: number;
}

/** A central interval at every step. */
interface Band {
  /** Probability inside. */
  readonly stated: number;
  readonly low: ArrayLike<number>;
  readonly high: ArrayLike<number>;
}

export interface Fan {
  readonly timesMs: readonly number[];
  readonly median: ArrayLike<number>;
  /** The widest first. */
  readonly bands: readonly Band[];
}

export interface FanChart {
  readonly title: string;
  /** Below the title. */
  readonly note: string;
  readonly past: readonly TimedValue[];
  readonly fan: Fan;
  /** What came after the origin, where that is known. */
  readonly actual?: readonly TimedValue[];
}

export const fanSize = { width: 960, height: 300 };
const frame = { left: 64, right: 16, top: 52, bottom: 28 };
const levelTolerance = 1e-9;

/** Pairs of levels that are symmetric make bands; the level nearest to one half is the line. `quantiles`: one array per level. */
export function fanOf(
  levels: readonly number[],
  quantiles: readonly ArrayLike<number>[],
  timesMs: readonly number[],
): Fan {
  const bands = levels.flatMap((level, i) => {
    const j = levels.findIndex((other) => Math.abs(level + other - 1) < levelTolerance);
    if (level >= 0.5 || j < 0) return [];
    return [{ stated: 1 - 2 * level, low: quantiles[i] ?? [], high: quantiles[j] ?? [] }];
  });
  return { timesMs, median: quantiles[nearestLevel(levels, 0.5)] ?? [], bands };
}

/** The content of a drawing of `fanSize`. */
export function drawFan({ title, note, past, fan, actual = [] }: FanChart): string {
  const { width, height } = fanSize;
  const { x, y } = axesOf([...past, ...actual], fan);
  const at = (timeMs: number, value: number): Point => ({ x: x.place(timeMs), y: y.place(value) });
  const step = (values: ArrayLike<number>) =>
    fan.timesMs.map((timeMs, h) => at(timeMs, values[h] ?? Number.NaN));
  const line = (values: readonly TimedValue[]) =>
    linePath(values.map(({ timeMs, value }) => at(timeMs, value)));
  const originMs = past[past.length - 1]?.timeMs ?? fan.timesMs[0] ?? 0;
  const { left, right, top, bottom } = frame;
  const values = valueTicks(y.low, y.high, 5).map(({ at: value, label }) => {
    const place = y.place(value);
    return (
      element("path", { class: "rule", d: `M${left} ${place.toFixed(1)}H${width - right}` }) +
      element("text", { class: "tick", x: left - 8, y: place + 4, "text-anchor": "end" }, label)
    );
  });
  const times = timeTicks(x.low, x.high, 8).map(({ at: timeMs, label }) =>
    element(
      "text",
      { class: "tick", x: x.place(timeMs), y: height - bottom + 18, "text-anchor": "middle" },
      label,
    ),
  );
  return [
    element("text", { class: "title", x: left, y: 20 }, escapeText(title)),
    element("text", { class: "note", x: left, y: 38 }, escapeText(note)),
    ...values,
    ...times,
    ...fan.bands.map(({ low, high }) =>
      element("path", { class: "band", d: bandPath(step(high), step(low)) }),
    ),
    element("path", { class: "now", d: `M${x.place(originMs).toFixed(1)} ${top}V${height - bottom}` }),
    element("path", { class: "observed", d: line(past) }),
    element("path", { class: "median", d: linePath(step(fan.median)) }),
    ...(actual.length === 0 ? [] : [element("path", { class: "observed", d: line(actual) })]),
  ].join("");
}

/** Of times and of values. */
function axesOf(observed: readonly TimedValue[], { timesMs, median, bands }: Fan) {
  const drawn = [
    ...observed.map(({ value }) => value),
    ...Array.from(median),
    ...bands.flatMap(({ low, high }) => [...Array.from(low), ...Array.from(high)]),
  ];
  const times = [...observed.map(({ timeMs }) => timeMs), ...timesMs];
  const { left, right, top, bottom } = frame;
  const { width, height } = fanSize;
  return {
    x: axisOf(times, { from: left, to: width - right, margin: 0 }),
    y: axisOf(drawn, { from: height - bottom, to: top, margin: 0.04 }),
  };
}
