// `forecastnet demo`: simulated sensors, the real worker on the embedded log, and a live view of the forecasts
// as a subscriber reads them. Nothing outside this process takes part.

import { setTimeout as delay } from "node:timers/promises";
import { type CommandIo, exitCodes, tellUsage } from "../command.ts";
import { closingLines } from "./closing.ts";
import { portOrAny } from "./free-port.ts";
import { type DemoOptions, demoUsage, readOptions } from "./options.ts";
import { type Presenter, presentOnTerminal, presentPlainly } from "./presenter.ts";
import { demoHost } from "./settings.ts";
import { Simulation } from "./simulation.ts";

const sendEveryMs = 100;

/** Returns the exit code, once the demo has ended. */
export async function runDemoCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  const options = readOptions(argv);
  if (typeof options === "string") return tellUsage(options, demoUsage, io);
  const stopping = new AbortController();
  const release = stopOnRequest(stopping, options.seconds);
  try {
    await runDemo(options, stopping, io);
    return exitCodes.ok;
  } finally {
    release();
  }
}

/** Ctrl-C, SIGTERM, the end of the time asked for, and a reader of our lines that has gone. */
function stopOnRequest(stopping: AbortController, seconds: number): () => void {
  const stop = () => stopping.abort();
  const timer = seconds > 0 ? setTimeout(stop, seconds * 1000) : undefined;
  process.on("SIGINT", stop).on("SIGTERM", stop);
  process.stdout.on("error", stop);
  return () => {
    clearTimeout(timer);
    process.off("SIGINT", stop).off("SIGTERM", stop);
    process.stdout.off("error", stop);
  };
}

async function runDemo(options: DemoOptions, stopping: AbortController, io: CommandIo): Promise<void> {
  const port = await portOrAny(demoHost, options.port);
  const simulation = new Simulation({ series: options.series, port });
  await simulation.start();
  const opening =
    port === options.port
      ? "sensors, log, worker and subscriber all run in this process; no broker"
      : `port ${options.port} is taken, so the pages are at a free one`;
  simulation.tell(opening, "plain");
  const presenter = present(simulation, options, io);
  const subscription = simulation.subscribe();
  try {
    await Promise.race([subscription, play(simulation, presenter, stopping.signal)]);
    await Promise.all([simulation.stop(), subscription]);
    presenter.show();
  } finally {
    stopping.abort();
    presenter.close();
  }
  for (const line of closingLines(simulation.outcome())) io.out(line);
}

function present(simulation: Simulation, { isPlain }: DemoOptions, io: CommandIo): Presenter {
  const isTerminal = process.stdout.isTTY && io.env.TERM !== "dumb";
  if (isTerminal && !isPlain) return presentOnTerminal(simulation, process.stdout, !io.env.NO_COLOR);
  return presentPlainly(simulation, io);
}

/** Sends and shows, side by side, until asked to stop. */
async function play(simulation: Simulation, presenter: Presenter, signal: AbortSignal): Promise<void> {
  const send = async () => {
    await simulation.backfill(signal);
    await repeat(() => simulation.send(), sendEveryMs, signal);
  };
  await Promise.all([send(), repeat(async () => presenter.show(), presenter.everyMs, signal)]);
}

async function repeat(act: () => Promise<void>, everyMs: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await act();
    await delay(everyMs, undefined, { signal }).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }
}
