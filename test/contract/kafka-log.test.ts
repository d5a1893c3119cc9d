// The contract suite against a real broker.

import { openKafkaLog } from "../../src/log/kafka/kafka-log.ts";
import type { Log } from "../../src/log/log.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { silentLogger } from "../../src/runtime/logging.ts";
import { brokerForTests } from "../rig/kafka-broker.ts";
import { logContract } from "./log-contract.ts";

let names = 0;
const run = process.pid.toString(36);

logContract("kafka", async () => {
  const bootstrap = await brokerForTests();
  const [log, secondLog] = await Promise.all([open(bootstrap), open(bootstrap)]);
  return {
    log,
    secondLog,
    topicName: (prefix) => `${prefix}-${run}-${names++}`,
    close: async () => {
      await Promise.all([log.close(), secondLog.close()]);
    },
  };
});

function open(bootstrap: string): Promise<Log> {
  return openKafkaLog({
    brokers: [bootstrap],
    clientId: "contract",
    sessionTimeoutMs: 6_000,
    transactions: { timeoutMs: 15_000, onEnd: () => {} },
    replicationFactor: 1,
    clock: systemClock,
    logger: silentLogger,
  });
}
