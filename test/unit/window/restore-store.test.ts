import assert from "node:assert/strict";
import { test } from "node:test";
import type { StateBlockRecord } from "../../../src/log/codec/schemas.generated.ts";
import { restoreStore } from "../../../src/window/restore-store.ts";
import { SeriesStore } from "../../../src/window/series-store.ts";
import { blockKey } from "../../../src/window/state-blocks.ts";

test("blocks are taken out of the topic's records, and what others keep there is left", () => {
  const storeOf = () =>
    new SeriesStore(() => ({
      ...{ interval: "PT1H", offsetMs: 0, horizon: 2, season: 2, history: 50, every: 1 },
      ...{ gapPolicy: "linear", gapMax: 1, cohort: "", form: "auto", driftRatio: 1.5, driftBound: 0 },
    }));
  const store = storeOf();
  for (const seriesId of ["a", "b#live", "c#f7"]) {
    for (let hour = 0; hour < 100; hour++)
      store.of(seriesId).push({ seriesId, timeMs: hour * 3_600_000, values: [hour] });
  }
  const blocks = store.takeChanges();
  const others = ["a#live", "a#f0", "a#f12"];
  const valueByKey = new Map([...others, ...blocks.map(blockKey)].map((key) => [key, Buffer.from(key)]));
  const blockByKey = new Map(blocks.map((block) => [blockKey(block), block]));
  const restored = storeOf();
  const decode = (value: Buffer, key: string) => {
    assert.equal(value.toString(), key);
    return blockByKey.get(key) as StateBlockRecord;
  };
  const report = restoreStore(restored, valueByKey, decode);
  assert.deepEqual(report, { series: 3, startedAnew: [], blocks: 6 });
  assert.deepEqual([...valueByKey.keys()], others);
  assert.deepEqual(restored.snapshot(), store.snapshot());
});
