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
  assert.deepEqual(run(["check", "--group=g"]), { code: 0, out: "the configuration is valid", err: "" });
});

test("check prints all problems on standard error and returns 1", () => {
  const { code, out, err } = run(["check", "--worker.port=x"], { FORECASTNET_SERIES_HORIZON: "0" });
  assert.equal(code, 1);
  assert.equal(out, "");
  assert.match(err, /2 problems.*series\.horizon: 0 given.*worker\.port: "x" given/s);
});

test("check refuses a model family that there is not, and names those there are", () => {
  const overrides = "--series.overrides=[{match: 'a*', family: linear}, {match: 'b*', family: arima}]";
  const { code, err } = run(["check", overrides], { FORECASTNET_SERIES_FAMILY: "prophet" });
  assert.equal(code, 1);
  const known = "allowed: auto, forecastnet, linear, seasonal-naive, persistence, ensemble";
  assert.deepEqual(err.split("\n  ").slice(1), [
    `series.family: "prophet" given (environment FORECASTNET_SERIES_FAMILY), ${known}`,
    `series.overrides[1].family: "arima" given (flag --series.overrides), ${known}`,
  ]);
  assert.equal(run(["check", "--series.family=linear"]).code, 0);
});

test("print shows each value with its source, and only the path of a secret", (context) => {
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

test("the output of print can be loaded again and gives the same configuration", (context) => {
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

test("any other action prints the usage and returns 2", () => {
  for (const argv of [[], ["chekc"]]) {
    const { code, err } = run(argv);
    assert.equal(code, 2);
    assert.match(err, /^config needs an action: check or print\n\nusage: forecastnet config check\|print/);
  }
});
