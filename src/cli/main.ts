#!/usr/bin/env node
// The command line: runs the command and turns its result into an exit code.

import { processEnvironment } from "../runtime/config/load.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import { runBacktestCommand } from "./backtest/backtest.ts";
import { type CommandIo, configHelp, exitCodes } from "./command.ts";
import { runConfigCommand } from "./config.ts";
import { runDemoCommand } from "./demo/demo.ts";
import { runForecastCommand } from "./forecast/forecast.ts";
import { runModelsCommand } from "./models/models.ts";
import { runProbeCommand } from "./probe.ts";
import { runSensorsCommand } from "./sensors.ts";
import { runSeriesCommand } from "./series/series.ts";
import { runTopicsCommand } from "./topics.ts";
import { runTrainerCommand } from "./trainer.ts";
import { printVersion } from "./version.ts";
import { runWorkerCommand } from "./worker.ts";

interface NamedCommand {
  readonly summary: string;
  readonly run: (argv: readonly string[], io: CommandIo) => number | Promise<number>;
}

const commands: Readonly<Record<string, NamedCommand>> = {
  demo: { summary: "simulated sensors, forecasts and a live view; needs no broker", run: runDemoCommand },
  forecast: { summary: "forecast the series of CSV files; needs no broker", run: runForecastCommand },
  backtest: { summary: "score what workers would have forecast for them", run: runBacktestCommand },
  worker: { summary: "forecast the series of a Kafka cluster", run: runWorkerCommand },
  trainer: { summary: "train the models that workers request", run: runTrainerCommand },
  models: {
    summary: "list and show models; retrain, roll back, export or import one",
    run: runModelsCommand,
  },
  series: { summary: "list and show series; forget some", run: runSeriesCommand },
  topics: { summary: "create or check the topics of a fleet", run: runTopicsCommand },
  probe: { summary: "send observations and wait for their forecast", run: runProbeCommand },
  config: { summary: "check or print the configuration", run: runConfigCommand },
  sensors: { summary: "simulate sensors that write to an input topic", run: runSensorsCommand },
  version: { summary: "print the version", run: printVersion },
};

const help = `usage: forecastnet COMMAND [options]

commands:
${Object.entries(commands)
  .map(([name, { summary }]) => `  ${name.padEnd(8)}  ${summary}`)
  .join("\n")}

\`forecastnet COMMAND --help\` explains a command.
${configHelp}`;

const io: CommandIo = {
  out: (line) => process.stdout.write(`${line}\n`),
  err: (line) => process.stderr.write(`${line}\n`),
  env: processEnvironment(),
};

process.exit(await run(process.argv.slice(2)));

async function run([name, ...argv]: readonly string[]): Promise<number> {
  if (name === "help" || name === "--help") {
    io.out(help);
    return exitCodes.ok;
  }
  if (name === undefined || !Object.hasOwn(commands, name)) {
    io.err(name === undefined ? help : `unknown command ${name}\n\n${help}`);
    return exitCodes.usage;
  }
  try {
    return await commands[name].run(argv, io);
  } catch (error) {
    io.err(describe(error));
    if (!(error instanceof ForecastnetError)) return exitCodes.failed;
    if (error.code === "CONFIG_INVALID") return exitCodes.invalid;
    return error.code === "INPUT_INVALID" ? exitCodes.notDone : exitCodes.failed;
  }
}

function describe(error: unknown): string {
  if (error instanceof ForecastnetError) return `${error.code}: ${error.message}\n${error.remedy}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
