import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { SeriesSettings } from "../../../src/domain.ts";
import type { StoredRecord } from "../../../src/log/log.ts";
import { noteStoredTimes, SeriesStore } from "../../../src/window/series-store.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NOW = Date.UTC(2024, 5, 1);

const settings: SeriesSettings = {
  interval: "PT1H",
  offsetMs: 0,
  horizon: 4,
  season: 6,
  history: 150,
  every: 1,
  gapPolicy: "seasonal",
  gapMax: 3,
  cohort: "",
  family: "forecastnet",
  form: "auto",
  driftRatio: 1.5,
  driftBound: 0,
  forgetAfter: "P1D",
};

function openStore(changes: Partial<SeriesSettings> = {}) {
  const now = { ms: NOW };
  const store = new SeriesStore(() => ({ ...settings, ...changes }), { clock: { nowMs: () => now.ms } });
  const push = (seriesId: string, hour: number) => {
    store.of(seriesId).push({ seriesId, timeMs: hour * HOUR, values: [hour] });
  };
  const silent = () => [...store.silent()].filter((seriesId) => seriesId !== null);
  return { now, store, push, silent };
}

describe("a silent series", () => {
  for (const [forgetAfter, ms] of [
    ["P1D", DAY],
    ["P30D", 30 * DAY],
    ["P2W", 14 * DAY],
    ["P1WT12H30M", 7.5 * DAY + HOUR / 2],
    ["PT12H", DAY / 2],
  ] as const) {
    test(`a series is forgotten ${forgetAfter} after its state was last stored`, () => {
      const { now, store, push, silent } = openStore({ forgetAfter });
      push("a", 0);
      store.takeChanges();
      assert.equal(store.endsAtMs("a"), NOW + ms);
      now.ms = NOW + ms - 1;
      assert.deepEqual(silent(), []);
      now.ms++;
      assert.deepEqual(silent(), ["a"]);
    });
  }

  test("a stored point defers the end of a series, and a point that is too late does not", () => {
    const { now, store, push } = openStore();
    push("a", 1_000);
    store.takeChanges();
    now.ms += HOUR;
    push("a", 1);
    store.takeChanges();
    assert.equal(store.endsAtMs("a"), NOW + DAY);
    push("a", 1_001);
    store.takeChanges();
    assert.equal(store.endsAtMs("a"), NOW + HOUR + DAY);
  });

  test("a series is not forgotten before two of its intervals have passed, by the calendar for months", () => {
    const { store, push } = openStore({ interval: "P1M" });
    push("a", Date.UTC(2024, 2, 10) / HOUR);
    store.takeChanges();
    assert.equal(store.endsAtMs("a"), NOW + (31 + 29) * DAY);
  });

  test("a series that is never forgotten is not checked for silence", () => {
    const { now, store, push } = openStore({ forgetAfter: "never" });
    push("a", 0);
    now.ms += 10_000 * DAY;
    assert.deepEqual([...store.silent()], []);
    assert.equal(store.endsAtMs("a"), null);
    assert.equal(store.endsAtMs("nobody"), null);
  });
});

describe("a restored store", () => {
  test("a restored series counts its silence from the time at which the log stored its newest block", async () => {
    const before = openStore();
    for (let hour = 0; hour < 100; hour++) before.push("a", hour);
    before.push("b#1", 5);
    const blocks = before.store.takeChanges();
    const record = (key: string, timestampMs: number, value: Buffer | null = Buffer.from("v")) =>
      ({ key: Buffer.from(key), value, timestampMs, offset: 0, headers: {} }) as StoredRecord;
    const records = [
      ...[record("a#0", NOW - 5 * HOUR), record("a#1", NOW - 3 * HOUR), record("b#1#0", 0)],
      ...[record("a#live", NOW), record("a#f0", NOW), record("gone#0", NOW), record("gone#0", NOW, null)],
    ];
    const changelog = (async function* () {
      yield records;
    })();
    const timesById = new Map<string, number>();
    for await (const passed of noteStoredTimes(changelog, timesById)) assert.equal(passed, records);
    assert.deepEqual([...timesById.keys()], ["a", "b#1"]);
    const { store } = openStore();
    store.restore(blocks);
    store.markSeen(timesById);
    assert.equal(store.endsAtMs("a"), NOW - 3 * HOUR + DAY);
    assert.equal(store.endsAtMs("b#1"), NOW + DAY, "a block without a time must not end a series");
  });
});

describe("a series that is forgotten", () => {
  test("forget returns all keys under which the series was ever stored", () => {
    const { store, push } = openStore({ history: 64 });
    for (let hour = 0; hour < 100; hour++) push("a", hour);
    push("b", 0);
    store.takeChanges();
    push("a", 64 * 101); // a jump beyond everything stored
    store.takeChanges();
    assert.deepEqual([...store.forget("a")].sort(), ["a#0", "a#1"]);
    assert.deepEqual([store.size, store.get("a")], [1, undefined]);
    assert.deepEqual(store.forget("a"), []);
    assert.deepEqual(store.takeChanges(), []);
  });

  test("a forgotten series that sends again starts as new", () => {
    const { store, push } = openStore();
    for (let hour = 0; hour < 100; hour++) push("a", hour);
    store.forget("a");
    push("a", 7);
    assert.deepEqual(
      store.takeChanges().map(({ revision, newestSlot }) => [revision, newestSlot]),
      [[1, 7]],
    );
  });
});

test("the figures of a series count its observations, also before its interval is found", () => {
  const { store, push } = openStore();
  for (const hour of [10, 11, 14]) push("a", hour);
  const { interval, points, lastTimeMs, channels } = store.factsOf("a") ?? {};
  assert.deepEqual([interval, points, lastTimeMs, channels], ["PT1H", 3, 14 * HOUR, 1]);
  const young = openStore({ interval: "auto" });
  for (const hour of [10, 11]) young.push("a", hour);
  const found = young.store.factsOf("a");
  assert.deepEqual([found?.interval, found?.points, found?.lastTimeMs], [null, 2, 11 * HOUR]);
  assert.equal(store.factsOf("nobody"), null);
});
