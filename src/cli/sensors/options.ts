// The command line of `forecastnet sensors`: its own flags beside those of the configuration.

import { parseInterval } from "../../models/interval.ts";
import { type OwnFlags, type OwnValues, readFlags } from "../command-flags.ts";

export interface SensorsOptions {
  readonly series: number;
  /** Null: the interval of the configuration, or a second where that is "auto". */
  readonly stepMs: number | null;
  /** How many steps before now the sensors begin. */
  readonly history: number;
  /** How fast time passes until it has caught up with the clock; infinite sends the history at once. */
  readonly speed: number;
  /** Steps after the history at which the first sensor wears out; null: never. */
  readonly wearAfter: number | null;
  readonly talksNonsense: boolean;
  /** Null: the first input topic of the configuration. */
  readonly topic: string | null;
}

export interface CommandLine {
  readonly options: SensorsOptions;
  /** What is meant for the configuration. */
  readonly configArgv: readonly string[];
}

export const sensorsUsage = `usage: forecastnet sensors [--series N] [--interval PT5S] [--history STEPS] [--speed X] [--wear-after STEPS]

  Simulated sensors: they write observations to the first input topic, in the format configured for it, until
  stopped. The configuration is a worker's: --config FILE, --kafka.brokers=host:9092, and so on.
  The topic must exist: \`forecastnet topics create\` makes it.

  --series N          sensors to simulate, 1 to 100000 (40)
  --interval PT5S     time between two observations of a sensor (series.interval; PT1S where that is auto)
  --history STEPS     begin so many steps before now (0)
  --speed X           pass through that history X times as fast as it would have happened; 0 at once (0)
  --wear-after STEPS  so many steps after the history the first sensor wears out; 0 never (0)
  --nonsense          now and then a record that nobody can read, to see a dead letter
  --topic NAME        another of the input topics`;

const own = {
  series: { type: "string", default: "40" },
  interval: { type: "string" },
  history: { type: "string", default: "0" },
  speed: { type: "string", default: "0" },
  "wear-after": { type: "string", default: "0" },
  nonsense: { type: "boolean", default: false },
  topic: { type: "string" },
  help: { type: "boolean", default: false },
} as const satisfies OwnFlags;

/** The options, or in words what is wrong with them; the usage itself when it was asked for. */
export function readCommandLine(argv: readonly string[]): CommandLine | string {
  try {
    const { values, positionals, configArgv } = readFlags(argv, own);
    if (values.help) return sensorsUsage;
    if (positionals.length > 0) throw new Error(`unexpected argument ${positionals[0]}`);
    return { options: readOptions(values), configArgv };
  } catch (error) {
    return (error as Error).message;
  }
}

function readOptions(values: OwnValues<typeof own>): SensorsOptions {
  const whole = (name: "series" | "history" | "wear-after", least: number, most: number) => {
    const text = values[name] ?? "";
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    throw new Error(`--${name} is "${text}"; give a whole number from ${least} to ${most}`);
  };
  const wearAfter = whole("wear-after", 0, 10_000_000);
  return {
    series: whole("series", 1, 100_000),
    stepMs: values.interval === undefined ? null : fixedStepMs(values.interval, "--interval"),
    history: whole("history", 0, 10_000_000),
    speed: readSpeed(values.speed ?? ""),
    wearAfter: wearAfter === 0 ? null : wearAfter,
    talksNonsense: values.nonsense,
    topic: values.topic ?? null,
  };
}

function readSpeed(text: string): number {
  const value = Number(text);
  if (!/^\d+(\.\d+)?$/.test(text) || value > 1e9) {
    throw new Error(`--speed is "${text}"; give a number from 0 to 1000000000`);
  }
  return value === 0 ? Number.POSITIVE_INFINITY : value;
}

/** A month has no fixed length, and sensors that report once a month need no simulation. */
export function fixedStepMs(iso: string, name: string): number {
  const interval = parseInterval(iso);
  if (/^P\d+[YM]$/.test(interval.iso)) throw new Error(`${name} is ${iso}; give one of weeks or shorter`);
  return interval.timeOf(1, 0) - interval.timeOf(0, 0);
}
