// The command line of the simulated sensors.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type CommandLine, readCommandLine, sensorsUsage } from "../../../../src/cli/sensors/options.ts";

function read(...argv: string[]): CommandLine {
  const line = readCommandLine(argv);
  if (typeof line === "string") assert.fail(line);
  return line;
}

describe("the command line of the sensors", () => {
  test("has a default for everything", () => {
    assert.deepEqual(read(), {
      options: {
        series: 40,
        stepMs: null,
        history: 0,
        speed: Number.POSITIVE_INFINITY,
        wearAfter: null,
        talksNonsense: false,
        topic: null,
      },
      configArgv: [],
    });
  });

  test("takes its own flags, and hands on those of the configuration", () => {
    const flags = ["--series=3", "--interval", "PT5S", "--history=100", "--speed=60.5", "--wear-after=9"];
    const { options, configArgv } = read(...flags, "--nonsense", "--topic=b", "--kafka.brokers=a:1");
    assert.deepEqual(options, {
      ...{ series: 3, stepMs: 5_000, history: 100, speed: 60.5, wearAfter: 9 },
      ...{ talksNonsense: true, topic: "b" },
    });
    assert.deepEqual(configArgv, ["--kafka.brokers=a:1"]);
  });

  test("gives the usage when asked for it", () => {
    assert.equal(readCommandLine(["--help"]), sensorsUsage);
  });

  for (const [flag, complaint] of [
    ["--series=0", /--series is "0"; give a whole number from 1/],
    ["--history=-1", /--history/],
    ["--speed=fast", /--speed is "fast"/],
    ["--interval=P1M", /weeks or shorter/],
    ["--interval=5", /not an ISO 8601 duration/],
    ["--sensors=4", /--sensors/],
    ["stray", /stray/],
  ] as const) {
    test(`refuses ${flag}, and says what is allowed`, () => {
      const line = readCommandLine([flag]);
      assert.equal(typeof line, "string");
      assert.match(line as string, complaint);
    });
  }
});
