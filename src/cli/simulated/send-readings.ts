// Sends the readings of simulated sensors to a log until stopped. Retries while the log does not answer. Never sends a
// reading that is ahead of the clock.

import { setTimeout as delay } from "node:timers/promises";
import type { Outgoing } from "../../domain.ts";
import type { Log } from "../../log/log.ts";
import type { Clock } from "../../runtime/clock.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import type { Logger } from "../../runtime/logging.ts";
import { backoff } from "../../runtime/waiting.ts";
import type { Fleet } from "./fleet.ts";
import { wornPump } from "./sensor-kinds.ts";

/** Pause between two reads of the clock; sensors with a shorter step send several readings at once. */
const pollMs = 100;
/** Records per append while the history is sent. */
const portionRecords = 4_000;
const summaryEveryMs = 60_000;
const wornSensor = 0;

interface SendingDeps {
  readonly log: Pick<Log, "append">;
  readonly fleet: Fleet;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

export interface Pace {
  readonly stepMs: number;
  /** Time of the fleet's first step. */
  readonly startMs: number;
  /** End of the history: the time at which the command was started. */
  readonly presentMs: number;
  /** Simulated seconds per second until the simulation has caught up with the clock. */
  readonly speed: number;
  /** Steps after `presentMs` at which the first sensor wears out; null for never. */
  readonly wearAfter: number | null;
}

/** Resolves once the signal has fired. Rejects on an error that is not retryable. */
export async function sendReadings(pace: Pace, deps: SendingDeps): Promise<void> {
  const { fleet, clock, logger, signal } = deps;
  const portionMs = Math.max(pace.stepMs, (pace.stepMs * portionRecords) / fleet.sensors.length);
  const wearMs = pace.wearAfter === null ? Infinity : pace.presentMs + pace.wearAfter * pace.stepMs;
  let sentToMs = pace.startMs;
  let [sent, isWorn, hasCaughtUp, summaryMs] = [0, false, false, clock.nowMs() + summaryEveryMs];
  while (!signal.aborted) {
    const nowMs = clock.nowMs();
    const dueMs = simulatedMs(pace, nowMs);
    sentToMs = Math.min(dueMs, sentToMs + portionMs);
    if (!isWorn && sentToMs >= wearMs) {
      isWorn = true;
      fleet.change(wornSensor, wornPump);
      logger.info({ seriesId: fleet.sensors[wornSensor].seriesId }, "sensor worn out");
    }
    const records = fleet.advanceTo(sentToMs).map(({ record }) => record);
    if (records.length > 0) await append(records, deps);
    sent += records.length;
    if (!hasCaughtUp && sentToMs >= nowMs) {
      hasCaughtUp = true;
      logger.info({ records: sent }, "history sent");
    }
    if (nowMs >= summaryMs) {
      summaryMs = nowMs + summaryEveryMs;
      logger.info({ records: sent, behindMs: nowMs - sentToMs }, "observations sent");
    }
    if (sentToMs >= dueMs) await pause(signal);
  }
}

/** The simulated time: it starts with the history and never passes the clock. */
export function simulatedMs({ startMs, presentMs, speed }: Pace, nowMs: number): number {
  if (speed === Number.POSITIVE_INFINITY) return nowMs;
  return Math.min(nowMs, startMs + speed * (nowMs - presentMs));
}

async function append(records: readonly Outgoing[], { log, logger, signal }: SendingDeps): Promise<void> {
  for (let attempt = 0; !signal.aborted; attempt++) {
    try {
      await log.append(records);
      return;
    } catch (error) {
      if (!(error instanceof ForecastnetError) || !error.retryable) throw error;
      logger.warn({ code: error.code, reason: error.message }, "log did not answer, trying again");
      await backoff(attempt, signal);
    }
  }
}

async function pause(signal: AbortSignal): Promise<void> {
  await delay(pollMs, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}
