// `forecastnet backtest FILE`: what workers would have forecast for the series of CSV files, scored on what came. Every system is a
// worker's configuration, replayed on the whole path: gaps, late points, calibration, retraining with gate and probation.

import { writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { runBacktest, type System, type SystemRun } from "../../backtest/backtest.ts";
import { type Comparison, compareSystems, type SystemSummary } from "../../backtest/comparison.ts";
import { protocols } from "../../backtest/protocol.ts";
import { reportHtml } from "../../backtest/report.ts";
import { collectPoints, type SeriesPoints } from "../../backtest/series-points.ts";
import { anyFamily, familyNames } from "../../models/families.ts";
import { integer, number, oneOf, text } from "../../runtime/config/formats.ts";
import { loadConfig, loadWithSources, printGiven } from "../../runtime/config/load.ts";
import type { AppConfig } from "../../runtime/config/schema.ts";
import {
  type CommandIo,
  defineCommand,
  exitCodes,
  type LineOf,
  option,
  runCommand,
  toggle,
} from "../command.ts";
import { assumption, columnFlags, csvOperands, openCsv } from "../csv-operands.ts";
import { progressLine } from "../progress.ts";
import { type Column, suggestion, tableLines } from "../terminal-text.ts";

/** A worker that trains nothing: the cold tier. */
const coldSystem = "cold";

export const backtestCommand = defineCommand({
  name: "backtest",
  summary: `Replays the series of CSV files through the worker and scores its forecasts of the newest part on what came. A system is a
worker with the given series.family, or ${coldSystem}: a worker that trains nothing.`,
  actions: {},
  operands: csvOperands,
  examples: [
    ["forecastnet backtest sensors.csv --report report.html", "the default worker against the cold tier"],
    ["forecastnet backtest plant/ --systems linear,auto --test 0.2", "two systems, scored on the last fifth"],
    ["forecastnet backtest sensors.csv --fail-above MASE=1", "exit code 1 unless the first system is below"],
  ],
  flags: {
    systems: option(
      "families, separated by commas",
      "LIST",
      text("list of names", /^[a-z0-9,-]+$/),
      `${anyFamily},${coldSystem}`,
    ),
    horizon: option("steps ahead; short for --series.horizon", "N", integer(1, 10_000)),
    protocol: option(
      "production: what workers would have published; rolling: models fitted once, origins a horizon apart",
      "NAME",
      oneOf(...protocols),
      "production",
    ),
    test: option("share of each series, at its end, that is scored", "SHARE", number(0.01, 0.9), "0.3"),
    ...columnFlags,
    jobs: option("replays side by side; by default one for each core", "N", integer(1, 256)),
    json: toggle("print JSON: means, and the scores of every series"),
    csv: toggle("print CSV: the scores of every series"),
    report: option("also write a report with charts", "FILE.html", text("file", /./)),
    write: option(
      "also write the configuration of the best system, for workers",
      "FILE.yaml",
      text("file", /./),
    ),
    "fail-above": option(
      "exit code 1 if the first system's mean is above",
      "METRIC=X",
      text("such as MASE=1", /^(mase|crps|rmsse|smape|msis)=\d+(\.\d+)?$/i),
    ),
  },
  takesConfig: true,
});

type BacktestLine = LineOf<typeof backtestCommand>;

/** Returns the exit code. */
export function runBacktestCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  return runCommand(backtestCommand, argv, io, async (line) => {
    const { values, configArgv } = line;
    const argv = [...configArgv, ...(values.horizon === null ? [] : [`--series.horizon=${values.horizon}`])];
    const config = loadConfig({ argv, env: io.env });
    const systems = systemsOf(values.systems, argv);
    if (typeof systems === "string") {
      io.err(systems);
      return exitCodes.usage;
    }
    const series = await readSeries(line, config, io);
    const runs = await replay(line, { systems, series, io });
    const comparison = compareSystems(runs, config.series.horizon);
    return report(line, { comparison, runs, series, config, io });
  });
}

