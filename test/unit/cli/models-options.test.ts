import assert from "node:assert/strict";
import { test } from "node:test";
import { modelsUsage, readCommandLine } from "../../../src/cli/models/options.ts";

function optionsOf(...argv: readonly string[]) {
  const read = readCommandLine(argv);
  return typeof read === "string" ? assert.fail(read) : read;
}

test("each action has its own flags, and defaults for them", () => {
  assert.deepEqual(optionsOf("list").options, {
    ...{ action: "list", phase: null, limit: Number.POSITIVE_INFINITY, isJson: false },
  });
  assert.deepEqual(optionsOf("list", "--phase=drifting", "--limit", "5", "--json").options, {
    ...{ action: "list", phase: "drifting", limit: 5, isJson: true },
  });
  assert.deepEqual(optionsOf("retrain", "a").options, {
    action: "retrain",
    modelKey: "a",
    timeoutMs: 60_000,
  });
  assert.deepEqual(optionsOf("rollback", "a", "--no-wait").options, {
    ...{ action: "rollback", modelKey: "a", timeoutMs: null },
  });
  assert.deepEqual(optionsOf("import", "f", "--key", "b", "--skip-gate", "--timeout=5").options, {
    ...{ action: "import", file: "f", modelKey: "b", skipsGate: true, timeoutMs: 5_000 },
  });
  assert.deepEqual(optionsOf("export", "a", "--out", "f").options, {
    action: "export",
    modelKey: "a",
    file: "f",
  });
});

test("flags of the configuration are passed on, wherever they stand and however they are written", () => {
  const { options, configArgv } = optionsOf(
    ...["--kafka.brokers", "h:1", "show", "--group=g=1", "a key", "--config=c.yaml"],
  );
  assert.deepEqual(options, { action: "show", modelKey: "a key", isJson: false });
  assert.deepEqual(configArgv, ["--config=c.yaml", "--group=g=1", "--kafka.brokers=h:1"]);
});

test("a key that looks like a flag comes after two dashes", () => {
  assert.deepEqual(optionsOf("show", "--", "--odd").options, {
    ...{ action: "show", modelKey: "--odd", isJson: false },
  });
});

test("help is the usage itself", () => {
  assert.equal(readCommandLine(["list", "--help"]), modelsUsage);
});

const mistakes: readonly (readonly [string, RegExp])[] = [
  ["", /^say what to do/],
  ["destroy a", /^unknown action destroy/],
  ["constructor a", /^unknown action constructor/],
  ["show", /^show needs the key of a model/],
  ["import", /^import needs a file/],
  ["export a", /^export needs --out FILE/],
  ["show a b", /^unexpected argument b/],
  ["list a", /^unexpected argument a/],
  ["list --phase=warm", /^--phase is "warm"; give one of cold/],
  ["list --limit=0", /^--limit is "0"; give a whole number/],
  ["retrain a --timeout=soon", /^--timeout is "soon"/],
  ["retrain a --skip-gate", /^--skip-gate does not go with retrain/],
  ["show a --no-wait", /^--no-wait does not go with show/],
  ["list --kafka.broker=h:1", /^Unknown option '--kafka\.broker'/],
];
for (const [line, expected] of mistakes) {
  test(`"models ${line}" is told what is wrong, with the usage`, () => {
    const read = readCommandLine(line === "" ? [] : line.split(" "));
    assert.ok(typeof read === "string");
    assert.match(read, expected);
  });
}
