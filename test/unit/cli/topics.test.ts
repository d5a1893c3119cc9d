import assert from "node:assert/strict";
import { test } from "node:test";
import { provideTopics, runTopicsCommand } from "../../../src/cli/topics.ts";
import { createMemoryLog } from "../../../src/log/memory-log.ts";
import { loadConfig } from "../../../src/runtime/config/load.ts";

const { topics } = loadConfig({ argv: [], env: {} });

test("what is missing is created, inputs only when asked for, and told as new once", async () => {
  const log = createMemoryLog();
  const wish = { isCreating: true, inputs: 3 };
  const first = await provideTopics(log, topics, wish);
  assert.deepEqual(
    first.map(({ topic, partitions, compacted, isNew }) => [topic, partitions, compacted, isNew]),
    [
      ["sensors", 3, false, true],
      ["forecasts", 3, false, true],
      ["forecastnet.state", 3, true, true],
      ["forecastnet.models", 3, true, true],
      ["forecastnet.dead-letters", 3, false, true],
      ["forecastnet.events", 3, false, true],
      ["forecastnet.training", 3, false, true],
      ["forecastnet.attempts", 3, true, true],
    ],
  );
  const second = await provideTopics(log, topics, { isCreating: false, inputs: null });
  assert.ok(second.every(({ isNew }) => !isNew));
  assert.equal(second.length, first.length);
});

test("an input topic that is there keeps its width, whatever is asked for", async () => {
  const log = createMemoryLog();
  await log.createTopics([{ topic: "sensors", partitions: 2, compacted: false }]);
  const found = await provideTopics(log, topics, { isCreating: true, inputs: 9 });
  assert.ok(found.every(({ partitions }) => partitions === 2));
});

test("a check creates nothing and tells all that is wrong", async () => {
  const log = createMemoryLog();
  const check = () => provideTopics(log, topics, { isCreating: false, inputs: null });
  await assert.rejects(check(), { code: "TOPIC_AWAITED", message: /^input topic sensors does not exist/ });
  await log.createTopics([{ topic: "sensors", partitions: 2, compacted: false }]);
  await assert.rejects(check(), { message: /topic forecasts does not exist.*; topic forecastnet.state/ });
  assert.deepEqual(await log.describeTopics(["forecasts"]), []);
});

test("a command line that makes no sense is told, with the usage", async () => {
  for (const [argv, problem] of [
    [[], "say check or create"],
    [["make"], "say check or create"],
    [["create", "now"], "say check or create"],
    [["check", "--inputs=3"], "--inputs goes with create only"],
    [["create", "--inputs=0"], '--inputs is "0"; give a whole number from 1 to 100000'],
    [["create", "--input=3"], "Unknown option '--input'"],
  ] as const) {
    const told: string[] = [];
    const io = {
      out: () => assert.fail("nothing was done"),
      err: (line: string) => told.push(line),
      env: {},
    };
    assert.equal(await runTopicsCommand(argv, io), 2);
    assert.ok(told[0]?.startsWith(problem), told[0]);
    assert.match(told[0] ?? "", /\n\nusage: forecastnet topics/);
  }
});
