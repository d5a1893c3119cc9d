// The command line of the demo.

import { parseArgs } from "node:util";

export interface DemoOptions {
  readonly series: number;
  /** 0: until asked to stop. */
  readonly seconds: number;
  readonly port: number;
  readonly isPlain: boolean;
}

export const demoUsage = `usage: forecastnet demo [--series N] [--seconds S] [--port P] [--plain]

  Simulated sensors, the real worker and a live view, all in this process; no broker.

  --series N    sensors to simulate, 1 to 500 (40)
  --seconds S   stop after so many seconds; 0 goes on until Ctrl-C (0)
  --port P      port of the HTTP pages on 127.0.0.1; a free one if it is taken (9464)
  --plain       plain lines instead of the live view`;

/** The options, or in words what is wrong with them. */
export function readOptions(argv: readonly string[]): DemoOptions | string {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        series: { type: "string", default: "40" },
        seconds: { type: "string", default: "0" },
        port: { type: "string", default: "9464" },
        plain: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    });
    if (values.help) return demoUsage;
    return {
      series: integerWithin("--series", values.series, 1, 500),
      seconds: integerWithin("--seconds", values.seconds, 0, 86_400),
      port: integerWithin("--port", values.port, 0, 65_535),
      isPlain: values.plain,
    };
  } catch (error) {
    return (error as Error).message;
  }
}

function integerWithin(flag: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && value <= most) return value;
  throw new Error(`${flag} is "${text}"; give a whole number from ${least} to ${most}`);
}
