// A worker that logs in with OAuth tokens continues after every token has expired, whether it fetches tokens itself or
// reads them from a file. A worker that cannot log in reports why, without its secret.

import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type Broker, startBroker } from "../rig/kafka-broker.ts";
import { guardedFolder } from "../rig/service.ts";
import { TokenIssuer } from "../rig/token-issuer.ts";
import { type Role, runCommand, WorkerProcess } from "../rig/worker-process.ts";
import { until } from "./support/until.ts";

const user = "forecastnet";
/** As short as a broker's clock in whole seconds lets a session be of use. */
const lifeSeconds = 12;

describe("on a cluster that requires OAuth tokens", { timeout: 240_000 }, () => {
  const folder = guardedFolder("tokens");
  const secretFile = join(folder, "secret");
  const tokenFile = join(folder, "token");
  const running: WorkerProcess[] = [];
  let issuer: TokenIssuer;
  let broker: Broker;

  before(async () => {
    issuer = await TokenIssuer.start();
    broker = await startBroker(issuer.brokerOptions(user));
    writeFileSync(secretFile, issuer.client.secret);
    const { code, err } = await runCommand(["topics", "create", "--inputs=2"], given(byCredentials()));
    assert.equal(code, 0, err);
  });

  after(async () => {
    await Promise.all(running.map((process) => process.end("SIGKILL")));
    await broker.stop();
    issuer.close();
  });

  const byCredentials = (clientSecretFile = secretFile) => ({
    ...{ tokenUrl: issuer.tokenUrl, clientId: issuer.client.id, clientSecretFile },
    ...{ scope: "kafka", parameters: ["audience=kafka"] },
  });

  const byFile = (path = tokenFile) => ({ tokenFile: path });

  function given(oauth: object, name = "a"): object {
    return {
      group: `group-${name}`,
      kafka: {
        brokers: [broker.bootstrap],
        sasl: { mechanism: "oauthbearer", oauth },
        ...{ replicationFactor: 1, sessionTimeoutMs: 4_000 },
      },
      topics: { inputs: [{ topic: "sensors", format: "json" }] },
      output: { format: "json" },
      series: { interval: "PT1S", horizon: 4, season: 8 },
      retrain: { where: "off" },
      worker: { host: "127.0.0.1", port: 0, graceMs: 10_000 },
    };
  }

  async function start(role: Role, config: object, flags: readonly string[] = []): Promise<WorkerProcess> {
    const process = await WorkerProcess.start(role, config, role, flags);
    running.push(process);
    return process;
  }

  const forecasts = async (worker: WorkerProcess) =>
    (await worker.metric("forecastnet_forecasts_total")) ?? 0;

  async function forecastsMore(worker: WorkerProcess): Promise<void> {
    const before = await forecasts(worker);
    await until("more forecasts", async () => (await forecasts(worker)) > before + 8);
  }

  test("a worker that fetches tokens continues to forecast while several of them expire", async () => {
    issuer.lifeSeconds = lifeSeconds;
    const sensors = await start("sensors", given(byCredentials()), ["--series=4"]);
    const worker = await start("worker", given(byCredentials()));
    await until("the worker to be ready", () => worker.isReady());
    assert.equal(worker.linesOf("unsafe connection settings").length, 2);
    const issuedBefore = issuer.issued;
    await until("eight more tokens", () => issuer.issued >= issuedBefore + 8);
    await forecastsMore(worker);
    const troubles = worker.lines().filter(({ level }) => Number(level) >= 40);
    assert.deepEqual(
      troubles.filter(({ msg }) => msg !== "unsafe connection settings"),
      [],
    );
    assert.equal(await worker.metric("forecastnet_transactions_total", 'outcome="aborted"'), 0);
    const expiry = await Promise.all([sensors, worker].map((process) => process.end("SIGTERM")));
    assert.deepEqual(
      expiry.map(({ code }) => code),
      [0, 0],
    );
  });

  test("a worker uses each new token that is written to its file", async () => {
    let written = 0;
    const replace = () => {
      writeFileSync(`${tokenFile}.new`, issuer.sign(user, lifeSeconds));
      renameSync(`${tokenFile}.new`, tokenFile);
      written += 1;
    };
    replace();
    const timer = setInterval(replace, (lifeSeconds * 1000) / 3);
    try {
      issuer.lifeSeconds = 300;
      const sensors = await start("sensors", given(byCredentials(), "b"), ["--series=4"]);
      const worker = await start("worker", given(byFile(), "b"));
      await until("the worker to be ready", () => worker.isReady());
      await until("the first token to have expired", () => written >= 6);
      await forecastsMore(worker);
      const expiry = await Promise.all([sensors, worker].map((process) => process.end("SIGTERM")));
      assert.deepEqual(
        expiry.map(({ code }) => code),
        [0, 0],
      );
    } finally {
      clearInterval(timer);
    }
  });

  test("a wrong client secret ends the worker with the endpoint's message, which does not contain the secret", async () => {
    const wrong = "hunter2+hunter3";
    const path = join(folder, "wrong");
    writeFileSync(path, wrong);
    const worker = await start("worker", given(byCredentials(path)));
    const { code } = await worker.ended;
    assert.equal(code, 3);
    const [failed] = worker.linesOf("worker failed");
    assert.match(
      String(failed.reason),
      /token endpoint .* gave no token for client forecastnet: .*401: invalid_client/,
    );
    assert.ok(!worker.lastLines(1_000).includes("hunter"), "the secret must not be in the log");
  });

  test("a token that the broker refuses ends the worker with the broker's reason", async () => {
    const path = join(folder, "forged");
    const token = issuer.sign(user, 300, generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey);
    writeFileSync(path, token);
    const worker = await start("worker", given(byFile(path)));
    const { code } = await worker.ended;
    assert.equal(code, 3);
    const [failed] = worker.linesOf("worker failed");
    assert.match(String(failed.reason), /the broker .* refused the token \(OAUTHBEARER\): .*invalid_token/);
    assert.ok(!worker.lastLines(1_000).includes(token), "the token must not be in the log");
  });

  test("a worker waits for a token endpoint that is down", async () => {
    issuer.failure = { status: 503, body: "starting" };
    const worker = await start("worker", given(byCredentials(), "c"));
    await until("the reason to be reported", () =>
      worker.lines().some(({ reason }) => /token endpoint .*: it answered 503/.test(String(reason))),
    );
    issuer.failure = null;
    await until("the worker to be ready", () => worker.isReady());
    assert.deepEqual(await worker.end("SIGTERM"), { code: 0, signal: null });
  });
});
