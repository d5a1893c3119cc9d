// `forecastnet forecast FILE`: series from CSV in, their next steps as distributions out. Needs no broker: finds interval and
// season, trains a model for each series and judges it, with the code and the configuration of a worker.

import { writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { openInProcessEngine } from "../../engine/in-process-engine.ts";
import { createFamilies } from "../../models/families.ts";
import { drawFan, fanOf, fanSize, type TimedValue } from "../../plots/fan-chart.ts";
import { element, svgDocument } from "../../plots/svg.ts";
import { integer, oneOf, text } from "../../runtime/config/formats.ts";
import { loadConfig } from "../../runtime/config/load.ts";
import type { AppConfig } from "../../runtime/config/schema.ts";
import { seriesRules } from "../../runtime/config/series-rules.ts";
import { openTrainingThreads } from "../../training/training-threads.ts";
import { POINTS_TO_FIND_INTERVAL } from "../../window/interval-finder.ts";
import type { Series } from "../../window/series.ts";
import { SeriesStore } from "../../window/series-store.ts";
import { type CommandIo, defineCommand, exitCodes, type LineOf, option, runCommand } from "../command.ts";
import { assumption, columnFlags, csvOperands, openCsv } from "../csv-operands.ts";
import { untilStopped } from "../on-cluster.ts";
import { progressLine } from "../progress.ts";
import { printable } from "../terminal-text.ts";
import { forecastSeries } from "./forecast-series.ts";
import { type Continued, csvLines, jsonText, summaryLines, textLines } from "./formats.ts";

/** Of more series, "auto" trains linear models only, which take a tenth of the time. */
const mostWithNets = 20;
/** Steps of the past that are used, unless series.history says otherwise. */
const defaultHistory = 3_000;
/** Horizons of the past in a plot. */
const plottedHorizons = 5;
const mostPlotted = 50;
const mostCharts = 6;

export const forecastCommand = defineCommand({
  name: "forecast",
  summary:
    "Forecasts the series of CSV files. Finds interval and season, trains a model for each series, and needs no broker.",
  actions: {},
  operands: csvOperands,
  examples: [
    ["forecastnet forecast sensors.csv", "the next 24 steps of every column of numbers"],
    ["forecastnet forecast sensors.csv --horizon 48 --plot out.svg", "48 steps, and a drawing"],
    ["forecastnet forecast long.csv --series sensor --value kwh > out.csv", "one series for each sensor"],
  ],
  flags: {
    horizon: option("steps ahead; short for --series.horizon", "N", integer(1, 10_000)),
    levels: option(
      "quantile levels, such as 0.1,0.5,0.9; short for --output.levels",
      "LIST",
      text("list of levels", /^[\d.,]+$/),
    ),
    ...columnFlags,
    format: option(
      "text, csv or json; by default text on a terminal and csv in a pipe",
      "FORMAT",
      oneOf("text", "csv", "json"),
    ),
    plot: option("also write a drawing of past and forecast", "FILE.svg", text("file", /./)),
  },
  takesConfig: true,
});

type ForecastLine = LineOf<typeof forecastCommand>;

/** Returns the exit code. */
export function runForecastCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  return runCommand(forecastCommand, argv, io, (line) =>
    untilStopped(async (signal) => {
      const config = configOf(line, io);
      const { store, hasTimes } = await readStore(line, config, io);
      const series = [...store.ids()].map((id) => store.get(id) as Series);
      const continued = await forecastAll(series, { config, hasTimes, io, signal });
      print(continued, line, io);
      return continued.length > 0 ? exitCodes.ok : exitCodes.notDone;
    }),
  );
}

/** The configuration of a worker, with what the command's own flags say. */
function configOf({ values, configArgv }: ForecastLine, { env }: CommandIo): AppConfig {
  const own = [
    ...(values.horizon === null ? [] : [`--series.horizon=${values.horizon}`]),
    ...(values.levels === null ? [] : [`--output.levels=${values.levels}`]),
  ];
  const config = loadConfig({ argv: [...configArgv, ...own], env });
  const { series } = config;
  const history = series.history || Math.max(defaultHistory, 60 * series.horizon);
  return { ...config, series: { ...series, history } };
}

async function readStore({ operands, values }: ForecastLine, config: AppConfig, io: CommandIo) {
  const store = new SeriesStore(seriesRules(config.series));
  const input = openCsv(operands, values, config.series.interval);
  let [rows, late, repeated] = [0, 0, 0];
  for await (const batch of input.points) {
    for (const point of batch) {
      const outcome = store.of(point.seriesId).push(point);
      rows++;
      if (outcome === "too-late") late++;
      if (outcome === "duplicate") repeated++;
    }
  }
  if (repeated > 0)
    io.err(
      `${repeated} of ${rows} values share their step with another: the one with the latest time counts`,
    );
  if (late > 0)
    io.err(`${late} of ${rows} values are older than the ${config.series.history} steps that are kept`);
  if (input.isAssumed()) io.err(assumption);
  return { store, hasTimes: input.hasTimes() };
}

