import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Batch, Observation, Outgoing, SeriesSettings, Window } from "../../../src/domain.ts";
import { SeriesStore } from "../../../src/window/series-store.ts";
import { blockKey } from "../../../src/window/state-blocks.ts";
import { toWindows, type WindowStageDeps } from "../../../src/window/to-windows.ts";
import { seriesSettings } from "../../rig/series-settings.ts";
import { untimed } from "../../rig/untimed.ts";

const HOUR = 3_600_000;

const SETTINGS = seriesSettings({ horizon: 2, season: 2, history: 50 });

function stage(
  settings: Partial<SeriesSettings> = {},
  modelSteps: Readonly<Record<string, number>> = {},
  maxSeries = 100,
) {
  const counted: Record<string, number> = {};
  const count = (name: string, n: number) => {
    counted[name] = (counted[name] ?? 0) + n;
  };
  const found: string[] = [];
  const outgoing = (topic: string, key: string): Outgoing => ({
    topic,
    partition: 3,
    key: Buffer.from(key),
    value: null,
  });
  const deps: WindowStageDeps<Observation> = {
    levels: [0.5],
    modelStepsOf: (seriesId) => modelSteps[seriesId] ?? 0,
    metrics: {
      ...untimed,
      observations: count,
      skippedOrigins: (n) => count("skipped", n),
      resetSeries: (reason) => count(reason, 1),
    },
    encodeBlock: (block) => outgoing("state", blockKey(block)),
    reject: (observation, { reason, detail }) =>
      outgoing("dead", `${observation.seriesId}: ${reason}: ${detail}`),
    findingsChanged: (series) => found.push(`${series.seriesId} ${series.findings.seasons}`),
    intervalFound: (series) => found.push(`${series.seriesId} ${series.interval?.iso}`),
  };
  const store = new SeriesStore(() => ({ ...SETTINGS, ...settings }), { maxSeries });
  const run = async (items: readonly Observation[], isBehind = false): Promise<Batch<Window>> => {
    const batch = {
      partition: 3,
      items,
      records: [outgoing("dead", "earlier")],
      placements: [],
      arrivedMs: 0,
      eventMs: 0,
      isFull: false,
      isBehind,
      settle: async () => {},
    };
    async function* batches() {
      yield batch;
    }
    for await (const result of toWindows(batches(), store, deps)) {
      assert.equal(result.settle, batch.settle);
      return result;
    }
    throw new Error("the stage yielded no batch");
  };
  return { run, counted, found };
}

const at = (seriesId: string, hour: number, ...values: number[]): Observation => ({
  seriesId,
  timeMs: hour * HOUR,
  values,
});
const keys = (batch: Batch<Window>) => batch.records.map(({ topic, key }) => `${topic} ${key}`);

