// What the worker counts and says, kept where the demo can show it. The metrics stay those of the worker; the
// tally only listens.

import type { Logger } from "../../runtime/logging.ts";
import type { Metrics } from "../../runtime/metric-groups.ts";

export interface Tally {
  readonly observationsByOutcome: Map<string, number>;
  readonly deadLettersByReason: Map<string, number>;
  forecasts: number;
}

export function createTally(): Tally {
  return { observationsByOutcome: new Map(), deadLettersByReason: new Map(), forecasts: 0 };
}

export function tallied(metrics: Metrics, tally: Tally): Metrics {
  const { source, window, forecast } = metrics;
  return {
    ...metrics,
    source: {
      ...source,
      deadLetter: (reason) => {
        add(tally.deadLettersByReason, reason, 1);
        source.deadLetter(reason);
      },
    },
    window: {
      ...window,
      observations: (outcome, count) => {
        add(tally.observationsByOutcome, outcome, count);
        window.observations(outcome, count);
      },
    },
    forecast: {
      ...forecast,
      forecasts: (tier, method, count) => {
        tally.forecasts += count;
        forecast.forecasts(tier, method, count);
      },
    },
  };
}

/** A logger whose warnings are news; nothing reaches the screen by itself. Decisions are told by their topic. */
export function newsLogger(tell: (text: string) => void): Logger {
  const warn = (facts: Readonly<Record<string, unknown>>, message: string) => {
    const details = Object.entries(facts).map(([name, value]) => `${name} ${String(value)}`);
    tell(details.length === 0 ? message : `${message}: ${details.join(", ")}`);
  };
  return { debug: () => {}, info: () => {}, warn, error: warn };
}

export function total(countByName: ReadonlyMap<string, number>): number {
  return [...countByName.values()].reduce((sum, count) => sum + count, 0);
}

function add(countByName: Map<string, number>, name: string, count: number): void {
  countByName.set(name, (countByName.get(name) ?? 0) + count);
}
