// `forecastnet demo`: simulated sensors, the real worker on the embedded log, and a live view of the forecasts as a
// subscriber reads them. Uses nothing outside this process.

import { createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { integer } from "../../runtime/config/formats.ts";
import {
  type CommandIo,
  defineCommand,
  exitCodes,
  type LineOf,
  option,
  runCommand,
  toggle,
} from "../command.ts";
import { type Presenter, presentOnTerminal, presentPlainly } from "./presenter.ts";
import { demoHost } from "./settings.ts";
import { Simulation } from "./simulation.ts";
import { summaryLines } from "./summary.ts";

const demoCommand = defineCommand({
  name: "demo",
  summary: "Runs simulated sensors, the real worker and a live view in one process. Needs no broker.",
  actions: {},
  flags: {
    series: option("number of sensors, 1 to 500", "N", integer(1, 500), "40"),
    seconds: option("stop after S seconds; 0: run until Ctrl-C", "S", integer(0, 86_400), "0"),
    port: option("HTTP port on 127.0.0.1; a free one if it is taken", "P", integer(0, 65_535), "9464"),
    plain: toggle("print plain lines instead of the live view"),
  },
  takesConfig: false,
});

type DemoValues = LineOf<typeof demoCommand>["values"];

const sendEveryMs = 100;

/** Returns the exit code, once the demo has ended. */
export function runDemoCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  return runCommand(demoCommand, argv, io, async ({ values }) => {
    const stopping = new AbortController();
    const release = stopOnRequest(stopping, values.seconds);
    try {
      await runDemo(values, stopping, io);
      return exitCodes.ok;
    } finally {
      release();
    }
  });
}

/** Stops on Ctrl-C, SIGTERM, the end of the given time, and when the reader of our output is gone. */
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

async function runDemo(values: DemoValues, stopping: AbortController, io: CommandIo): Promise<void> {
  const port = await portOrAny(demoHost, values.port);
  const simulation = new Simulation({ series: values.series, port });
  await simulation.start();
  const opening =
    port === values.port
      ? "sensors, log, worker and subscriber all run in this process; no broker"
      : `port ${values.port} is taken, so the pages are at a free one`;
  simulation.tell(opening, "plain");
  const presenter = present(simulation, values, io);
  const subscription = simulation.subscribe();
  try {
    await Promise.race([subscription, play(simulation, presenter, stopping.signal)]);
    await Promise.all([simulation.stop(), subscription]);
    presenter.show();
  } finally {
    stopping.abort();
    presenter.close();
  }
  for (const line of summaryLines(simulation.outcome())) io.out(line);
}

/** The given port, or 0 (any free one) if it is taken or not allowed. */
function portOrAny(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EADDRINUSE" || error.code === "EACCES") resolve(0);
      else reject(error);
    });
    probe.listen(port, host, () => probe.close(() => resolve(port)));
  });
}

function present(simulation: Simulation, { plain }: DemoValues, io: CommandIo): Presenter {
  const isTerminal = process.stdout.isTTY && io.env.TERM !== "dumb";
  if (isTerminal && !plain) return presentOnTerminal(simulation, process.stdout, !io.env.NO_COLOR);
  return presentPlainly(simulation, io);
}

/** Sends and shows side by side until stopped. */
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
