// One JSON line per event, to standard output: a fixed lower-case message, facts as fields. The only door
// to pino. Secrets never get here: the configuration hands them to the Kafka client alone.

import { pino } from "pino";

export interface Logger {
  debug(facts: Readonly<Record<string, unknown>>, message: string): void;
  info(facts: Readonly<Record<string, unknown>>, message: string): void;
  warn(facts: Readonly<Record<string, unknown>>, message: string): void;
  error(facts: Readonly<Record<string, unknown>>, message: string): void;
}

export type LogLevel = "fatal" | "error" | "warn" | "info" | "debug" | "trace" | "silent";

/** Lines are written synchronously: the last words of a dying worker must not be lost in a buffer. */
export function createLogger(level: LogLevel, destinationFd: 1 | 2 = 1): Logger {
  return pino(
    {
      level,
      base: { service: "forecastnet" },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    pino.destination({ dest: destinationFd, sync: true }),
  );
}

export const silentLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
};
