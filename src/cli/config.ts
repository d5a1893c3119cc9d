// `forecastnet config`: checks or prints the configuration with the worker's own loader.

import { familyNames } from "../models/families.ts";
import { loadWithSources, printConfig } from "../runtime/config/load.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import { checkFamilies } from "../service/pipeline-parts.ts";
import { asksForHelp, type CommandIo, configHelp, exitCodes } from "./command.ts";

const help = `usage: forecastnet config check|print [options]

Loads the configuration as a worker does. Needs no broker.

actions:
  check  check the configuration and report every problem
  print  print the effective configuration as YAML, with the source of each value

${configHelp}`;

/** Returns the exit code. Flags go to the loader unchecked: it reports all problems at once. */
export function runConfigCommand(argv: readonly string[], io: CommandIo): number {
  if (asksForHelp(argv)) {
    io.out(help);
    return exitCodes.ok;
  }
  const [action, ...flags] = argv;
  if (action !== "check" && action !== "print") {
    io.err(`config needs an action: check or print\n\n${help}`);
    return exitCodes.usage;
  }
  try {
    const loaded = loadWithSources({ argv: flags, env: io.env });
    checkFamilies(loaded.config, familyNames, loaded.sourceOf);
    io.out(action === "check" ? "the configuration is valid" : printConfig(loaded).trimEnd());
    return exitCodes.ok;
  } catch (error) {
    if (error instanceof ForecastnetError && error.code === "CONFIG_INVALID") {
      io.err(error.message);
      return exitCodes.invalid;
    }
    throw error;
  }
}
