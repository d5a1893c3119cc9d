import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { mock, test } from "node:test";
import { type RequestQueue, slowIdleTimers } from "../../../../src/log/kafka/idle-timers.ts";

const require = createRequire(import.meta.url);

test("a request queue of the client is checked only while requests wait, whichever connection it belongs to", () => {
  class Queue {
    pending: unknown[] = [];
    checks = 0;

    scheduleCheckPendingRequests(): void {
      this.checks++;
    }
  }
  const [known, other] = [new Queue(), new Queue()];
  for (const queue of [known, other]) slowIdleTimers(queue as unknown as RequestQueue);
  for (const queue of [known, other]) {
    queue.scheduleCheckPendingRequests();
    assert.equal(queue.checks, 0);
    queue.pending.push("request");
    queue.scheduleCheckPendingRequests();
    assert.equal(queue.checks, 1);
  }
});

test("an overdue answer of the real client is missed once a second, until its connection is closed", (t) => {
  mock.timers.enable({ apis: ["setInterval", "Date"] });
  t.after(() => mock.timers.reset());
  let isConnected = true;
  const Queue = require("kafkajs/src/network/requestQueue/index.js");
  const queue = new Queue({
    instrumentationEmitter: null,
    maxInFlightRequests: null,
    requestTimeout: 2_500,
    enforceRequestTimeout: true,
    clientId: "test",
    broker: "broker:9092",
    logger: { namespace: () => ({ debug() {} }) },
    isConnected: () => isConnected,
  });
  slowIdleTimers(queue);
  queue.scheduleRequestTimeoutCheck();
  let failures = 0;
  const entry = {
    apiKey: 0,
    apiName: "Test",
    apiVersion: 0,
    correlationId: 1,
    resolve() {},
    reject: () => failures++,
  };
  queue.push({ entry, expectResponse: true, sendRequest() {} });
  mock.timers.tick(2_000);
  assert.equal(failures, 0);
  mock.timers.tick(1_000);
  assert.equal(failures, 1);
  const { mock: ended } = mock.method(queue, "destroy");
  mock.timers.tick(1_000);
  assert.equal(ended.callCount(), 0);
  isConnected = false;
  mock.timers.tick(1_000);
  assert.equal(ended.callCount(), 1, "the search ends with the connection");
});
