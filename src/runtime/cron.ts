// Cron expressions in UTC. The only file that imports croner. It gives times, never timers: the product's own clock
// decides what is due.

import { Cron } from "croner";

/** Parsing takes longer than asking, and a process has few expressions. */
const cronByExpression = new Map<string, Cron>();

/** What is wrong with the expression; null if it is valid. */
export function cronProblem(expression: string): string | null {
  try {
    open(expression);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

/** The first matching time after `afterMs`; null if there is none. */
export function nextRunMs(expression: string, afterMs: number): number | null {
  const cron = cronByExpression.get(expression) ?? open(expression);
  cronByExpression.set(expression, cron);
  return cron.nextRun(new Date(afterMs))?.getTime() ?? null;
}

/** The offset is UTC, too, and six times faster than the time zone of that name. */
function open(expression: string): Cron {
  return new Cron(expression, { utcOffset: 0, paused: true });
}
