// `forecastnet probe`: whether a fleet works, asked by whoever has just installed it.

import { systemClock } from "../../runtime/clock.ts";
import { type CommandIo, tellUsage } from "../command.ts";
import { type OwnFlags, readFlags, readSeconds } from "../command-flags.ts";
import { onCluster } from "../on-cluster.ts";
import { runProbe } from "./run-probe.ts";

const usage = `usage: forecastnet probe [--timeout S]

  Sends observations of a new series to the first input topic and waits for a forecast of it. The configuration is
  a worker's: --config FILE, --kafka.brokers=host:9092, and so on. The series stays, with a few points.

    --timeout S    for so many seconds (60)`;

const own = {
  timeout: { type: "string", default: "60" },
  help: { type: "boolean", default: false },
} as const satisfies OwnFlags;

/** Returns the exit code. */
export async function runProbeCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  const read = readCommandLine(argv);
  if (typeof read === "string") return tellUsage(read, usage, io);
  const { configArgv, timeoutMs } = read;
  return onCluster(configArgv, io, (cluster) => runProbe({ ...cluster, io, clock: systemClock, timeoutMs }));
}

interface CommandLine {
  readonly timeoutMs: number;
  readonly configArgv: readonly string[];
}

/** Or in words what is wrong with it; the usage itself when it was asked for. */
function readCommandLine(argv: readonly string[]): CommandLine | string {
  try {
    const { values, positionals, configArgv } = readFlags(argv, own);
    if (values.help) return usage;
    if (positionals.length > 0) return `unexpected argument ${positionals[0]}`;
    return { timeoutMs: readSeconds("--timeout", values.timeout ?? ""), configArgv };
  } catch (error) {
    return (error as Error).message;
  }
}
