// One JSON line per event, to standard output: a fixed lower-case message, facts as fields. The only file that imports
// pino. Secrets are never logged: only clients receive them.

import { pino } from "pino";

export interface Logger {
  debug(facts: Readonly<Record<string, unknown>>, message: string): void;
  info(facts: Readonly<Record<string, unknown>>, message: string): void;
  warn(facts: Readonly<Record<string, unknown>>, message: string): void;
  error(facts: Readonly<Record<string, unknown>>, message: string): void;
}

type LogLevel = "fatal" | "error" | "warn" | "info" | "debug" | "trace" | "silent";

/** Lines are written synchronously, so that the last lines before a crash are not lost. */
export function createLogger(level: LogLevel): Logger {
  return pino(
    {
      level,
      base: { service: "forecastnet" },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    pino.destination({ dest: 1, sync: true }),
  );
}

export const silentLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
};
