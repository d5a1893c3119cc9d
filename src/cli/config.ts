// `forecastnet config check` and `forecastnet config print`: the worker's own loading, without a worker.

import { loadWithSources } from "../runtime/config/load.ts";
import { printConfig } from "../runtime/config/print.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import { type CommandIo, exitCodes } from "./command.ts";

const usage = `usage: forecastnet config check|print [--config FILE] [--<key>=<value> ...]
  check  say whether the configuration is valid, or all that is wrong with it
  print  show the configuration in effect as YAML, with the source of each value`;

/** Returns the exit code. */
export function runConfigCommand(argv: readonly string[], io: CommandIo): number {
  const [action, ...flags] = argv;
  if (action !== "check" && action !== "print") {
    io.err(usage);
    return exitCodes.usage;
  }
  try {
    const loaded = loadWithSources({ argv: flags, env: io.env });
    io.out(action === "check" ? "configuration is valid" : printConfig(loaded).trimEnd());
    return exitCodes.ok;
  } catch (error) {
    if (error instanceof ForecastnetError && error.code === "CONFIG_INVALID") {
      io.err(error.message);
      return exitCodes.invalid;
    }
    throw error;
  }
}