describe("the window stage", () => {
  for (const isBehind of [false, true]) {
    test(`a series whose model needs more steps gets a longer window when the batch is ${isBehind ? "" : "not "}behind`, async () => {
      const { run } = stage({}, { a: 7 });
      const hours = Array.from({ length: 9 }, (_, hour) => hour);
      const batch = await run(
        hours.flatMap((hour) => [at("a", hour, hour), at("b", hour, hour)]),
        isBehind,
      );
      const last = (id: string) => batch.items.filter(({ seriesId }) => seriesId === id).at(-1)?.values;
      assert.deepEqual([...(last("a") ?? [])], [2, 3, 4, 5, 6, 7, 8]);
      assert.deepEqual([...(last("b") ?? [])], [5, 6, 7, 8]);
    });
  }

  test("every completed step gets a window, also several of one series in a batch", async () => {
    const { run, counted } = stage();
    const batch = await run([at("a", 0, 1), at("a", 1, 2), at("b", 0, 5), at("a", 2, 3), at("b", 1, 6)]);
    assert.deepEqual(
      batch.items.map(({ seriesId, originMs, skippedOrigins }) => [
        seriesId,
        originMs / HOUR,
        skippedOrigins,
      ]),
      [
        ["a", 1, 0],
        ["a", 2, 0],
        ["b", 1, 0],
      ],
    );
    assert.deepEqual(counted, { advanced: 5 });
    assert.deepEqual(keys(batch), ["dead earlier", "state a#0", "state b#0"]);
  });

  test("a batch that is behind gets only the newest window of each series, with the skipped origins counted", async () => {
    const { run, counted } = stage();
    const hours = [0, 1, 2, 3, 4];
    const batch = await run(
      [...hours.map((hour) => at("a", hour, hour)), at("b", 0, 1), at("b", 1, 1)],
      true,
    );
    assert.deepEqual(
      batch.items.map(({ seriesId, originMs, skippedOrigins }) => [
        seriesId,
        originMs / HOUR,
        skippedOrigins,
      ]),
      [
        ["a", 4, 3],
        ["b", 1, 0],
      ],
    );
    assert.equal(counted.skipped, 3);
  });

  test("steps that are not due do not count as skipped in a batch that is behind", async () => {
    const { run } = stage({ every: 3 });
    const batch = await run(
      [0, 1, 2, 3, 4, 5, 6].map((hour) => at("a", hour, hour)),
      true,
    );
    assert.deepEqual(
      batch.items.map(({ originMs, skippedOrigins }) => [originMs / HOUR, skippedOrigins]),
      [[6, 1]],
    );
  });

  test("late and duplicate points give no window but are stored and counted", async () => {
    const { run, counted } = stage();
    await run([at("a", 0, 1), at("a", 2, 3)]);
    const batch = await run([at("a", 1, 2), at("a", 2, 4), at("a", -5000, 0)]);
    assert.deepEqual(batch.items, []);
    assert.deepEqual(keys(batch), ["dead earlier", "state a#0"]);
    assert.deepEqual(counted, { advanced: 2, "late-amended": 1, duplicate: 1, "too-late": 1 });
  });

  test("placements travel with the batch, and each window knows how many came before it", async () => {
    const { run } = stage();
    const first = await run([at("a", 0, 1), at("b", 0, 5), at("a", 2, 3), at("a", -5000, 0)]);
    assert.deepEqual(
      first.placements.map(({ seriesId, slot, values, replaced }) => [seriesId, slot, values, replaced]),
      [
        ["a", 0, [1], null],
        ["b", 0, [5], null],
        ["a", 2, [3], null],
      ],
    );
    const early = { seriesId: "a", timeMs: 2 * HOUR - 1, values: [8] };
    const second = await run([at("a", 1, 2), early, at("a", 2, 4), at("b", 1, 6), at("a", 3, 9)]);
    assert.deepEqual(
      second.placements.map(({ seriesId, slot, timeMs, values, replaced }) => [
        `${seriesId}${slot}`,
        timeMs,
        values,
        replaced,
      ]),
      [
        ["a1", HOUR, [2], null],
        ["a2", 2 * HOUR, [4], [3]],
        ["b1", HOUR, [6], null],
        ["a3", 3 * HOUR, [9], null],
      ],
    );
    assert.deepEqual(
      second.items.map(({ seriesId, originSlot, placedBefore }) => [seriesId, originSlot, placedBefore]),
      [
        ["b", 1, 3],
        ["a", 3, 4],
      ],
    );
  });

  test("a window of a batch that is behind comes after all placements", async () => {
    const { run } = stage();
    const batch = await run(
      [at("a", 0, 1), at("a", 1, 2), at("b", 0, 1), at("b", 1, 1), at("c", 0, 1)],
      true,
    );
    assert.deepEqual(
      batch.items.map(({ seriesId, placedBefore }) => [seriesId, placedBefore]),
      [
        ["a", 5],
        ["b", 5],
      ],
    );
  });

  test("an observation with another number of channels becomes a dead letter", async () => {
    const { run, counted } = stage();
    const batch = await run([at("a", 0, 1), at("a", 1, 2, 3)]);
    assert.equal(keys(batch)[1], "dead a: wrong-channels: the observation has 2 values, its series has 1");
    assert.equal(counted["wrong-channels"], 1);
  });

  test("observations of one series too many become dead letters, and known series continue", async () => {
    const { run, counted } = stage({}, {}, 2);
    const batch = await run([at("a", 0, 1), at("b", 0, 1), at("c", 0, 1), at("a", 1, 2)]);
    const detail = "the partition has 2 series already, as many as limits.series allows";
    assert.equal(keys(batch)[1], `dead c: too-many-series: ${detail}`);
    assert.deepEqual(counted, { advanced: 3, "too-many-series": 1 });
    assert.deepEqual(keys(batch).slice(2), ["state a#0", "state b#0"]);
  });

  test("an automatic interval is reported once, and its series is forecast from then on", async () => {
    const { run, counted, found } = stage({ interval: "auto" });
    const batch = await run([0, 1, 2, 3, 4, 5, 6, 7, 8].map((hour) => at("a", hour, hour)));
    assert.deepEqual(found, ["a PT1H"]);
    assert.deepEqual(
      batch.items.map(({ originMs }) => originMs / HOUR),
      [7, 8],
    );
    assert.deepEqual(counted, { "interval-pending": 7, "interval-found": 1, advanced: 1 });
  });

  test("points that waited for an interval are placed once it is found, in order of time", async () => {
    const { run } = stage({ interval: "auto" });
    const hours = [3, 1, 0, 2, 5, 7, 4];
    assert.deepEqual((await run(hours.map((hour) => at("a", hour, hour)))).placements, []);
    const batch = await run([at("a", 6, 6), at("a", 8, 8)]);
    assert.deepEqual(
      batch.placements.map(({ slot }) => slot - batch.placements[0].slot),
      [0, 1, 2, 3, 4, 5, 6, 7, 8],
    );
    assert.deepEqual(
      batch.items.map(({ placedBefore }) => placedBefore),
      [8, 9],
    );
  });

  test("a batch without observations is passed on to be settled", async () => {
    const { run } = stage();
    const batch = await run([]);
    assert.deepEqual(keys(batch), ["dead earlier"]);
  });
});
