// The command line as a process: output and exit codes.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { productVersion } from "../../../src/cli/version.ts";

const main = fileURLToPath(new URL("../../../src/cli/main.js", import.meta.url));

function run(...argv: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...argv], {
    encoding: "utf8",
    env: { PATH: process.env.PATH },
    timeout: 20_000,
  });
  return { status, stdout, stderr };
}

test("version prints the version and nothing else", () => {
  assert.deepEqual(run("version"), { status: 0, stdout: `${productVersion()}\n`, stderr: "" });
});

test("help lists the commands on standard output", () => {
  const { status, stdout, stderr } = run("--help");
  assert.deepEqual([status, stderr], [0, ""]);
  for (const command of ["demo", "worker", "trainer", "models", "config", "sensors", "version"]) {
    assert.match(stdout, new RegExp(`^ +${command} `, "m"));
  }
});

test("a missing or unknown command prints the usage on standard error and returns 2", () => {
  const { status, stdout, stderr } = run();
  assert.deepEqual([status, stdout], [2, ""]);
  assert.match(stderr, /^usage: forecastnet COMMAND/);
  const unknown = run("forcast");
  assert.equal(unknown.status, 2);
  assert.match(unknown.stderr, /^unknown command forcast\n\nusage:/);
});

for (const role of ["worker", "trainer"]) {
  test(`a ${role} with an invalid configuration prints all problems and the remedy and returns 1`, () => {
    const { status, stdout, stderr } = run(role, "--worker.port=x", "--series.horizon=0");
    assert.deepEqual([status, stdout], [1, ""]);
    assert.match(stderr, /^CONFIG_INVALID: /);
    for (const problem of [/worker\.port/, /series\.horizon/, /config check/]) assert.match(stderr, problem);
  });
}
