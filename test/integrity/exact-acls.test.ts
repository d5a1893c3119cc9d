// On a cluster with ACLs every program works with exactly the rights that deploy/examples/acls.yaml lists for it. If
// one of them is missing, the program names it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { type Acl, type AclRole, aclsOf, readAclTable } from "../../scripts/acls/acl-rules.ts";
import { kafkaOptions } from "../../src/cli/kafka-options.ts";
import { openKafkaLog } from "../../src/log/kafka/kafka-log.ts";
import { loadConfig } from "../../src/runtime/config/load.ts";
import type { AppConfig } from "../../src/runtime/config/schema.ts";
import { silentLogger } from "../../src/runtime/logging.ts";
import { projectRoot } from "../rig/project.ts";
import { type Role, runCommand, WorkerProcess } from "../rig/worker-process.ts";
import { GuardedCluster } from "./support/guarded-cluster.ts";
import { until } from "./support/until.ts";

const table = readAclTable(projectRoot);
const roles = Object.keys(table) as AclRole[];
const heroSeries = "pump-vibration-1";

describe("with exactly the listed rights", { timeout: 280_000 }, () => {
  let cluster: GuardedCluster;
  let config: AppConfig;
  const running: WorkerProcess[] = [];

  before(async () => {
    cluster = await GuardedCluster.start([...roles, "tenant"]);
    config = load("worker");
    for (const role of roles) await cluster.grant(role, aclsOf(table[role], config));
  });

  after(async () => {
    await Promise.all(running.map((process) => process.end("SIGKILL")));
    await cluster.stop();
  });

  function given(user: AclRole | "tenant"): object {
    return {
      kafka: {
        ...cluster.kafkaConfig(user),
        createTopics: false,
        replicationFactor: 1,
        sessionTimeoutMs: 4_000,
      },
      topics: { inputs: [{ topic: "sensors", format: "json" }] },
      output: { format: "json" },
      series: { interval: "PT1S", horizon: 4, season: 8 },
      // Nothing is trained that nobody asks for.
      retrain: { where: "trainers", effort: "quick", members: 1, schedule: "0 0 1 1 *", minHistory: 100 },
      worker: { host: "127.0.0.1", port: 0, graceMs: 10_000 },
    };
  }

  function load(user: AclRole | "tenant"): AppConfig {
    const readFile = (path: string) =>
      path === "given.json" ? JSON.stringify(given(user)) : readFileSync(path, "utf8");
    return loadConfig({ argv: ["--config", "given.json"], env: {}, readFile });
  }

  async function start(role: Role, user: AclRole, flags: readonly string[] = []): Promise<WorkerProcess> {
    const process = await WorkerProcess.start(role, given(user), role, flags);
    running.push(process);
    return process;
  }

  test("the topics command creates the topics", async () => {
    const { code, err } = await runCommand(["topics", "create", "--inputs=2"], given("topics"));
    assert.equal(code, 0, err);
  });

  test("sensors write, a worker forecasts, a trainer trains on an operator's order, and a probe succeeds", async () => {
    const sensors = await start("sensors", "sensor", ["--series=4", "--history=150", "--nonsense"]);
    const worker = await start("worker", "worker");
    const trainer = await start("trainer", "trainer");
    for (const process of [worker, trainer]) await until("to be ready", () => process.isReady());
    await until("forecasts", async () => ((await worker.metric("forecastnet_forecasts_total")) ?? 0) > 400);
    const asked = await runCommand(["models", "retrain", heroSeries, "--timeout=80"], given("operator"));
    assert.match(asked.out, /promoted|refused/i, asked.err);
    const probed = await runCommand(["probe"], given("probe"));
    assert.equal(probed.code, 0, probed.err);
    await until("dead letters", async () => {
      return ((await worker.metric("forecastnet_dead_letters_total")) ?? 0) > 0;
    });
    const expiry = await Promise.all([sensors, worker, trainer].map((process) => process.end("SIGTERM")));
    assert.deepEqual(
      expiry.map(({ code }) => code),
      [0, 0, 0],
    );
  });

  test("a subscriber reads the forecasts", async () => {
    const consumer = cluster.client("subscriber").consumer({ groupId: `${config.group}.subscriber` });
    await consumer.connect();
    try {
      await consumer.subscribe({ topic: config.topics.forecasts, fromBeginning: true });
      const seriesId = await new Promise<string>((resolve, reject) => {
        consumer.on("consumer.crash", ({ payload }) => reject(payload.error));
        const read = async (value: Buffer | null) => resolve(JSON.parse(String(value)).seriesId);
        void consumer.run({ eachMessage: ({ message }) => read(message.value) });
      });
      assert.ok(seriesId.length > 0);
    } finally {
      await consumer.disconnect();
    }
  });

  test("a fleet with its own names needs three prefixed rules and cannot read another fleet", async () => {
    const prefixed = { name: "plant-1.", isPrefix: true };
    const topicRights = ["Create", "Read", "Write", "DescribeConfigs"] as const;
    await cluster.grant("tenant", [
      ...topicRights.map((operation) => ({ ...prefixed, resource: "topic" as const, operation })),
      { ...prefixed, resource: "group", operation: "Read" },
      { ...prefixed, resource: "transactionalId", operation: "Write" },
    ]);
    const ownNames = Object.keys(config.topics).filter((name) => name !== "inputs");
    const topics = {
      inputs: [{ topic: "plant-1.sensors", format: "json" }],
      ...Object.fromEntries(ownNames.map((name) => [name, `plant-1.${name}`])),
    };
    const fleet = { ...given("tenant"), group: "plant-1.forecastnet", topics };
    const log = await openKafkaLog(kafkaOptions(load("tenant"), silentLogger));
    try {
      await log.createTopics([{ topic: "plant-1.sensors", partitions: 2, compacted: false }]);
      await assert.rejects(
        log.describeTopics(["sensors"]),
        /NOT_AUTHORIZED|needs Describe .* on topic sensors/,
      );
      const flags = ["--kafka.createTopics=true", "--retrain.where=off"];
      const worker = await WorkerProcess.start("tenant", fleet, "worker", flags);
      running.push(worker);
      await until("the fleet to be ready", () => worker.isReady());
      assert.deepEqual(await worker.end("SIGTERM"), { code: 0, signal: null });
    } finally {
      await log.close();
    }
  });

  const topic = (name: string, operation: Acl["operation"]): Acl => ({
    ...{ resource: "topic", name, isPrefix: false, operation },
  });
  const missing: readonly (readonly [Acl, RegExp])[] = [
    [topic("sensors", "Read"), /needs Describe \(Read and Write include it\) on topic sensors/],
    [topic("forecastnet.events", "DescribeConfigs"), /needs DescribeConfigs on topic forecastnet\.events/],
    [topic("forecastnet.state", "Read"), /needs Read on topic forecastnet\.state/],
    [topic("forecastnet.state", "Write"), /needs Write on topic .*forecastnet\.state/],
    [
      { resource: "group", name: "forecastnet", isPrefix: false, operation: "Read" },
      /needs Read on group forecastnet/,
    ],
    [
      { resource: "transactionalId", name: "forecastnet-", isPrefix: true, operation: "Write" },
      /needs Write on transactional ids that start with forecastnet-/,
    ],
  ];
  for (const [acl, complaint] of missing) {
    test(`without ${acl.operation} on ${acl.resource} ${acl.name} a worker names the missing right`, async () => {
      await cluster.revoke("worker", acl);
      const sensors = await start("sensors", "sensor", ["--series=4"]);
      const worker = await start("worker", "worker");
      await until(`a complaint like ${complaint}`, () =>
        worker.lines().some(({ reason }) => complaint.test(String(reason))),
      );
      await Promise.all([sensors, worker].map((process) => process.end("SIGKILL")));
      await cluster.grant("worker", [acl]);
    });
  }
});
