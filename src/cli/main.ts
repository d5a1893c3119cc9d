#!/usr/bin/env node
// The command line: picks the command and turns its outcome into an exit code.

import { processEnvironment } from "../runtime/config/load.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import { type CommandIo, exitCodes } from "./command.ts";
import { runConfigCommand } from "./config.ts";
import { runDemoCommand } from "./demo/demo.ts";
import { runModelsCommand } from "./models/models.ts";
import { runProbeCommand } from "./probe/probe.ts";
import { runSensorsCommand } from "./sensors/sensors.ts";
import { runTopicsCommand } from "./topics.ts";
import { runTrainerCommand } from "./trainer.ts";
import { productVersion } from "./version.ts";
import { runWorkerCommand } from "./worker.ts";

const usage = `usage: forecastnet <command> [options]

  demo     simulated sensors, forecasts and a live view, with no broker
  worker   forecast the series of a Kafka cluster
  trainer  train models that workers ask for (retrain.where=trainers)
  models   see the models; retrain, roll back, export or import one
  topics   create or check the topics of a fleet
  probe    send an observation and wait for its forecast
  config   check or print the configuration
  sensors  simulated sensors that write to an input topic
  version  print the version

Every key of the configuration is also a flag: --kafka.brokers=host:9092. See docs/configuration.md.`;

const io: CommandIo = {
  out: (line) => process.stdout.write(`${line}\n`),
  err: (line) => process.stderr.write(`${line}\n`),
  env: processEnvironment(),
};

process.exit(await run(process.argv.slice(2)));

async function run([command, ...argv]: readonly string[]): Promise<number> {
  try {
    switch (command) {
      case "demo":
        return await runDemoCommand(argv, io);
      case "worker":
        return await runWorkerCommand(argv, io);
      case "trainer":
        return await runTrainerCommand(argv, io);
      case "models":
        return await runModelsCommand(argv, io);
      case "topics":
        return await runTopicsCommand(argv, io);
      case "probe":
        return await runProbeCommand(argv, io);
      case "config":
        return runConfigCommand(argv, io);
      case "sensors":
        return await runSensorsCommand(argv, io);
      case "version":
        io.out(productVersion());
        return exitCodes.ok;
      case "help":
      case "--help":
        io.out(usage);
        return exitCodes.ok;
      default:
        io.err(command === undefined ? usage : `unknown command ${command}\n\n${usage}`);
        return exitCodes.usage;
    }
  } catch (error) {
    io.err(describe(error));
    return error instanceof ForecastnetError && error.code === "CONFIG_INVALID"
      ? exitCodes.invalid
      : exitCodes.failed;
  }
}

function describe(error: unknown): string {
  if (error instanceof ForecastnetError) return `${error.code}: ${error.message}\n${error.remedy}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
