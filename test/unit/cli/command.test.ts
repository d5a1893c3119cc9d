// How command lines are read: actions, flags, defaults, and what is said about mistakes.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { helpText, readCommandLine, UsageError } from "../../../src/cli/command.ts";
import { modelsCommand } from "../../../src/cli/models/models.ts";
import { sensorsCommand } from "../../../src/cli/sensors.ts";
import { seriesCommand } from "../../../src/cli/series/series.ts";

const readModels = (...argv: readonly string[]) => readCommandLine(modelsCommand, argv);
const readSeries = (...argv: readonly string[]) => readCommandLine(seriesCommand, argv);
const readSensors = (...argv: readonly string[]) => readCommandLine(sensorsCommand, argv);

describe("a command line", () => {
  test("consists of an action, its argument and its flags", () => {
    const list = readModels("list", "--phase=drifting", "--limit", "5", "--json");
    assert.deepEqual([list.action, list.argument], ["list", ""]);
    assert.deepEqual([list.values.phase, list.values.limit, list.values.json], ["drifting", 5, true]);
    const imported = readModels("import", "f", "--key", "b", "--skip-gate", "--timeout=0.5");
    assert.deepEqual([imported.action, imported.argument], ["import", "f"]);
    const { key, "skip-gate": skipsGate, timeout } = imported.values;
    assert.deepEqual([key, skipsGate, timeout], ["b", true, 0.5]);
    const forget = readSeries("forget", "a*", "--yes", "--no-wait");
    assert.deepEqual([forget.argument, forget.values.yes, forget.values["no-wait"]], ["a*", true, true]);
  });

  test("has a default for every flag that is not given", () => {
    assert.deepEqual(readModels("list").values, {
      phase: null,
      limit: null,
      json: false,
      out: null,
      key: null,
      "skip-gate": false,
      timeout: 60,
      "no-wait": false,
    });
    assert.deepEqual(readSensors(), {
      action: "",
      argument: "",
      operands: [],
      values: {
        series: 40,
        interval: null,
        history: 0,
        speed: 0,
        "wear-after": 0,
        nonsense: false,
        topic: null,
      },
      configArgv: [],
    });
  });

  test("passes the flags of the configuration on, wherever they stand and however they are written", () => {
    const line = readModels("--kafka.brokers", "h:1", "show", "--group=g=1", "a key", "--config=c.yaml");
    assert.deepEqual([line.action, line.argument], ["show", "a key"]);
    assert.deepEqual(line.configArgv, ["--config=c.yaml", "--group=g=1", "--kafka.brokers=h:1"]);
  });

  test("takes an argument that looks like a flag after two dashes", () => {
    assert.equal(readModels("show", "--", "--odd").argument, "--odd");
  });
});

const mistakes: readonly (readonly [string, RegExp])[] = [
  ["models", /^models needs an action; the actions are list, show, retrain, rollback, export, import$/],
  ["models destroy a", /^unknown action destroy; the actions are list/],
  ["models constructor a", /^unknown action constructor/],
  ["models show", /^show needs KEY$/],
  ["models import", /^import needs FILE$/],
  ["models export a", /^export needs --out$/],
  ["models show a b", /^unexpected argument b$/],
  ["models list a", /^unexpected argument a$/],
  ["models list --phase=warm", /^--phase: "warm" given, allowed: cold, training, champion, drifting$/],
  ["models list --limit=0", /^--limit: 0 given, allowed: integer from 1 to 10000000$/],
  ["models retrain a --timeout=soon", /^--timeout: "soon" given, allowed: number from/],
  ["models retrain a --skip-gate", /^--skip-gate cannot be used with retrain$/],
  ["models show a --no-wait", /^--no-wait cannot be used with show$/],
  ["models list --kafka.broker=h:1", /^Unknown option '--kafka\.broker'/],
  ["series", /^series needs an action/],
  ["series forget", /^forget needs ID\|PATTERN$/],
  ["series show a --yes", /^--yes cannot be used with show$/],
  ["sensors --series=0", /^--series: 0 given, allowed: integer from 1 to 100000$/],
  ["sensors --history=-1", /^--history: -1 given/],
  ["sensors --speed=fast", /^--speed: "fast" given/],
  ["sensors --interval=P1M", /^--interval: "P1M" given, allowed: ISO 8601 duration of weeks, days/],
  ["sensors --interval=5", /^--interval: "5" given/],
  ["sensors --sensors=4", /--sensors/],
  ["sensors stray", /^unexpected argument stray$/],
];
for (const [text, expected] of mistakes) {
  test(`"${text}" is refused with the reason`, () => {
    const [name, ...argv] = text.split(" ");
    const read = { models: readModels, series: readSeries, sensors: readSensors }[name];
    assert.throws(
      () => read?.(...argv),
      (error) => error instanceof UsageError && expected.test(error.message),
    );
  });
}

test("the help names every action and flag, who takes a flag, and its default", () => {
  const help = helpText(modelsCommand);
  for (const name of Object.keys(modelsCommand.actions))
    assert.match(help, new RegExp(`^ {2}${name}\\b`, "m"));
  for (const name of Object.keys(modelsCommand.flags))
    assert.match(help, new RegExp(`^ {2}--${name}\\b`, "m"));
  assert.match(help, /^ {2}--timeout S +retrain, rollback, import: wait .* \(default 60\)$/m);
  for (const line of help.split("\n")) assert.ok(line.length <= 120, `too long: ${line}`);
});
