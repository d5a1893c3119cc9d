// The runner must not report success when tests did not pass: each way to go wrong, tried on a real file.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";

const suiteModule = new URL("../../rig/test-suite.js", import.meta.url).href;
const folder = mkdtempSync(join(tmpdir(), "forecastnet-suite-"));
after(() => rmSync(folder, { recursive: true }));

const runner = join(folder, "run-one-file.mjs");
writeFileSync(
  runner,
  `import { TestSuite } from ${JSON.stringify(suiteModule)};
   const suite = new TestSuite({ fileTimeoutMs: Number(process.argv[3]) });
   await suite.runFiles([process.argv[2]], 1);
   process.exitCode = (await suite.finish([])) ? 0 : 1;`,
);

interface Outcome {
  readonly exitCode: number | null;
  readonly output: string;
  readonly totals: string | undefined;
}

function runFile(name: string, body: string): Promise<Outcome> {
  const file = join(folder, `${name}.test.mjs`);
  writeFileSync(file, `import { describe, test } from "node:test";\n${body}`);
  // Without this variable, which node sets for test files, a run inside a run does nothing.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  return new Promise((resolve) => {
    // Only the file that hangs is to run out of time, however busy the machine is.
    const timeoutMs = name === "hanging" ? "5000" : "60000";
    const child = execFile(process.execPath, [runner, file, timeoutMs], { env }, (_error, stdout) => {
      resolve({ exitCode: child.exitCode, output: stdout, totals: stdout.trimEnd().split("\n").at(-1) });
    });
  });
}

const pass = `test("passes", () => {});`;

const stories = [
  { name: "passing", body: pass, exitCode: 0, totals: "1 passed, 0 failed, 0 skipped" },
  {
    name: "partly skipped",
    body: `${pass} test("waits", { skip: true }, () => {}); describe("all", { skip: "why" }, () => {});`,
    exitCode: 0,
    totals: "1 passed, 0 failed, 2 skipped",
  },
  {
    name: "failing",
    body: `${pass} describe("suite", () => test("fails", () => { throw new Error("wrong"); }));`,
    exitCode: 1,
    totals: "1 passed, 1 failed, 0 skipped",
  },
  {
    name: "broken in a suite's body",
    body: `${pass} describe("suite", () => { throw new Error("wrong"); });`,
    exitCode: 1,
    totals: "1 passed, 1 failed, 0 skipped",
  },
  {
    name: "killed after a pass",
    body: `${pass} setTimeout(() => process.kill(process.pid, "SIGKILL"), 100);`,
    exitCode: 1,
    totals: "1 passed, 1 failed, 0 skipped",
  },
  {
    name: "broken at load",
    body: `throw new Error("wrong");`,
    exitCode: 1,
    totals: "0 passed, 1 failed, 0 skipped",
  },
  {
    name: "hanging",
    body: `${pass} setInterval(() => {}, 1000);`,
    exitCode: 1,
    totals: "1 passed, 1 failed, 0 skipped",
  },
  { name: "empty", body: "", exitCode: 1, totals: "0 passed, 1 failed, 0 skipped" },
  {
    name: "wholly skipped",
    body: `test.skip("waits");`,
    exitCode: 1,
    totals: "0 passed, 1 failed, 1 skipped",
  },
];

describe("the runner's exit code and last line are true of a file that is", { concurrency: 2 }, () => {
  for (const { name, body, exitCode, totals } of stories) {
    test(name, async () => {
      const outcome = await runFile(name.replaceAll(/\W/g, "-"), body);
      assert.deepEqual([outcome.exitCode, outcome.totals], [exitCode, totals], outcome.output);
    });
  }
});
