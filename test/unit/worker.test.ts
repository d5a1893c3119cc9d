// The worker's own life, where it differs from the pipeline's: starting late, not starting, stopping early.

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { Log } from "../../src/log/log.ts";
import { createMemoryLog } from "../../src/log/memory-log.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { loadConfig } from "../../src/runtime/config/load.ts";
import { ForecastnetError } from "../../src/runtime/errors.ts";
import { text } from "../../src/runtime/http.ts";
import { silentLogger } from "../../src/runtime/logging.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { Worker, type WorkerParts } from "../../src/worker.ts";

function startWorker(t: TestContext, changes: Partial<WorkerParts>, argv: readonly string[] = []): Worker {
  const worker = new Worker({
    config: loadConfig({ argv: ["--worker.host=127.0.0.1", "--worker.port=0", ...argv], env: {} }),
    openLog: logWithSensors,
    clock: systemClock,
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

async function until(isSo: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + 5_000;
  while (!isSo()) {
    assert.ok(performance.now() < deadlineMs, "waited 5 s in vain");
    await setImmediate();
  }
}

async function page(worker: Worker, path: string): Promise<readonly [number, string]> {
  const answer = await fetch(`http://127.0.0.1:${worker.port}${path}`);
  return [answer.status, await answer.text()];
}

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
  assert.deepEqual(await page(worker, "/readyz"), [503, "k:1 does not answer\n"]);
  assert.deepEqual(await page(worker, "/healthz"), [200, "starting, engine simd on cpu\n"]);
  isUp = true;
  await until(() => worker.status().isReady);
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
  assert.deepEqual(await page(worker, "/extra"), [200, "more\n"]);
  assert.equal((await page(worker, "/metrics"))[0], 200);
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
