import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { BLOCK_SLOTS, Grid } from "../../../src/window/grid.ts";

const SHAPE = { channels: 1, history: 100 };

interface Put {
  readonly slot: number;
  readonly jitterMs: number;
  readonly values: readonly number[];
}

function contentOf(grid: Grid): unknown {
  return {
    newest: grid.newestSlot,
    blocks: grid.filledBlocks().map((block) => ({ block, columns: grid.readBlock(block) })),
  };
}

function gridOf(puts: readonly Put[], shape = SHAPE): Grid {
  const grid = new Grid(shape);
  for (const { slot, jitterMs, values } of puts) grid.put(slot, jitterMs, values);
  return grid;
}

describe("the grid", () => {
  test("each kind of arrival has its own outcome", () => {
    const grid = new Grid(SHAPE);
    assert.equal(grid.put(10, 0, [1]), "advanced");
    assert.equal(grid.put(12, 0, [3]), "advanced");
    assert.equal(grid.put(11, 0, [2]), "late-amended");
    assert.equal(grid.put(11, 0, [2.5]), "replaced");
    assert.equal(grid.at(11, 0), 2.5);
    assert.equal(grid.put(11, -1, [2.6]), "outdated");
    assert.equal(grid.at(11, 0), 2.5);
    assert.equal(grid.put(1000, 0, [9]), "advanced");
    assert.equal(grid.put(12, 0, [3]), "too-late");
  });

  test("the later event time stays in a slot, whichever arrives first", () => {
    const early = { slot: 5, jitterMs: -30, values: [1] };
    const late = { slot: 5, jitterMs: 40, values: [2] };
    for (const order of [
      [early, late],
      [late, early],
    ])
      assert.equal(gridOf(order).at(5, 0), 2);
  });

  test("the grid stores at least the history, wherever the newest slot is in its block", () => {
    for (let newest = 500; newest < 500 + BLOCK_SLOTS; newest++) {
      const grid = new Grid({ ...SHAPE, history: 64 });
      for (let slot = 0; slot <= newest; slot++) grid.put(slot, 0, [slot]);
      assert.equal(grid.at(newest - 63, 0), newest - 63);
      assert.ok(Number.isNaN(grid.at(newest - 129, 0)));
    }
  });

  test("memory grows with the age of the series and stops at the capacity", () => {
    const grid = new Grid({ channels: 2, history: 1440 });
    grid.put(-100_000, 0, [0, 0]);
    assert.equal(grid.bytes, BLOCK_SLOTS * 2 * 2);
    for (let i = 1; i < 200; i++) grid.put(-100_000 + i, 0, [i, i]);
    assert.ok(grid.bytes <= 8 * BLOCK_SLOTS * 2 * 2);
    for (let i = 200; i < 20_000; i++) grid.put(-100_000 + i, i % 3, [i, i]);
    assert.equal(grid.bytes, grid.capacityBlocks * BLOCK_SLOTS * (2 * 2 + 2));
    assert.equal(grid.capacityBlocks, 24);
  });

  test("a jump of any length needs no memory and drops the slots before it", () => {
    const grid = gridOf([{ slot: 0, jitterMs: 0, values: [1] }]);
    const bytes = grid.bytes;
    assert.equal(grid.put(1e12, 0, [2]), "advanced");
    assert.equal(grid.bytes, bytes);
    assert.deepEqual(grid.filledBlocks(), [Math.floor(1e12 / BLOCK_SLOTS)]);
    assert.ok(Number.isNaN(grid.at(0, 0)));
  });

  test("event times whose jitter needs more than 32 bits are ordered to the millisecond", () => {
    const jitterMs = 300 * 86_400_000;
    const earlier = { slot: 50, jitterMs, values: [1] };
    const later = { slot: 50, jitterMs: jitterMs + 1, values: [2] };
    for (const order of [
      [earlier, later],
      [later, earlier],
    ])
      assert.equal(gridOf(order).at(50, 0), 2);
    const restored = new Grid(SHAPE);
    restored.loadBlock(0, gridOf([later]).readBlock(0));
    assert.equal(restored.put(50, jitterMs, [1]), "outdated");
    assert.equal(restored.put(50, jitterMs + 1, [3]), "replaced");
  });

  test("a block that was read does not change with the ring", () => {
    const grid = gridOf([{ slot: 0, jitterMs: 7, values: [1] }]);
    const before = structuredClone(grid.readBlock(0));
    const read = grid.readBlock(0);
    grid.put(0, 9, [2]);
    assert.notDeepEqual(structuredClone(grid.readBlock(0)), before);
    assert.deepEqual(structuredClone(read), before);
  });

  test("repeated, late and shuffled input gives the same grid as sorted input", () => {
    const arrivals = fc.integer({ min: 1, max: 3 }).chain((channels) =>
      fc
        .record({
          puts: fc.uniqueArray(
            fc.record({
              slot: fc.oneof(
                fc.integer({ min: -150, max: 150 }),
                fc.integer({ min: -100_000, max: 100_000 }),
              ),
              jitterMs: fc.integer({ min: -2, max: 2 }),
              values: fc.array(fc.integer(), { minLength: channels, maxLength: channels }),
            }),
            // One value per event time: the last write decides between two values of one time.
            { minLength: 1, maxLength: 80, selector: (put) => `${put.slot}/${put.jitterMs}` },
          ),
          seed: fc.array(fc.nat(), { minLength: 1, maxLength: 200 }),
        })
        .map(({ puts, seed }) => ({ channels, puts, seed })),
    );
    fc.assert(
      fc.property(arrivals, ({ channels, puts, seed }) => {
        const shape = { ...SHAPE, channels };
        const sorted = [...puts].sort((a, b) => a.slot - b.slot || a.jitterMs - b.jitterMs);
        const copies = seed.map((n) => puts[n % puts.length]);
        const shuffled = [...copies, ...puts.toReversed(), ...copies.toReversed()];
        assert.deepEqual(contentOf(gridOf(shuffled, shape)), contentOf(gridOf(sorted, shape)));
      }),
    );
  });

  test("copy unrolls the ring and counts the gaps", () => {
    const grid = new Grid({ ...SHAPE, channels: 2 });
    for (let slot = 0; slot < 1000; slot++) if (slot % 10 !== 3) grid.put(slot, 0, [slot, -slot]);
    const target = new Float64Array(2 * 100);
    assert.equal(grid.copy(900, 100, target), 10);
    for (let i = 0; i < 100; i++) {
      assert.equal(target[2 * i], i % 10 === 3 ? Number.NaN : 900 + i);
      assert.equal(target[2 * i + 1], i % 10 === 3 ? Number.NaN : -900 - i);
    }
  });

  test("every value comes back bit for bit, from a grid that grew and from one that was restored", () => {
    const value = fc.oneof(
      { weight: 5, arbitrary: fc.integer({ min: -900, max: 900 }).map((units) => units / 100) },
      { weight: 1, arbitrary: fc.float({ noNaN: true }) },
      { weight: 1, arbitrary: fc.double({ noNaN: true }) },
      { weight: 1, arbitrary: fc.constantFrom(-0, 1e12, 1e300, Number.MIN_VALUE, 0.1 + 0.2, 70_000.5) },
    );
    const put = (channels: number) =>
      fc.record({
        slot: fc.oneof(fc.integer({ min: 0, max: 90 }), fc.integer({ min: -200, max: 500 })),
        jitterMs: fc.constantFrom(0, 0, 3, -40_000, 2 ** 40),
        values: fc.array(value, { minLength: channels, maxLength: channels }),
      });
    const scene = fc
      .integer({ min: 1, max: 3 })
      .chain((channels) =>
        fc.record({ channels: fc.constant(channels), puts: fc.array(put(channels), { maxLength: 150 }) }),
      );
    fc.assert(
      fc.property(scene, ({ channels, puts }) => {
        const shape = { ...SHAPE, channels };
        const grid = new Grid(shape);
        const stored = new Map<number, Put>();
        for (const point of puts) {
          const outcome = grid.put(point.slot, point.jitterMs, point.values);
          if (outcome !== "too-late" && outcome !== "outdated") stored.set(point.slot, point);
        }
        const restored = new Grid(shape);
        for (const block of grid.filledBlocks().reverse()) restored.loadBlock(block, grid.readBlock(block));
        assert.deepEqual(contentOf(restored), contentOf(grid));
        for (let slot = Math.max(-200, grid.oldestSlot); slot <= grid.newestSlot; slot++) {
          for (let c = 0; c < channels; c++) {
            const expected = stored.get(slot)?.values[c] ?? Number.NaN;
            assert.ok(Object.is(grid.at(slot, c), expected), `slot ${slot}, channel ${c}`);
            assert.ok(Object.is(restored.at(slot, c), expected), `slot ${slot}, channel ${c}, restored`);
          }
          const point = stored.get(slot);
          if (point !== undefined)
            assert.equal(restored.put(slot, point.jitterMs - 1, point.values), "outdated");
        }
      }),
      { numRuns: 500 },
    );
  });
});
