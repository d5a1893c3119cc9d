import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { Log, TopicFacts } from "../../../src/log/log.ts";
import { TopicWatch } from "../../../src/log/topic-watch.ts";
import { systemClock } from "../../../src/runtime/clock.ts";
import { ForecastnetError } from "../../../src/runtime/errors.ts";

/** A watch over the topic "in", which had one partition. The test sets how many it has, or why it cannot be described. */
function watchFor(t: TestContext) {
  const told: string[] = [];
  const world: { partitions: number | Error; provided: Error | null } = { partitions: 1, provided: null };
  const log: Pick<Log, "describeTopics"> = {
    describeTopics: async () => {
      if (world.partitions instanceof Error) throw world.partitions;
      return [{ topic: "in", partitions: world.partitions } as TopicFacts];
    },
  };
  const watch = new TopicWatch({
    ...{ log: log as Log, partitionsByInput: new Map([["in", 1]]), everyMs: 3_600_000 },
    clock: systemClock,
    provide: async () => {
      if (world.provided !== null) throw world.provided;
    },
    onTrouble: ({ message }) => void told.push(`trouble: ${message}`),
    onCheckFailed: ({ message }) => void told.push(`check failed: ${message}`),
  });
  t.after(() => watch.stop());
  return { watch, told, world };
}

const denied = new ForecastnetError("NOT_AUTHORIZED", "may not describe in");
const unreachable = new ForecastnetError("BROKER_UNREACHABLE", "nobody answers");
const tooNarrow = new ForecastnetError("TOPIC_AWAITED", "state is too narrow");

describe("inputs that cannot be described", () => {
  test("are not reported as new partitions; each new reason is reported once, and the next check tries again", async (t) => {
    const { watch, told, world } = watchFor(t);
    world.partitions = denied;
    await watch.look();
    await watch.look();
    assert.deepEqual([watch.trouble, told], [null, ["check failed: may not describe in"]]);
    world.partitions = 1;
    await watch.look();
    world.partitions = denied;
    await watch.look();
    assert.equal(told.length, 2, "after a check that succeeded the reason is new again");
    world.partitions = 2;
    await watch.look();
    assert.equal(await watch.changed, "in has 2 partitions, it had 1");
  });

  test("leave an earlier trouble unchanged", async (t) => {
    const { watch, told, world } = watchFor(t);
    Object.assign(world, { partitions: 2, provided: tooNarrow });
    await watch.look();
    world.partitions = denied;
    await watch.look();
    assert.equal(watch.trouble, "state is too narrow");
    assert.deepEqual(told, ["trouble: state is too narrow", "check failed: may not describe in"]);
  });

  test("because the broker does not answer are left to the lanes to report", async (t) => {
    const { watch, told, world } = watchFor(t);
    world.partitions = unreachable;
    await watch.look();
    assert.deepEqual([watch.trouble, told], [null, []]);
  });
});

describe("an input that has gained partitions", () => {
  test("is reported once while the other topics do not fit", async (t) => {
    const { watch, told, world } = watchFor(t);
    Object.assign(world, { partitions: 2, provided: tooNarrow });
    await watch.look();
    await watch.look();
    assert.deepEqual([watch.trouble, told], ["state is too narrow", ["trouble: state is too narrow"]]);
    world.provided = null;
    await watch.look();
    assert.equal(await watch.changed, "in has 2 partitions, it had 1");
  });

  test("and then has as many as before causes no trouble any more", async (t) => {
    const { watch, world } = watchFor(t);
    Object.assign(world, { partitions: 2, provided: tooNarrow });
    await watch.look();
    world.partitions = 1;
    await watch.look();
    assert.equal(watch.trouble, null);
  });
});
