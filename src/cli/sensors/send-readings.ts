// What simulated sensors measure, sent to a log until asked to stop. Sits out a log that does not answer; never
// writes what lies ahead of the clock.

import { setTimeout as delay } from "node:timers/promises";
import type { Outgoing } from "../../domain.ts";
import type { Log } from "../../log/log.ts";
import type { Clock } from "../../runtime/clock.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import type { Logger } from "../../runtime/logging.ts";
import { backoff } from "../../runtime/waiting.ts";
import type { Fleet } from "../simulated/fleet.ts";
import { wornPump } from "../simulated/sensor-kinds.ts";

/** Between two looks at the clock; sensors whose step is shorter send several observations at once. */
const lookEveryMs = 100;
/** How many records go out at once while history is sent. */
const portionRecords = 4_000;
const summaryEveryMs = 60_000;
/** The sensor that wears out. */
const heroIndex = 0;

export interface SendingDeps {
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
  /** Where history ends and the present begins: the time the command was started at. */
  readonly presentMs: number;
  /** How fast time passes until it has caught up with the clock. */
  readonly speed: number;
  /** Steps after the present began at which the first sensor wears out; null: never. */
  readonly wearAfter: number | null;
}

/** Resolves once the signal has fired. Rejects when the log refuses for good. */
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
      fleet.change(heroIndex, wornPump);
      logger.info({ seriesId: fleet.sensors[heroIndex].seriesId }, "sensor worn out");
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

/** The time in the life of the sensors. It begins with their history and never overtakes the clock. */
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
  await delay(lookEveryMs, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}
