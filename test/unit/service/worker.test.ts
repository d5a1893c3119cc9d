// The worker's own life, where it differs from the pipeline's: starting late, not starting, stopping early.

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Log } from "../../../src/log/log.ts";
import { createMemoryLog } from "../../../src/log/memory-log.ts";
import { systemClock } from "../../../src/runtime/clock.ts";
import { loadConfig } from "../../../src/runtime/config/load.ts";
import { ForecastnetError } from "../../../src/runtime/errors.ts";
import { text } from "../../../src/runtime/http.ts";
import { silentLogger } from "../../../src/runtime/logging.ts";
import { createMetrics } from "../../../src/runtime/metrics.ts";
import { Worker, type WorkerParts } from "../../../src/service/worker.ts";
import { openIdleEngine } from "../../pipeline/support/idle-engine.ts";
import { closesLateLog, leavesLateGroup, pageOf } from "./late-opening.ts";
import { gate, until } from "./service-fixture.ts";

function startWorker(t: TestContext, changes: Partial<WorkerParts>, argv: readonly string[] = []): Worker {
  const worker = new Worker({
    config: loadConfig({ argv: ["--worker.host=127.0.0.1", "--worker.port=0", ...argv], env: {} }),
    openLog: logWithSensors,
    clock: systemClock,
    random: Math.random,
    logger: silentLogger,
    metrics: createMetrics("test"),
    ...changes,
  });
  t.after(async () => {
    worker.stop("the test is over");
    await Promise.allSettled([worker.done]);
  });
  return worker;
}

async function logWithSensors(): Promise<Log> {
  const log = createMemoryLog();
  await log.createTopics([{ topic: "sensors", partitions: 1, compacted: false }]);
  return log;
}

const unreachable = () => new ForecastnetError("BROKER_UNREACHABLE", "k:1 does not answer");

test("a broker that does not answer is waited for, and the pages say why meanwhile", async (t) => {
  let isUp = false;
  const worker = startWorker(t, {
    openLog: async () => {
      if (!isUp) throw unreachable();
      return logWithSensors();
    },
  });
  assert.deepEqual(worker.status(), { isReady: false, reason: "starting" });
  await until(() => worker.status().reason === "k:1 does not answer");
  assert.deepEqual(await pageOf(worker, "/readyz"), [503, "k:1 does not answer\n"]);
  assert.deepEqual(await pageOf(worker, "/healthz"), [200, "starting, engine simd on cpu\n"]);
  isUp = true;
  await until(() => worker.status().isReady);
});

test("a model family that there is not is refused before the broker is asked", async (t) => {
  const openLog = () => assert.fail("the log is not opened");
  const worker = startWorker(t, { openEngine: openIdleEngine, openLog }, ["--series.family=prophet"]);
  await assert.rejects(worker.done, {
    code: "CONFIG_INVALID",
    message:
      /series\.family: "prophet" given \(configuration\), allowed: auto, forecastnet, linear, seasonal-naive, persistence, ensemble$/,
  });
});

test("a worker asked to stop while it waits for the broker stops at once, and well", async (t) => {
  const worker = startWorker(t, {
    openLog: async () => {
      throw unreachable();
    },
  });
  await until(() => worker.status().reason === "k:1 does not answer");
  worker.stop("SIGTERM");
  worker.stop("SIGTERM again");
  await worker.done;
  assert.equal(worker.status().reason, "stopped");
});

test("a failure that trying again cannot mend ends the worker with that failure", async (t) => {
  const refused = new ForecastnetError("LOG_FAILED", "no right to the topic");
  const worker = startWorker(t, {
    openLog: async () => {
      throw refused;
    },
  });
  await assert.rejects(worker.done, refused);
  assert.equal(worker.status().reason, "failed");
});

test("a taken port ends the worker before it joins", async (t) => {
  const first = startWorker(t, {});
  await until(() => first.port !== undefined);
  let isOpened = false;
  const openLog = async () => {
    isOpened = true;
    return logWithSensors();
  };
  const second = startWorker(t, { openLog }, [`--worker.port=${first.port}`]);
  await assert.rejects(second.done, { code: "EADDRINUSE" });
  assert.equal(isOpened, false);
});

test("pages given by the caller are served beside the worker's own", async (t) => {
  const worker = startWorker(t, { routes: { "/extra": () => text(200, "more") } });
  await until(() => worker.status().isReady);
  assert.deepEqual(await pageOf(worker, "/extra"), [200, "more\n"]);
  assert.equal((await pageOf(worker, "/metrics"))[0], 200);
});

test("the log is closed when the worker has stopped", async (t) => {
  const log = await logWithSensors();
  let closed = 0;
  const close = log.close.bind(log);
  log.close = async () => {
    closed++;
    await close();
  };
  const worker = startWorker(t, { openLog: async () => log });
  await until(() => worker.status().isReady);
  worker.stop("SIGTERM");
  await worker.done;
  assert.equal(closed, 1);
});

/** A gate that opens once. */
test("an engine that opens after the stop is closed all the same", async (t) => {
  const { passed, open } = gate();
  let closed = 0;
  const openEngine = async () => {
    await passed;
    return { ...(await openIdleEngine()), close: async () => void closed++ };
  };
  const worker = startWorker(t, { openEngine });
  await until(() => worker.port !== undefined);
  worker.stop("SIGTERM");
  await worker.done;
  open();
  await until(() => closed === 1);
});

test("a log that opens after the stop is closed all the same", (t) =>
  closesLateLog(t, (on, parts) => startWorker(on, { ...parts, openEngine: openIdleEngine }), logWithSensors));

test("a group that is joined after the stop is left again, and holds the stop up no longer", async (t) =>
  leavesLateGroup(
    t,
    (on, parts) => startWorker(on, { ...parts, openEngine: openIdleEngine }),
    await logWithSensors(),
  ));

test("a worker stops its retraining, leaves the group, and then closes engine, log and pages", async (t) => {
  const order: string[] = [];
  const log = await logWithSensors();
  const join = log.join.bind(log);
  log.join = async (...asked) => {
    const membership = await join(...asked);
    const stop = membership.stop.bind(membership);
    membership.stop = async (graceMs) => {
      order.push("group");
      await stop(graceMs);
    };
    return membership;
  };
  log.close = async () => {
    assert.equal((await pageOf(worker, "/healthz"))[0], 200);
    order.push("log");
  };
  const openEngine = async () => ({
    ...(await openIdleEngine()),
    close: async () => void order.push("engine"),
  });
  const worker = startWorker(t, { openLog: async () => log, openEngine });
  await until(() => worker.status().isReady);
  const { retrainer } = worker;
  assert.ok(retrainer, "a worker that is ready retrains");
  const stop = retrainer.stop.bind(retrainer);
  retrainer.stop = async () => {
    order.push("retraining");
    await stop();
  };
  worker.stop("SIGTERM");
  await worker.done;
  assert.deepEqual(order, ["retraining", "group", "engine", "log"]);
  await assert.rejects(pageOf(worker, "/healthz"));
});
