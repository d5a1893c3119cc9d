import assert from "node:assert/strict";
import { test } from "node:test";
import { provideTopics, runTopicsCommand } from "../../../src/cli/topics.ts";
import { createMemoryLog } from "../../../src/log/memory-log.ts";
import { loadConfig } from "../../../src/runtime/config/load.ts";

const config = loadConfig({ argv: [], env: {} });

test("create makes the missing topics, inputs included if asked for, and marks them as new", async () => {
  const log = createMemoryLog();
  const request = { isCreating: true, inputs: 3 };
  const { topics: first } = await provideTopics(log, config, request);
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
  const { topics: second } = await provideTopics(log, config, { isCreating: false, inputs: null });
  assert.ok(second.every(({ isNew }) => !isNew));
  assert.equal(second.length, first.length);
});

test("create leaves the partitions of an existing input topic alone", async () => {
  const log = createMemoryLog();
  await log.createTopics([{ topic: "sensors", partitions: 2, compacted: false }]);
  const { topics: found } = await provideTopics(log, config, { isCreating: true, inputs: 9 });
  assert.ok(found.every(({ partitions }) => partitions === 2));
});

test("check creates nothing and reports every problem", async () => {
  const log = createMemoryLog();
  const check = () => provideTopics(log, config, { isCreating: false, inputs: null });
  await assert.rejects(check(), { code: "TOPIC_AWAITED", message: /^input topic sensors does not exist/ });
  await log.createTopics([{ topic: "sensors", partitions: 2, compacted: false }]);
  await assert.rejects(check(), { message: /topic forecasts does not exist.*; topic forecastnet.state/ });
  assert.deepEqual(await log.describeTopics(["forecasts"]), []);
});

test("a wrong command line is refused with the reason and the usage", async () => {
  for (const [argv, problem] of [
    [[], "topics needs an action; the actions are check, create"],
    [["make"], "unknown action make"],
    [["create", "now"], "unexpected argument now"],
    [["check", "--inputs=3"], "--inputs cannot be used with check"],
    [["create", "--inputs=0"], "--inputs: 0 given, allowed: integer from 1 to 100000"],
    [["create", "--input=3"], "Unknown option '--input'"],
  ] as const) {
    const printed: string[] = [];
    const io = {
      out: () => assert.fail("nothing is printed on standard output"),
      err: (line: string) => printed.push(line),
      env: {},
    };
    assert.equal(await runTopicsCommand(argv, io), 2);
    assert.ok(printed[0]?.startsWith(problem), printed[0]);
    assert.match(printed[0] ?? "", /\n\nusage: forecastnet topics/);
  }
});
