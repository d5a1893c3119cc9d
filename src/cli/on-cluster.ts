// Runs a command that ends by itself on a Kafka cluster: configuration in, exit code out. Errors of the cluster and of
// the user are printed as one line. Ctrl-C ends the wait, not the process.

import { openKafkaLog } from "../log/kafka/kafka-log.ts";
import type { Log } from "../log/log.ts";
import type { Clock } from "../runtime/clock.ts";
import { loadConfig } from "../runtime/config/load.ts";
import type { AppConfig } from "../runtime/config/schema.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import { silentLogger } from "../runtime/logging.ts";
import { type CommandIo, exitCodes } from "./command.ts";
import { kafkaOptions } from "./kafka-options.ts";
import { printable } from "./terminal-text.ts";

export interface Cluster {
  readonly config: AppConfig;
  readonly log: Log;
  /** Fires on Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
}

/** Returns the exit code. */
export async function onCluster(
  configArgv: readonly string[],
  io: CommandIo,
  act: (cluster: Cluster) => Promise<number>,
): Promise<number> {
  const config = loadConfig({ argv: configArgv, env: io.env });
  try {
    return await untilStopped(async (signal) => {
      const log = await openKafkaLog(kafkaOptions(config, silentLogger));
      try {
        return await act({ config, log, signal });
      } finally {
        await log.close();
      }
    });
  } catch (error) {
    if (!(error instanceof ForecastnetError)) throw error;
    io.err(error.message);
    return exitCodes.notDone;
  }
}

/** Runs `act` with a signal that fires on Ctrl-C and SIGTERM, which do not end the process meanwhile. */
export async function untilStopped<T>(act: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  process.on("SIGINT", stop).on("SIGTERM", stop);
  try {
    return await act(stopping.signal);
  } finally {
    process.off("SIGINT", stop).off("SIGTERM", stop);
  }
}

/** What a command needs to read a fleet's topics and to send orders to its workers. */
export interface FleetDeps {
  readonly log: Log;
  readonly topics: { readonly models: string; readonly state: string; readonly events: string };
  readonly io: Pick<CommandIo, "out" | "err">;
  readonly clock: Clock;
  /** Fires when the user stops waiting. */
  readonly signal: AbortSignal;
}

/** A problem that the user can fix. */
export class UserError extends Error {}

/** What a command does for each of its actions. Returns the exit code. */
export type FleetActions<Line extends { readonly action: string }, Deps> = Readonly<
  Record<Line["action"], (line: Line, deps: Deps) => Promise<number>>
>;

/** Runs the action of the line once the fleet's topics are known to exist. Returns the exit code. */
export async function runOnFleet<Line extends { readonly action: string }, Deps extends FleetDeps>(
  actions: FleetActions<Line, Deps>,
  line: Line,
  deps: Deps,
): Promise<number> {
  try {
    await demandTopics(deps);
    return await actions[line.action as Line["action"]](line, deps);
  } catch (error) {
    if (error instanceof UserError || error instanceof ForecastnetError) {
      deps.io.err(printable(error.message));
      return exitCodes.notDone;
    }
    if (!deps.signal.aborted) throw error;
    deps.io.err("stopped before the command finished");
    return exitCodes.notDone;
  }
}

async function demandTopics({ log, topics }: FleetDeps): Promise<void> {
  const wanted = [topics.models, topics.state, topics.events];
  const found = new Set((await log.describeTopics(wanted)).map(({ topic }) => topic));
  const missing = wanted.filter((topic) => !found.has(topic));
  if (missing.length === 0) return;
  const advice = "no worker has run with this configuration yet, or its topics have other names";
  throw new UserError(`topic ${missing.join(", ")} does not exist: ${advice}`);
}
