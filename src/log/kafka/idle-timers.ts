// Stops a timer of the client that never rests. After each answer, kafkajs schedules a check for requests that wait for the
// end of a throttling. Without any throttling it computes a negative delay, so the check comes after a millisecond and
// schedules the next one: every open connection takes a thousand timers a second. We let it check only while requests wait.

/** The part of kafkajs' request queue that this concerns; each connection has one. */
export interface RequestQueue {
  readonly pending: readonly unknown[];
  scheduleCheckPendingRequests(): void;
}

const stopped = new WeakSet<object>();

/** For all queues of the class, because those of the admin client are out of reach. Further calls do nothing. */
export function stopIdleTimers(queue: RequestQueue): void {
  const prototype = Object.getPrototypeOf(queue) as RequestQueue;
  if (stopped.has(prototype)) return;
  stopped.add(prototype);
  const { scheduleCheckPendingRequests: schedule } = prototype;
  prototype.scheduleCheckPendingRequests = function (this: RequestQueue): void {
    if (this.pending.length > 0) schedule.call(this);
  };
}
