import assert from "node:assert/strict";
import { test } from "node:test";
import { stopIdleTimers } from "../../../../src/log/kafka/idle-timers.ts";

class Queue {
  pending: unknown[] = [];
  checks = 0;

  scheduleCheckPendingRequests(): void {
    this.checks++;
  }
}

test("a request queue of the client is checked only while requests wait, whichever connection it belongs to", () => {
  const [known, other] = [new Queue(), new Queue()];
  stopIdleTimers(known);
  stopIdleTimers(other);
  for (const queue of [known, other]) {
    queue.scheduleCheckPendingRequests();
    assert.equal(queue.checks, 0);
    queue.pending.push("request");
    queue.scheduleCheckPendingRequests();
    assert.equal(queue.checks, 1);
  }
});
