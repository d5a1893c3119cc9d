// `forecastnet config check` and `forecastnet config print`: the worker's own loading, without a worker.

import { loadWithSources } from "../runtime/config/load.ts";
import { printConfig } from "../runtime/config/print.ts";
import { ForecastnetError } from "../runtime/errors.ts";

export interface ConfigCommandIo {
  out(line: string): void;
  err(line: string): void;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export const configExitCodes = {
  valid: 0,
  invalid: 1,
  usage: 2,
} as const;

const usage = `usage: forecastnet config check|print [--config FILE] [--<key>=<value> ...]
  check  say whether the configuration is valid, or all that is wrong with it
  print  show the configuration in effect as YAML, with the source of each value`;

/** Returns the exit code. */
export function runConfigCommand(argv: readonly string[], io: ConfigCommandIo): number {
  const [action, ...flags] = argv;
  if (action !== "check" && action !== "print") {
    io.err(usage);
    return configExitCodes.usage;
  }
  try {
    const loaded = loadWithSources({ argv: flags, env: io.env });
    io.out(action === "check" ? "configuration is valid" : printConfig(loaded).trimEnd());
    return configExitCodes.valid;
  } catch (error) {
    if (error instanceof ForecastnetError && error.code === "CONFIG_INVALID") {
      io.err(error.message);
      return configExitCodes.invalid;
    }
    throw error;
  }
}
