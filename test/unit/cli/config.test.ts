import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { runConfigCommand } from "../../../src/cli/config.ts";

function run(argv: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const out: string[] = [];
  const err: string[] = [];
  const code = runConfigCommand(argv, { out: (line) => out.push(line), err: (line) => err.push(line), env });
  return { code, out: out.join("\n"), err: err.join("\n") };
}

function folderWith(context: TestContext, files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "forecastnet-config-"));
  context.after(() => rmSync(folder, { recursive: true }));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return folder;
}

test("check says that a valid configuration is valid", () => {
  assert.deepEqual(run(["check", "--group=g"]), { code: 0, out: "configuration is valid", err: "" });
});

test("check lists all problems on standard error and returns 1", () => {
  const { code, out, err } = run(["check", "--worker.port=x"], { FORECASTNET_SERIES_HORIZON: "0" });
  assert.equal(code, 1);
  assert.equal(out, "");
  assert.match(err, /2 problems.*series\.horizon: 0 given.*worker\.port: "x" given/s);
});

test("print shows each value with its source, and of a secret only the path", (context) => {
  const folder = folderWith(context, {
    "c.yaml": "kafka: { brokers: [k:1], sasl: { mechanism: plain, username: u } }",
    pw: "hunter2\n",
  });
  const file = join(folder, "c.yaml");
  const secret = join(folder, "pw");
  const argv = ["print", "--config", file, `--kafka.sasl.passwordFile=${secret}`];
  const { code, out } = run(argv, { FORECASTNET_GROUP: "g" });
  assert.equal(code, 0);
  const lines = out.split("\n").map((line) => line.trim());
  assert.ok(lines.includes("group: g # environment FORECASTNET_GROUP"));
  assert.ok(lines.includes(`brokers: [ k:1 ] # file ${file}`));
  assert.ok(lines.includes(`passwordFile: ${secret} # flag --kafka.sasl.passwordFile, contents ***`));
  assert.ok(lines.includes("port: 9464 # default"));
  assert.ok(!out.includes("hunter2"));
});

test("what print shows can be loaded again and gives the same", (context) => {
  const { out } = run([
    "print",
    "--series.overrides=[{match: '#*', horizon: 12}]",
    "--kafka.clientId=yes: #1",
  ]);
  const file = join(folderWith(context, { "printed.yaml": out }), "printed.yaml");
  const withoutSources = (yaml: string) =>
    yaml.replace(/ # (default|flag|file).*$|^ *# (default|flag|file).*\n/gm, "");
  assert.equal(withoutSources(run(["print", "--config", file]).out), withoutSources(out));
});

test("any other action shows the usage and returns 2", () => {
  for (const argv of [[], ["--help"], ["chekc"]]) {
    const { code, err } = run(argv);
    assert.equal(code, 2);
    assert.match(err, /^usage: forecastnet config check\|print/);
  }
});
