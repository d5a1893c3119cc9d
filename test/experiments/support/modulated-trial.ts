// Scores a trained net on the paper's amplitude-modulated series: its MASE over the whole test part and from the four
// windows of the paper's figure.

import type { Engine } from "../../../src/models/forecastnet/engine.ts";
import type { ForecastNetModel } from "../../../src/models/forecastnet/model.ts";
import { masesAt, meanOf, modulatedSeries, testFrom, testOrigins, τ } from "./paper-setup.ts";

export const series = modulatedSeries();

/** First steps of the windows of the figure, in the test part. */
const starts = [0, 50, 150, 200];

export async function scoreOf(
  engine: Engine,
  name: string,
  model: ForecastNetModel,
): Promise<{ readonly mean: number; readonly worst: number }> {
  const origins = starts.map((start) => testFrom(series) + start + 2 * τ);
  const mean = meanOf(await masesAt(engine, model, series, testOrigins(series)));
  const figure = await masesAt(engine, model, series, origins);
  const shown = figure.map((mase) => mase.toFixed(3)).join(", ");
  console.log(`${name}: MASE ${mean.toFixed(4)}; from windows at ${starts.join(", ")}: ${shown}`);
  return { mean, worst: Math.max(...figure) };
}
