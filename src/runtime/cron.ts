// Cron expressions, in UTC. The only door to croner; it is asked for times, never for timers: what is due is decided
// by the product's own clock.

import { Cron } from "croner";

/** Null when the expression can be read, otherwise what is wrong with it. */
export function cronProblem(expression: string): string | null {
  try {
    open(expression);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

/** The first time after `afterMs` that the expression names; null when there is none. */
export function nextRunMs(expression: string, afterMs: number): number | null {
  return open(expression).nextRun(new Date(afterMs))?.getTime() ?? null;
}

function open(expression: string): Cron {
  return new Cron(expression, { timezone: "UTC", paused: true });
}