/** Or what is wrong with the list. */
function systemsOf(list: string, argv: readonly string[]): readonly System[] | string {
  const known = [coldSystem, anyFamily, ...familyNames];
  const names = [...new Set(list.split(",").filter((name) => name !== ""))];
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined)
    return `there is no system ${unknown}: ${suggestion(unknown, known, `there are ${known.join(", ")}`)}`;
  return names.map((name) => ({
    name,
    argv: [...argv, name === coldSystem ? "--retrain.where=off" : `--series.family=${name}`],
  }));
}

async function readSeries(
  { operands, values }: BacktestLine,
  config: AppConfig,
  io: CommandIo,
): Promise<readonly SeriesPoints[]> {
  const input = openCsv(operands, values, config.series.interval);
  const series = await collectPoints(input.points);
  if (input.isAssumed()) io.err(assumption);
  return series;
}

interface Prepared {
  readonly systems: readonly System[];
  readonly series: readonly SeriesPoints[];
  readonly io: CommandIo;
}

async function replay(
  { values }: BacktestLine,
  { systems, series, io }: Prepared,
): Promise<readonly SystemRun[]> {
  const progress = progressLine();
  try {
    return await runBacktest({
      protocol: values.protocol,
      systems,
      series,
      env: io.env,
      testShare: values.test,
      threads: values.jobs ?? availableParallelism(),
      onProgress: progress.show,
    });
  } finally {
    progress.end();
  }
}

interface Outcome {
  readonly comparison: Comparison;
  readonly runs: readonly SystemRun[];
  readonly series: readonly SeriesPoints[];
  readonly config: AppConfig;
  readonly io: CommandIo;
}

/** Returns the exit code. */
function report({ values }: BacktestLine, { comparison, runs, series, config, io }: Outcome): number {
  const { comparedSeries, systems } = comparison;
  if (comparedSeries === 0) {
    io.err(
      `none of ${series.length} series could be scored: each needs an interval, and changes before its test part`,
    );
    return exitCodes.notDone;
  }
  if (values.json) io.out(jsonOf(comparison, runs));
  else if (values.csv) for (const line of csvOf(runs)) io.out(line);
  else for (const line of textOf(comparison, series, values.test)) io.out(line);
  if (values.report !== null) {
    const subject = subjectOf(series, values.test);
    const { levels } = config.output;
    writeFileSync(values.report, reportHtml({ subject, comparison, runs, series, levels }));
    io.err(`${values.report} written`);
  }
  if (values.write !== null) {
    writeFileSync(values.write, bestConfig(comparison, runs, io));
    io.err(`${values.write} written; a worker takes it with --config ${values.write}`);
  }
  return failure(
    values["fail-above"],
    systems.find(({ name }) => name === runs[0]?.system.name),
    io,
  );
}

/** With the figures that speak for it. */
function bestConfig(
  { systems, comparedSeries }: Comparison,
  runs: readonly SystemRun[],
  { env }: CommandIo,
): string {
  const [best] = systems as [SystemSummary];
  const argv = runs.find(({ system }) => system.name === best.name)?.system.argv ?? [];
  const rows = systems.map(({ name, scores }) => {
    return `  ${name}: MASE ${decimals(scores?.mase, 3)}, CRPS ${decimals(scores?.crps, 3)}, 80 % interval held ${heldText(scores, 0.8)}`;
  });
  const title = `The best of ${systems.length} on ${comparedSeries} series, by forecastnet backtest: ${best.name}.`;
  return printGiven(loadWithSources({ argv, env }), [title, ...rows].join("\n"));
}

type Metric = "mase" | "crps" | "rmsse" | "smape" | "msis";

