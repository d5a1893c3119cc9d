// What every process does with a log or a group that opens only after it was told to stop.

import type { TestContext } from "node:test";
import type { Log, Membership } from "../../../src/log/log.ts";
import type { ServiceProcess } from "../../../src/service/service.ts";
import { gate, until } from "./service-fixture.ts";

type Start = (t: TestContext, parts: { readonly openLog: () => Promise<Log> }) => ServiceProcess;

export async function closesLateLog(
  t: TestContext,
  start: Start,
  createLog: () => Promise<Log>,
): Promise<void> {
  const { passed, open } = gate();
  let isOpening = false;
  let closed = 0;
  const openLog = async () => {
    isOpening = true;
    await passed;
    const log = await createLog();
    log.close = async () => void closed++;
    return log;
  };
  const process = start(t, { openLog });
  await until(() => isOpening);
  process.stop("SIGTERM");
  await process.done;
  open();
  await until(() => closed === 1);
}

export async function leavesLateGroup(t: TestContext, start: Start, log: Log): Promise<void> {
  const { passed, open } = gate();
  const joined: Membership[] = [];
  let isJoining = false;
  const join = log.join.bind(log);
  log.join = async (subscription, lane) => {
    isJoining = true;
    await passed;
    const membership = await join(subscription, lane);
    joined.push(membership);
    return membership;
  };
  log.close = async () => open(); // In the middle of the stop.
  const process = start(t, { openLog: async () => log });
  await until(() => isJoining);
  process.stop("SIGTERM");
  await process.done;
  await until(() => joined.length === 1 && !joined[0].status().isJoined);
}

export async function pageOf({ port }: ServiceProcess, path: string): Promise<readonly [number, string]> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`);
  return [answer.status, await answer.text()];
}
