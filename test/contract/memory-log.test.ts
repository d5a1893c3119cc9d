import { createMemoryLog } from "../../src/log/memory-log.ts";
import { logContract } from "./log-contract.ts";

logContract("memory", async () => {
  // A handler that is stuck on purpose should not delay its successor for long.
  const log = createMemoryLog({ revokeMs: 100 });
  let names = 0;
  return { log, topicName: (prefix) => `${prefix}-${names++}`, close: () => log.close() };
});
