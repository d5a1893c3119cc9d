import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { SeriesSettings } from "../../../src/domain.ts";
import { BLOCK_SLOTS } from "../../../src/window/grid.ts";
import { restoreStore, SeriesStore } from "../../../src/window/series-store.ts";
import { blockKey, type StateBlock } from "../../../src/window/state-blocks.ts";
import { seriesSettings } from "../../rig/series-settings.ts";
import { blocksOf } from "../../rig/store-blocks.ts";

const HOUR = 3_600_000;
const LEVELS = [0.1, 0.5, 0.9];

const SETTINGS = seriesSettings({ horizon: 4, season: 6, history: 150, gapPolicy: "seasonal" });

const storeWith = (settings: Partial<SeriesSettings> = {}) =>
  new SeriesStore(() => ({ ...SETTINGS, ...settings }));

function push(store: SeriesStore, seriesId: string, hour: number, value = hour): void {
  store.of(seriesId).push({ seriesId, timeMs: hour * HOUR, values: [value] });
}

/** A compacted topic: the newest record of each key. */
class Topic {
  readonly #byKey = new Map<string, StateBlock>();

  write(blocks: readonly StateBlock[]): void {
    for (const block of blocks) this.#byKey.set(blockKey(block), block);
  }

  get blocks(): StateBlock[] {
    return [...this.#byKey.values()];
  }
}

describe("changes", () => {
  test("a batch writes one block per series that moved, and no block twice", () => {
    const store = storeWith();
    for (let hour = 0; hour < 100; hour++) push(store, "a", hour);
    push(store, "b", 5);
    assert.deepEqual(store.takeChanges().map(blockKey), ["a#0", "a#1", "b#0"]);
    push(store, "a", 100);
    assert.deepEqual(store.takeChanges().map(blockKey), ["a#1"]);
    assert.deepEqual(store.takeChanges(), []);
  });

  test("a late point writes its older block, and a point that is too late writes nothing", () => {
    const store = storeWith();
    for (let hour = 0; hour < 400; hour += 2) push(store, "a", hour);
    store.takeChanges();
    push(store, "a", 301);
    assert.deepEqual(
      store.takeChanges().map((block) => block.firstSlot),
      [256],
    );
    push(store, "a", 3);
    assert.deepEqual(store.takeChanges(), []);
  });

  test("a series never uses more keys than its ring has blocks", () => {
    const store = storeWith();
    const topic = new Topic();
    for (let hour = -1000; hour < 1000; hour++) {
      push(store, "a", hour);
      topic.write(store.takeChanges());
    }
    assert.equal(topic.blocks.length, store.of("a").grid?.capacityBlocks);
  });

  test("a block that was taken does not change with the next batch", () => {
    const store = storeWith();
    push(store, "a", 0, 1);
    const [block] = store.takeChanges();
    push(store, "a", 0, 2);
    const taken = storeWith();
    taken.restore([block]);
    assert.equal(taken.get("a")?.grid?.at(0, 0), 1);
    assert.equal(block.revision, 1);
    assert.equal(store.takeChanges()[0].revision, 2);
  });

  test("a block dropped in the batch that changed it is not written", () => {
    const store = storeWith();
    push(store, "a", 0);
    push(store, "a", 100_000);
    assert.deepEqual(
      store.takeChanges().map((block) => block.newestSlot),
      [100_000],
    );
  });
});

describe("reading", () => {
  test("get does not create a series", () => {
    const store = storeWith();
    assert.equal(store.get("a"), undefined);
    push(store, "a", 0);
    push(store, "b", 0);
    assert.equal(store.get("a"), store.of("a"));
    assert.deepEqual([...store.ids()], ["a", "b"]);
  });
});

describe("restore", () => {
  test("a restored store equals the lost one byte for byte, and continues alike", () => {
    const observation = fc.record({
      seriesId: fc.constantFrom("a", "b", "auto-c"),
      hour: fc.oneof(
        { weight: 9, arbitrary: fc.integer({ min: -40, max: 260 }) },
        { weight: 1, arbitrary: fc.integer({ min: -9999, max: 9999 }) },
      ),
      jitterMs: fc.constantFrom(0, 0, 0, -5, 9),
      value: fc.integer({ min: -99, max: 99 }),
    });
    type Arrival = { seriesId: string; hour: number; jitterMs: number; value: number };
    const settingsOf = (id: string) => (id.startsWith("auto") ? { ...SETTINGS, interval: "auto" } : SETTINGS);
    const run = (store: SeriesStore, batch: readonly Arrival[]) => {
      const windows = [];
      for (const { seriesId, hour, jitterMs, value } of batch) {
        const series = store.of(seriesId);
        series.push({ seriesId, timeMs: hour * HOUR + jitterMs, values: [value] });
        if (!series.isDue()) continue;
        series.markForecast();
        windows.push(series.takeWindow(LEVELS));
      }
      return windows;
    };
    const batches = fc.array(fc.array(observation, { maxLength: 60 }), { maxLength: 8 });
    fc.assert(
      fc.property(
        batches,
        fc.array(observation, { maxLength: 40 }),
        fc.boolean(),
        (past, next, isReversed) => {
          const lost = new SeriesStore(settingsOf);
          const topic = new Topic();
          for (const batch of past) {
            run(lost, batch);
            topic.write(lost.takeChanges());
          }
          const restored = new SeriesStore(settingsOf);
          restored.restore(isReversed ? topic.blocks.reverse() : topic.blocks);
          assert.deepEqual(blocksOf(restored), blocksOf(lost));
          assert.deepEqual(run(restored, next), run(lost, next));
          assert.deepEqual(restored.takeChanges(), lost.takeChanges());
          assert.deepEqual(blocksOf(restored), blocksOf(lost));
        },
      ),
      { numRuns: 200 },
    );
  });

  test("a restored monthly series keeps the order of event times within a slot", () => {
    const monthly = () => storeWith({ interval: "P1M" });
    const lost = monthly();
    lost.of("m").push({ seriesId: "m", timeMs: Date.UTC(2024, 0, 31, 1), values: [1] });
    const restored = monthly();
    restored.restore(lost.takeChanges());
    restored.of("m").push({ seriesId: "m", timeMs: Date.UTC(2024, 0, 31), values: [2] });
    assert.equal(restored.of("m").takeWindow(LEVELS).values[0], 1);
  });

  test("stale blocks from before a long jump are ignored", () => {
    const store = storeWith();
    for (let hour = 0; hour < 100; hour++) push(store, "a", hour);
    const stale = store.takeChanges();
    push(store, "a", 5000);
    const restored = storeWith();
    restored.restore([...store.takeChanges(), ...stale]);
    assert.deepEqual(blocksOf(restored), blocksOf(store));
    assert.equal(blocksOf(restored).length, 1);
  });

  test("a longer history keeps the stored blocks, and survives the reuse of their keys", () => {
    const topic = new Topic();
    const before = storeWith();
    for (let hour = 0; hour < 1000; hour++) push(before, "a", hour);
    topic.write(before.takeChanges());
    const longer = storeWith({ history: 500 });
    longer.restore(topic.blocks);
    const stored = blocksOf(before).length;
    assert.equal(blocksOf(longer).length, stored);
    for (let hour = 1000; hour < 1100; hour++) {
      push(longer, "a", hour);
      topic.write(longer.takeChanges());
    }
    const again = storeWith({ history: 500 });
    again.restore(topic.blocks);
    assert.deepEqual(blocksOf(again), blocksOf(longer));
    assert.ok(blocksOf(again).length > stored);
  });

  test("a shorter history keeps the newest blocks that fit", () => {
    const before = storeWith();
    for (let hour = 0; hour < 1000; hour++) push(before, "a", hour);
    const shorter = storeWith({ history: 20 });
    shorter.restore(before.takeChanges());
    assert.deepEqual(
      blocksOf(shorter).map((block) => block.firstSlot),
      [896, 960],
    );
    assert.equal(shorter.of("a").takeWindow(LEVELS).freshSteps, 20);
  });

  test("another configured interval restarts the series, is reported, and outranks the old blocks", () => {
    const topic = new Topic();
    const hourly = storeWith();
    for (let hour = 0; hour < 10; hour++) {
      push(hourly, "a", hour);
      topic.write(hourly.takeChanges());
    }
    const daily = storeWith({ interval: "P1D" });
    assert.deepEqual(daily.restore(topic.blocks), {
      series: 1,
      restarted: [{ seriesId: "a", storedInterval: "PT1H", configuredInterval: "P1D" }],
    });
    push(daily, "a", 24);
    topic.write(daily.takeChanges());
    const again = storeWith({ interval: "P1D" });
    assert.deepEqual(again.restore(topic.blocks).restarted, []);
    assert.deepEqual(blocksOf(again), blocksOf(daily));
  });

  test("another configured offset restarts the series", () => {
    const store = storeWith();
    push(store, "a", 0);
    const shifted = storeWith({ offsetMs: 60_000 });
    assert.equal(shifted.restore(store.takeChanges()).restarted.length, 1);
    assert.equal(shifted.of("a").grid, null);
  });

  test("another spelling of the interval, or auto, keeps the stored grid", () => {
    const store = storeWith();
    for (let hour = 0; hour < 10; hour++) push(store, "a", hour);
    const blocks = store.takeChanges();
    for (const interval of ["PT60M", "auto"]) {
      const restored = storeWith({ interval });
      restored.restore(blocks);
      assert.deepEqual(blocksOf(restored), blocksOf(store));
    }
  });

  test("points that waited for an interval are placed once one is configured", () => {
    const waiting = storeWith({ interval: "auto" });
    for (let hour = 0; hour < 5; hour++) push(waiting, "a", hour);
    const blocks = waiting.takeChanges();
    assert.equal(blocks[0].interval, "");
    const configured = storeWith();
    configured.restore(blocks);
    assert.equal(configured.of("a").takeWindow(LEVELS).freshSteps, 5);
    assert.equal(configured.takeChanges().length, 1);
  });

  test("a block of impossible size is refused with its key in the message", () => {
    const store = storeWith();
    push(store, "a", 0);
    const [block] = store.takeChanges();
    const [column] = block.columns;
    const long = { ...column, codes: Buffer.alloc(BLOCK_SLOTS + 1) };
    for (const broken of [
      { ...block, columns: [] },
      { ...block, columns: [{ ...column, codes: Buffer.alloc(0) }] },
      { ...block, columns: [long] },
      { ...block, columns: [column, long] },
      { ...block, columns: [column, column, column] },
      { ...block, columns: [{ ...column, decimals: 99 }] },
      { ...block, columns: [], values: Buffer.alloc(7) },
      { ...block, columns: [], values: Buffer.alloc(8 * (BLOCK_SLOTS + 1)) },
      { ...block, columns: [], values: Buffer.alloc(16), jitterMs: Buffer.alloc(7) },
      { ...block, firstSlot: -3 },
    ]) {
      assert.throws(() => storeWith().restore([broken]), { code: "STATE_CORRUPT", message: /a#0/ });
    }
  });

  test("restoreStore takes the blocks out of the records of the topic and leaves those of other stages", async () => {
    const store = storeWith();
    for (const seriesId of ["a", "b#live", "c#f7"])
      for (let hour = 0; hour < 100; hour++) push(store, seriesId, hour);
    const blocks = store.takeChanges();
    const others = ["a#live", "a#f0", "a#f12"];
    const valueByKey = new Map([...others, ...blocks.map(blockKey)].map((key) => [key, Buffer.from(key)]));
    const blockByKey = new Map(blocks.map((block) => [blockKey(block), block]));
    const restored = storeWith();
    const decode = (value: Buffer, key: string) => {
      assert.equal(value.toString(), key);
      return blockByKey.get(key) as StateBlock;
    };
    const report = await restoreStore(restored, valueByKey, decode);
    assert.deepEqual(report, { series: 3, restarted: [], blocks: 6 });
    assert.deepEqual([...valueByKey.keys()], others);
    assert.deepEqual(blocksOf(restored), blocksOf(store));
  });
});
