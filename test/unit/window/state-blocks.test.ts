import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { avroCodec, versionedCodec } from "../../../src/log/codec/avro.ts";
import type { AvroSchema } from "../../../src/log/codec/avro-schema.ts";
import { schemaVersions } from "../../../src/log/codec/schemas.generated.ts";
import { packedCount, unpackValues } from "../../../src/window/packed-values.ts";
import { SeriesStore } from "../../../src/window/series-store.ts";
import { blockKey, pointsIn, type StateBlock, toStateBlock } from "../../../src/window/state-blocks.ts";
import { seriesSettings } from "../../rig/series-settings.ts";
import { blocksOf } from "../../rig/store-blocks.ts";

const HOUR = 3_600_000;
const newest = avroCodec("StateBlock");

/** Two channels, of which one has doubles; a gap in every tenth slot; times off the grid if wanted. */
function filledStore(interval: string, jitterMs: number): SeriesStore {
  const store = new SeriesStore(() => seriesSettings({ interval, history: 200, horizon: 12, season: 24 }));
  for (let i = 0; i < 150; i++) {
    if (i % 10 === 3) continue;
    const timeMs = i * HOUR * (interval === "P1M" ? 24 * 30.4375 : 1);
    const values = [Math.round(100 * Math.sin(i)) / 100, Math.cos(i)];
    store.of("a#b").push({ seriesId: "a#b", timeMs: timeMs + (i % 3) * jitterMs, values });
  }
  return store;
}

function restoredFrom(blocks: readonly StateBlock[], interval: string): SeriesStore {
  const store = new SeriesStore(() => seriesSettings({ interval, history: 200, horizon: 12, season: 24 }));
  store.restore(blocks);
  return store;
}

/** As version 2 of the schema stored it: Float64, channels side by side, jitter as Int32 or Float64. */
function asVersion2(store: SeriesStore, block: StateBlock, isWide: boolean): Record<string, unknown> {
  const grid = store.get("a#b")?.grid;
  assert.ok(grid);
  const slots = packedCount(block.columns[0]) ?? 0;
  const values = Buffer.alloc(16 * slots);
  for (let i = 0; i < slots; i++)
    for (let c = 0; c < 2; c++) values.writeDoubleLE(grid.at(block.firstSlot + i, c), 16 * i + 8 * c);
  const jitter = block.columns[2];
  if (jitter === undefined) return { ...block, values, jitterMs: null };
  const jitterMs = Buffer.alloc(slots * (isWide ? 8 : 4));
  const numbers = new Float64Array(slots);
  unpackValues(jitter, numbers);
  for (let i = 0; i < slots; i++) {
    if (isWide) jitterMs.writeDoubleLE(numbers[i], 8 * i);
    else jitterMs.writeInt32LE(numbers[i], 4 * i);
  }
  return { ...block, values, jitterMs };
}

describe("a state block", () => {
  for (const [interval, jitterMs] of [
    ["PT1H", 0],
    ["PT1H", 70_000],
    ["P1M", 600_000_000],
  ] as const) {
    test(`of the previous version is read, at steps of ${interval} with times up to ${2 * jitterMs} ms off`, () => {
      const store = filledStore(interval, jitterMs);
      const version2 = versionedCodec<Record<string, unknown>>(
        "StateBlock",
        schemaVersions.StateBlock.slice(0, 2),
      );
      const blocks = blocksOf(store).map((block) => {
        const bytes = version2.encode(asVersion2(store, block, interval === "P1M"));
        return toStateBlock(blockKey(block), newest.decode(bytes));
      });
      assert.ok(blocks.every(({ values, columns }) => values.length > 0 && columns.length === 0));
      assert.deepEqual(blocksOf(restoredFrom(blocks, interval)), blocksOf(store));
      assert.deepEqual(blocks.map(pointsIn), blocksOf(store).map(pointsIn));
    });
  }

  test("of this version is refused by a reader that knows only the previous one", () => {
    const older: readonly AvroSchema[] = schemaVersions.StateBlock.slice(0, 2);
    const [block] = blocksOf(filledStore("PT1H", 0));
    assert.throws(() => versionedCodec("StateBlock", older).decode(newest.encode(block)), {
      code: "STATE_CORRUPT",
      message: /not one of the 2 known versions/,
    });
  });

  test("takes a seventh of the bytes for values with two decimals, and says whose it is in its key alone", () => {
    const store = new SeriesStore(() =>
      seriesSettings({ interval: "PT1H", history: 200, horizon: 12, season: 24 }),
    );
    for (let i = 0; i < 64; i++)
      store
        .of("sensor")
        .push({ seriesId: "sensor", timeMs: i * HOUR, values: [Math.round(2000 + 500 * Math.sin(i)) / 100] });
    const [block] = store.takeChanges();
    const bytes = newest.encode(block);
    assert.ok(bytes.length < 64 * 2 + 50, `${bytes.length} bytes`);
    assert.equal(bytes.includes("sensor"), false);
    const decoded = toStateBlock(blockKey(block), newest.decode(bytes));
    assert.deepEqual(structuredClone(decoded), structuredClone(block));
    assert.equal(pointsIn(block), 64);
  });
});
