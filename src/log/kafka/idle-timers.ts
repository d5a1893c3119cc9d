// Slows two timers of the client that never rest.
//
// After each answer, kafkajs schedules a check for requests that wait for the end of a throttling. Without any throttling
// it computes a negative delay, so the check comes after a millisecond and schedules the next one: every open connection
// takes a thousand timers a second. We let it check only while requests wait.
//
// Ten times a second, every connection looks for requests whose answers are overdue. Answers are overdue after many
// seconds, so we look once a second.

import { systemClock } from "../../runtime/clock.ts";

interface InFlight {
  readonly sentAt: number;
  readonly requestTimeout: number;
  timeoutRequest(): void;
}

/** The part of kafkajs' request queue that this concerns; each connection has one. */
export interface RequestQueue {
  readonly pending: readonly unknown[];
  readonly inflight: ReadonlyMap<unknown, InFlight>;
  readonly enforceRequestTimeout: boolean;
  requestTimeoutIntervalId: NodeJS.Timeout;
  isConnected(): boolean;
  scheduleCheckPendingRequests(): void;
  scheduleRequestTimeoutCheck(): void;
  /** Ends the search for overdue answers. */
  destroy(): void;
}

const OVERDUE_CHECK_MS = 1_000;
const slowed = new WeakSet<object>();

/** For all queues of the class, because those of the admin client are out of reach. Further calls do nothing. */
export function slowIdleTimers(queue: RequestQueue): void {
  const prototype = Object.getPrototypeOf(queue) as RequestQueue;
  if (slowed.has(prototype)) return;
  slowed.add(prototype);
  const { scheduleCheckPendingRequests: schedule } = prototype;
  prototype.scheduleCheckPendingRequests = function (this: RequestQueue): void {
    if (this.pending.length > 0) schedule.call(this);
  };
  prototype.scheduleRequestTimeoutCheck = function (this: RequestQueue): void {
    if (!this.enforceRequestTimeout) return;
    this.destroy();
    this.requestTimeoutIntervalId = setInterval(() => endOverdue(this), OVERDUE_CHECK_MS);
  };
}

function endOverdue(queue: RequestQueue): void {
  const nowMs = systemClock.nowMs();
  for (const request of [...queue.inflight.values()]) {
    if (nowMs - request.sentAt > request.requestTimeout) request.timeoutRequest();
  }
  if (!queue.isConnected()) queue.destroy();
}
