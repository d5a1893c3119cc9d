import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { describe, test } from "node:test";
import type { Kafka } from "kafkajs";
import { KafkaMembership } from "../../../../src/log/kafka/kafka-membership.ts";
import { systemClock } from "../../../../src/runtime/clock.ts";
import { silentLogger } from "../../../../src/runtime/logging.ts";

const events = {
  GROUP_JOIN: "join",
  HEARTBEAT: "heartbeat",
  STOP: "stop",
  CRASH: "crash",
  FETCH_START: "fetch",
  REQUEST: "request",
  REBALANCING: "rebalancing",
};

/** A client that does nothing but count its runs; a real one crashes like this only in a race with its broker. */
function clientThatCrashes() {
  const emitter = new EventEmitter();
  const runs = new EventEmitter();
  let count = 0;
  const consumer = {
    events,
    on: (event: string, listener: (event: unknown) => void) => emitter.on(event, listener),
    connect: async () => undefined,
    disconnect: async () => undefined,
    subscribe: async () => undefined,
    run: async () => {
      count++;
      runs.emit("run");
    },
  };
  return {
    kafka: { consumer: () => consumer } as unknown as Kafka,
    runs,
    get count() {
      return count;
    },
    crash: (error: Error) => emitter.emit(events.CRASH, { payload: { error, restart: false } }),
  };
}

async function join(kafka: Kafka): Promise<KafkaMembership> {
  const membership = new KafkaMembership({
    kafka,
    subscription: { group: "g", inputs: ["sensors"] } as never,
    lane: async () => undefined,
    sessionTimeoutMs: 10_000,
    transactions: { timeoutMs: 10_000, onEnd: () => {} },
    clock: systemClock,
    logger: silentLogger,
    findTopic: () => Promise.reject(new Error("no topic is needed here")),
    committed: async () => null,
    startOffset: async () => 0,
    reads: { restore: async function* () {}, tail: async function* () {} },
  });
  await membership.join();
  return membership;
}

function named(name: string): Error {
  return Object.assign(new Error("Failed to find group coordinator"), { name, retriable: false });
}

describe("a member whose client gives up", () => {
  test("joins again when what failed is likely to pass", async () => {
    const client = clientThatCrashes();
    const membership = await join(client.kafka);
    const ranAgain = new Promise((resolve) => client.runs.once("run", resolve));
    client.crash(named("KafkaJSGroupCoordinatorNotFound"));
    await ranAgain;
    assert.equal(client.count, 2);
    await membership.stop(0);
  });

  test("fails when it will not pass", async () => {
    const client = clientThatCrashes();
    const membership = await join(client.kafka);
    client.crash(named("KafkaJSSASLAuthenticationError"));
    await assert.rejects(membership.done, { code: "LOG_FAILED" });
    assert.equal(client.count, 1);
    await membership.stop(0);
  });
});
