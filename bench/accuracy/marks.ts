// What other forecasters reach on the sample series by the same protocol, one seed each. Measured once with their own
// libraries and kept here to be compared with; this bench does not run them.

import type { Score } from "./protocol.ts";

/** In words for the page. */
export const markedForecasters = {
  ets: "statsforecast ETS, season forced",
  arima: "statsforecast AutoARIMA",
  fn: "the ForecastNet authors' code, dense Gaussian form, stopped as they do",
  fn2: "the authors' code, dense linear form",
  deepar: "gluonts DeepAR",
} as const;

export type Marked = keyof typeof markedForecasters;

type Row = readonly [mase: number, crps: number, coverage80: number];

const rows: Readonly<Record<string, Readonly<Record<Marked, Row>>>> = {
  ozone: {
    ets: [0.83, 0.601, 0.68],
    arima: [0.742, 0.556, 0.79],
    fn: [0.804, 0.584, 0.63],
    fn2: [0.798, 0.609, 0.58],
    deepar: [0.806, 0.6, 0.56],
  },
  lake: {
    ets: [1.291, 0.955, 0.89],
    arima: [1.284, 0.974, 0.87],
    fn: [2.176, 1.599, 0.69],
    fn2: [1.931, 1.806, 0.34],
    deepar: [2.461, 1.902, 0.37],
  },
  river: {
    ets: [0.788, 0.621, 0.88],
    arima: [0.667, 0.526, 0.8],
    fn: [0.722, 0.533, 0.83],
    fn2: [0.711, 0.522, 0.69],
    deepar: [0.641, 0.478, 0.74],
  },
  weath: {
    ets: [0.438, 0.323, 0.83],
    arima: [0.477, 0.353, 0.83],
    fn: [0.452, 0.338, 0.76],
    fn2: [0.452, 0.333, 0.78],
    deepar: [0.442, 0.325, 0.79],
  },
  wq_do: {
    ets: [1.272, 0.991, 0.83],
    arima: [1.105, 0.915, 0.88],
    fn: [2.543, 1.861, 0.83],
    fn2: [2.173, 1.631, 0.39],
    deepar: [1.459, 1.238, 0.31],
  },
  wq_ph: {
    ets: [2.008, 1.538, 0.66],
    arima: [1.462, 1.191, 0.82],
    fn: [2.012, 1.583, 0.89],
    fn2: [1.954, 1.506, 0.5],
    deepar: [2.086, 1.561, 0.86],
  },
  wq_temp: {
    ets: [1.314, 0.989, 0.91],
    arima: [0.843, 0.773, 1.0],
    fn: [2.651, 1.959, 0.79],
    fn2: [1.192, 0.945, 0.7],
    deepar: [1.402, 1.023, 0.81],
  },
  traff: {
    ets: [3.941, 2.927, 0.65],
    arima: [2.789, 1.996, 0.86],
    fn: [3.236, 2.323, 0.82],
    fn2: [2.361, 1.763, 0.88],
    deepar: [2.34, 1.707, 0.78],
  },
  elect: {
    ets: [0.932, 0.748, 0.8],
    arima: [0.805, 0.664, 0.87],
    fn: [1.204, 1.022, 0.94],
    fn2: [0.934, 0.755, 0.87],
    deepar: [0.893, 0.698, 0.78],
  },
};

/** Null for a series that was not marked. */
export function markOf(series: string, forecaster: Marked): Score | null {
  const row = rows[series]?.[forecaster];
  return row === undefined ? null : { mase: row[0], crps: row[1], coverage80: row[2] };
}
