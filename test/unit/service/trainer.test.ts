// The trainer's own life: starting late, not starting, stopping early. What it does with requests is tested in
// test/pipeline/trainers.test.ts.

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createMemoryLog, type MemoryLog } from "../../../src/log/memory-log.ts";
import { trainerTopics } from "../../../src/log/topic-check.ts";
import { systemClock } from "../../../src/runtime/clock.ts";
import { loadConfig } from "../../../src/runtime/config/load.ts";
import { ForecastnetError } from "../../../src/runtime/errors.ts";
import { silentLogger } from "../../../src/runtime/logging.ts";
import { createMetrics } from "../../../src/runtime/metrics.ts";
import { largestRecords } from "../../../src/service/pipeline-parts.ts";
import { Trainer, type TrainerParts } from "../../../src/service/trainer.ts";
import type { ModelTrainer } from "../../../src/training/training-task.ts";
import { closesLateLog, leavesLateGroup, pageOf } from "./late-opening.ts";
import { gate, until } from "./service-fixture.ts";

const config = loadConfig({ argv: ["--worker.host=127.0.0.1", "--worker.port=0"], env: {} });

/** Trains nothing, and counts how often it is closed. */
class IdleTrainer implements ModelTrainer {
  closed = 0;

  async train(): Promise<never> {
    throw new Error("nobody was to ask for a training");
  }

  async close(): Promise<void> {
    this.closed++;
  }
}

function startTrainer(t: TestContext, changes: Partial<TrainerParts> = {}): Trainer {
  const trainer = new Trainer({
    config,
    openLog: logWithTopics,
    openTrainer: async () => new IdleTrainer(),
    clock: systemClock,
    random: Math.random,
    logger: silentLogger,
    metrics: createMetrics("test"),
    ...changes,
  });
  t.after(async () => {
    trainer.stop("the test is over");
    await Promise.allSettled([trainer.done]);
  });
  return trainer;
}

const { deadLetter } = largestRecords(config);

async function logWithTopics(partitions = 2): Promise<MemoryLog> {
  const log = createMemoryLog();
  await log.createTopics(trainerTopics(config.topics, partitions, deadLetter));
  return log;
}

test("a trainer tells of itself on its pages", async (t) => {
  const trainer = startTrainer(t);
  await until(() => trainer.status().isReady);
  assert.deepEqual(await pageOf(trainer, "/healthz"), [200, "running\n"]);
  assert.deepEqual(await pageOf(trainer, "/readyz"), [200, "ready\n"]);
  const [, metrics] = await pageOf(trainer, "/metrics");
  assert.match(metrics, /^forecastnet_partitions_owned 2$/m);
  const [, body] = await pageOf(trainer, "/");
  assert.deepEqual(JSON.parse(body), {
    ...{ service: "forecastnet trainer", state: "running", partitions: 2 },
    training: { inFlight: 0, waiting: 0, budgetSeconds: null },
    ...{ isReady: true, reason: "ready" },
  });
});

test("a broker that does not answer is waited for", async (t) => {
  let isUp = false;
  const trainer = startTrainer(t, {
    openLog: async () => {
      if (isUp) return logWithTopics();
      throw new ForecastnetError("BROKER_UNREACHABLE", "k:1 does not answer");
    },
  });
  await until(() => trainer.status().reason === "k:1 does not answer");
  assert.deepEqual(await pageOf(trainer, "/readyz"), [503, "k:1 does not answer\n"]);
  assert.deepEqual(await pageOf(trainer, "/healthz"), [200, "starting\n"]);
  isUp = true;
  await until(() => trainer.status().isReady);
});

test("topics that no worker has made yet are waited for, and none is made", async (t) => {
  const log = createMemoryLog();
  const trainer = startTrainer(t, { openLog: async () => log });
  await until(() => /forecastnet\.training.* does not exist yet/.test(trainer.status().reason));
  assert.deepEqual(await log.describeTopics(Object.values(config.topics).flat().map(String)), []);
  await log.createTopics(trainerTopics(config.topics, 1, deadLetter));
  await until(() => trainer.status().isReady);
});

test("topics that do not fit one another keep the trainer from starting, and it says so", async (t) => {
  const log = createMemoryLog();
  await log.createTopics([{ topic: config.topics.models, partitions: 3, compacted: true }]);
  await log.createTopics(trainerTopics(config.topics, 2, deadLetter));
  const trainer = startTrainer(t, { openLog: async () => log });
  await until(() => /forecastnet\.models has 3 partitions/.test(trainer.status().reason));
  assert.ok(!trainer.status().isReady);
});

test("a trainer asked to stop while it waits stops at once, and closes what it opened", async (t) => {
  const idle = new IdleTrainer();
  const log = createMemoryLog();
  const trainer = startTrainer(t, { openLog: async () => log, openTrainer: async () => idle });
  await until(() => trainer.status().reason.includes("does not exist"));
  trainer.stop("SIGTERM");
  trainer.stop("SIGTERM again");
  await trainer.done;
  assert.deepEqual([trainer.status().reason, idle.closed], ["stopped", 1]);
});

/** A gate that opens once. */
test("threads that open after the stop are closed all the same", async (t) => {
  const idle = new IdleTrainer();
  const { passed, open } = gate();
  const openTrainer = async () => {
    await passed;
    return idle;
  };
  const trainer = startTrainer(t, { openTrainer });
  await until(() => trainer.port !== undefined);
  trainer.stop("SIGTERM");
  await trainer.done;
  open();
  await until(() => idle.closed === 1);
});

test("a log that opens after the stop is closed all the same", (t) =>
  closesLateLog(t, startTrainer, logWithTopics));

test("a group that is joined after the stop is left again, and holds the stop up no longer", async (t) =>
  leavesLateGroup(t, startTrainer, await logWithTopics()));

test("threads that cannot be opened end the trainer with the reason", async (t) => {
  const broken = new ForecastnetError("ENGINE_FAILED", "no kernel");
  const trainer = startTrainer(t, {
    openTrainer: async () => {
      throw broken;
    },
  });
  await assert.rejects(trainer.done, broken);
});

test("trainers share the partitions among them", async (t) => {
  const log = await logWithTopics(4);
  log.close = async () => {}; // The one that stops first must not close it for the other.
  const trainers = [
    startTrainer(t, { openLog: async () => log }),
    startTrainer(t, { openLog: async () => log }),
  ];
  const owned = () =>
    Promise.all(trainers.map(async (trainer) => JSON.parse((await pageOf(trainer, "/"))[1]).partitions));
  await until(() => trainers.every((trainer) => trainer.status().isReady));
  let shares = await owned();
  for (let tries = 0; tries < 50 && shares.join() !== "2,2"; tries++) shares = await owned();
  assert.deepEqual(shares, [2, 2]);
});
