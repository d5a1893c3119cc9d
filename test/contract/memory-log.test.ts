import { createMemoryLog } from "../../src/log/memory-log.ts";
import { logContract } from "./log-contract.ts";

logContract("memory", async () => {
  // A lane that is stuck on purpose need not hold up its successor for long.
  const log = createMemoryLog({ revokeMs: 100 });
  let names = 0;
  return { log, topicName: (prefix) => `${prefix}-${names++}`, close: () => log.close() };
});
