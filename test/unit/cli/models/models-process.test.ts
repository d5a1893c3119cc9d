// `forecastnet models` as a process, without a broker.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const main = fileURLToPath(new URL("../../../../src/cli/main.js", import.meta.url));

function run(...argv: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, "models", ...argv], {
    encoding: "utf8",
    env: { PATH: process.env.PATH },
    timeout: 60_000,
  });
  return { status, stdout, stderr };
}

test("a broker that does not answer is reported in one line", { timeout: 60_000 }, async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : assert.fail("no port");
  server.close();
  await once(server, "close");
  const { status, stdout, stderr } = run("list", `--kafka.brokers=127.0.0.1:${port}`);
  assert.deepEqual([status, stdout], [1, ""]);
  assert.match(stderr, new RegExp(`^kafka at 127\\.0\\.0\\.1:${port}: [^\\n]*\\n$`));
});

test("help goes to standard output; a usage error goes to standard error and returns 2", () => {
  const help = run("--help");
  assert.deepEqual([help.status, help.stderr], [0, ""]);
  assert.match(help.stdout, /^usage: forecastnet models ACTION/);
  const mistake = run("retrain");
  assert.deepEqual([mistake.status, mistake.stdout], [2, ""]);
  assert.match(mistake.stderr, /^retrain needs KEY\n\nusage:/);
});

test("an invalid configuration is refused as by a worker", () => {
  const { status, stderr } = run("list", "--kafka.brokers=");
  assert.equal(status, 1);
  assert.match(stderr, /^CONFIG_INVALID: .*kafka\.brokers/s);
});