interface Surroundings {
  readonly config: AppConfig;
  readonly hasTimes: boolean;
  readonly io: CommandIo;
  readonly signal: AbortSignal;
}

/** In the order of the series. Those with too few rows are told, and left out. */
async function forecastAll(
  series: readonly Series[],
  { config, hasTimes, io, signal }: Surroundings,
): Promise<readonly Continued[]> {
  const engine = await openInProcessEngine({ kind: "simd" });
  const trainer = await openTrainingThreads({ setup: { kind: "simd" }, threads: config.retrain.threads });
  const parts = {
    config,
    families: createFamilies(engine),
    trainer,
    withNets: series.length <= mostWithNets,
    signal,
  };
  const found = new Array<Continued | null>(series.length).fill(null);
  const progress = progressLine();
  let [next, done] = [0, 0];
  const work = async () => {
    for (let i = next++; i < series.length; i = next++) {
      const one = series[i];
      const forecast = one.grid === null ? null : await forecastSeries(one, parts);
      if (forecast === null) io.err(tooFew(one));
      else found[i] = { forecast, past: pastOf(one), hasTimes };
      progress.show(++done / series.length);
    }
  };
  try {
    await Promise.all(Array.from({ length: availableParallelism() }, work));
  } finally {
    progress.end();
    await trainer.close();
    await engine.close();
  }
  return found.filter((one) => one !== null);
}

function tooFew({ seriesId, pending }: Series): string {
  const name = printable(seriesId);
  return pending.length === 0
    ? `${name}: a single value is too few for a forecast`
    : `${name}: ${pending.length} values are too few to find the interval, which takes ${POINTS_TO_FIND_INTERVAL}; --series.interval names it`;
}

/** Observed values only, NaN in a gap. */
function pastOf({ grid, interval, offsetMs, settings }: Series): readonly TimedValue[] {
  if (grid === null || interval === null) return [];
  const first = Math.max(
    grid.firstObservedSlot(),
    grid.newestSlot - plottedHorizons * Math.max(settings.horizon, settings.season),
  );
  return Array.from({ length: grid.newestSlot - first + 1 }, (_, i) => ({
    timeMs: interval.timeOf(first + i, offsetMs),
    value: grid.at(first + i, 0),
  }));
}

function print(continued: readonly Continued[], { values }: ForecastLine, io: CommandIo): void {
  const format = values.format ?? (process.stdout.isTTY === true ? "text" : "csv");
  if (format === "csv") for (const line of csvLines(continued)) io.out(line);
  else if (format === "json") io.out(jsonText(continued));
  else printText(continued, io);
  if (format !== "text")
    for (const { forecast } of continued)
      io.err(`${printable(forecast.seriesId)}: ${summaryLines(forecast).join("; ")}`);
  if (values.plot === null || continued.length === 0) return;
  writeFileSync(values.plot, plotOf(continued.slice(0, mostPlotted)));
  const left = continued.length - mostPlotted;
  io.err(`${values.plot} written${left > 0 ? `, with the first ${mostPlotted} series` : ""}`);
}

function printText(continued: readonly Continued[], io: CommandIo): void {
  const columns = Math.min(100, process.stdout.columns ?? 80);
  const isColoured = process.stdout.isTTY === true && !io.env.NO_COLOR;
  for (const [i, one] of continued.entries()) {
    if (i > 0) io.out("");
    const { forecast } = one;
    const lines =
      i < mostCharts
        ? textLines(one, { columns, isColoured })
        : [printable(forecast.seriesId), ...summaryLines(forecast)];
    for (const line of lines) io.out(line);
  }
}

/** One below the other. */
function plotOf(continued: readonly Continued[]): string {
  const panels = continued.map(({ forecast, past }, i) => {
    const { seriesId, timesMs, levels, quantiles } = forecast;
    const content = drawFan({
      title: seriesId,
      note: summaryLines(forecast).join("; "),
      past,
      fan: fanOf(levels, quantiles, timesMs),
    });
    return element("g", { transform: `translate(0 ${i * fanSize.height})` }, content);
  });
  const size = { width: fanSize.width, height: continued.length * fanSize.height };
  return svgDocument(size, `Forecasts of ${continued.length} series`, panels.join(""));
}