function failure(rule: string | null, first: SystemSummary | undefined, io: CommandIo): number {
  if (rule === null || first?.scores == null) return exitCodes.ok;
  const [metric, limit] = rule.split("=") as [string, string];
  const found = first.scores[metric.toLowerCase() as Metric];
  if (found === null) {
    io.err(`--fail-above: ${metric} needs an interval, two levels such as 0.1 and 0.9 among output.levels`);
    return exitCodes.usage;
  }
  if (found <= Number(limit)) return exitCodes.ok;
  io.err(`${metric} of ${first.name} is ${found.toFixed(3)}, above ${limit}`);
  return exitCodes.notDone;
}

function subjectOf(series: readonly SeriesPoints[], testShare: number): string {
  const points = series.reduce((sum, { values }) => sum + values.length, 0);
  return `${series.length} series with ${points.toLocaleString("en-US")} values, replayed through the worker; forecasts of the last ${Math.round(100 * testShare)} % of each series are scored.`;
}

const decimals = (value: number | null | undefined, digits: number) =>
  value == null ? "–" : value.toFixed(digits);

const columns: readonly Column<SystemSummary>[] = [
  { title: "SYSTEM", text: ({ name }) => name },
  { title: "MASE", text: ({ scores }) => decimals(scores?.mase, 3), isNumber: true },
  { title: "CRPS", text: ({ scores }) => decimals(scores?.crps, 3), isNumber: true },
  { title: "RMSSE", text: ({ scores }) => decimals(scores?.rmsse, 3), isNumber: true },
  { title: "SMAPE", text: ({ scores }) => decimals(scores?.smape, 1), isNumber: true },
  { title: "MSIS", text: ({ scores }) => decimals(scores?.msis, 2), isNumber: true },
  { title: "80 % HELD", text: ({ scores }) => heldText(scores, 0.8), isNumber: true },
  { title: "95 % HELD", text: ({ scores }) => heldText(scores, 0.95), isNumber: true },
  { title: "RANK", text: ({ rank }) => decimals(rank, 2), isNumber: true },
  { title: "BORDA", text: ({ borda }) => String(borda), isNumber: true },
  { title: "PROMOTED", text: ({ promotions }) => String(promotions), isNumber: true },
  { title: "CPU S", text: ({ cpuSeconds }) => decimals(cpuSeconds, 1), isNumber: true },
];

function heldText(scores: SystemSummary["scores"], stated: number): string {
  const found = scores?.coverage.find((one) => Math.abs(one.stated - stated) < 1e-9);
  return found === undefined ? "–" : `${(100 * found.observed).toFixed(1)} %`;
}

function textOf(
  { systems, comparedSeries, bestTwo }: Comparison,
  series: readonly SeriesPoints[],
  testShare: number,
): readonly string[] {
  const left = series.length - comparedSeries;
  return [
    subjectOf(series, testShare),
    ...(left === 0 ? [] : [`${left} of them could not be scored: too short, or without a change`]),
    "",
    ...tableLines(columns, systems),
    ...(bestTwo === null
      ? []
      : [
          "",
          `${bestTwo.best} against ${bestTwo.second}: Diebold–Mariano ${bestTwo.statistic.toFixed(2)}, p = ${bestTwo.pValue.toPrecision(2)}`,
        ]),
  ];
}

function jsonOf(comparison: Comparison, runs: readonly SystemRun[]): string {
  const series = runs.map(({ system, series: results, decisions }) => ({
    system: system.name,
    series: results.map(({ seriesId, scores }) => ({ seriesId, scores })),
    decisions,
  }));
  return JSON.stringify({ ...comparison, runs: series }, null, 2);
}

function csvOf(runs: readonly SystemRun[]): readonly string[] {
  const rows = runs.flatMap(({ system, series }) =>
    series.flatMap(({ seriesId, scores }) =>
      scores === null
        ? []
        : [
            [
              system.name,
              JSON.stringify(seriesId),
              scores.steps,
              scores.mase,
              scores.crps,
              scores.rmsse,
              scores.smape,
              scores.msis ?? "",
            ].join(","),
          ],
    ),
  );
  return ["system,series,steps,mase,crps,rmsse,smape,msis", ...rows];
}
