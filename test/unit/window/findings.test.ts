import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { SeriesSettings } from "../../../src/domain.ts";
import { avroCodec } from "../../../src/log/codec/avro.ts";
import { parseInterval } from "../../../src/models/interval.ts";
import { createRandom } from "../../../src/runtime/random.ts";
import {
  decidingLength,
  type Findings,
  noFindings,
  settingsOnGrid,
  sharedFindings,
  withShortestSeason,
} from "../../../src/window/findings.ts";
import type { Series } from "../../../src/window/series.ts";
import { SeriesStore } from "../../../src/window/series-store.ts";
import { blockKey, fromBlockRecords, toStateBlock } from "../../../src/window/state-blocks.ts";
import { seriesSettings } from "../../rig/series-settings.ts";
import { blocksOf } from "../../rig/store-blocks.ts";

const HOUR = 3_600_000;
const LEVELS = [0.1, 0.5, 0.9];
const hour = parseInterval("PT1H");
const derived = { season: true, history: true, min: true };
const given = Object.freeze(seriesSettings({ horizon: 6, season: 6, history: 360, derived }));

const onGrid = (iso: string, findings: Partial<Findings> = {}, settings = given) =>
  settingsOnGrid(settings, parseInterval(iso), { ...noFindings, ...findings });

describe("the settings of a series on its grid", () => {
  test("have the shortest season of the calendar before anything is found", () => {
    assert.equal(onGrid("PT1H").season, 24);
    assert.equal(onGrid("P1M").season, 12);
    assert.equal(onGrid("P1M").naiveSeason, undefined);
  });

  test("have the horizon as the season where no day, week or year of steps fits into the history", () => {
    assert.equal(onGrid("PT5H").season, 6);
    assert.equal(onGrid("PT1S").season, 6);
  });

  test("have a history of three periods of each season that takes at most 1,440 steps", () => {
    assert.equal(onGrid("PT1H").history, 504);
    assert.equal(onGrid("PT5M").history, 864);
    assert.equal(onGrid("P1D").history, 1095);
    assert.equal(onGrid("PT1M").history, 360);
    const configured = { ...given, derived: { ...derived, history: false } };
    assert.equal(onGrid("PT1H", {}, configured).history, 360);
  });

  test("have the shortest confirmed season for models and the best one for seasonal naive", () => {
    const { season, naiveSeason } = onGrid("PT1H", { seasons: [24, 168], naiveSeason: 168 });
    assert.deepEqual([season, naiveSeason], [24, 168]);
  });

  test("leave out a season that the history is too short for", () => {
    const weeks = { seasons: [168], naiveSeason: 168, decidedAt: 504 };
    assert.equal(onGrid("PT1H", weeks).season, 24);
    assert.equal(onGrid("PT1H", weeks, { ...given, history: 1440 }).season, 168);
    const short = { ...given, history: 300, derived: { ...derived, history: false } };
    assert.equal(onGrid("PT1H", weeks, short).naiveSeason, undefined);
  });

  test("keep a configured season, whatever was found", () => {
    const fixed = { ...given, season: 7, derived: { season: false, history: false, min: true } };
    const { season, naiveSeason } = onGrid("PT1H", { seasons: [24], naiveSeason: 24 }, fixed);
    assert.deepEqual([season, naiveSeason], [7, undefined]);
  });

  test("have zero as the lower bound of a series that rests there, beside a configured upper bound", () => {
    assert.deepEqual(onGrid("PT1H", { isNonNegative: true }).bounds, {
      min: 0,
      max: Number.POSITIVE_INFINITY,
    });
    const bounded = { ...given, bounds: { min: Number.NEGATIVE_INFINITY, max: 9 } };
    assert.deepEqual(onGrid("PT1H", { isNonNegative: true }, bounded).bounds, { min: 0, max: 9 });
    assert.equal(onGrid("PT1H").bounds, undefined);
  });

  test("are one frozen object for all series alike, and so are their findings", () => {
    const found = { seasons: [24, 168], naiveSeason: 168, decidedAt: 504, isNonNegative: false };
    assert.equal(settingsOnGrid(given, hour, found), settingsOnGrid(given, hour, { ...found }));
    assert.ok(Object.isFrozen(settingsOnGrid(given, hour, found)));
    assert.equal(sharedFindings(found), sharedFindings({ ...found, seasons: [24, 168] }));
    const plain = seriesSettings({ horizon: 6, season: 6, history: 360 });
    assert.equal(settingsOnGrid(plain, hour, found), plain);
    const settings = settingsOnGrid(given, hour, found);
    assert.equal(withShortestSeason(settings), withShortestSeason(settings));
    assert.equal(withShortestSeason(settings).naiveSeason, undefined);
  });
});

test("seasons are decided at three, six and twelve periods of each", () => {
  const lengths = [71, 72, 143, 144, 288, 503, 504, 1008, 2016, 9999].map((steps) =>
    decidingLength(hour, steps),
  );
  assert.deepEqual(lengths, [0, 72, 72, 144, 288, 288, 504, 1008, 2016, 2016]);
});

function storeWith(settings: SeriesSettings = given): SeriesStore {
  return new SeriesStore(() => settings);
}

function pushAll(store: SeriesStore, values: readonly (readonly number[])[], from = 0): Series {
  const series = store.of("a");
  values.forEach((row, i) => {
    series.push({ seriesId: "a", timeMs: (from + i) * HOUR, values: row });
  });
  return series;
}

const random = createRandom(2);
const days = Array.from({ length: 700 }, (_, i) => {
  const isWeekend = Math.floor(i / 24) % 7 >= 5;
  return [50 + 10 * Math.sin((2 * Math.PI * i) / 24) - (isWeekend ? 20 : 0) + random.normal()];
});

describe("a series", () => {
  test("restored from its blocks at any moment continues with the same findings and windows", () => {
    const whole = pushAll(storeWith(), days);
    assert.deepEqual(whole.findings.seasons, [24, 168]);
    for (const cut of [100, 150, 503, 512, 600]) {
      const first = storeWith();
      pushAll(first, days.slice(0, cut));
      const second = storeWith();
      second.restore(blocksOf(first));
      assert.equal(second.get("a")?.settings, first.get("a")?.settings);
      const rest = pushAll(second, days.slice(cut), cut);
      assert.equal(rest.findings, whole.findings);
      assert.deepEqual(rest.takeWindow(LEVELS), whole.takeWindow(LEVELS));
    }
  });

  test("stored by a release without findings starts without any, and finds its own", () => {
    const store = storeWith();
    pushAll(store, days.slice(0, 600));
    const codec = avroCodec("StateBlock");
    const blocks = blocksOf(store).map((block) =>
      toStateBlock(blockKey(block), codec.decode(codec.encode({ ...block, ...noFindings }))),
    );
    const series = fromBlockRecords(blocks, given);
    assert.deepEqual([series.findings, series.settings.season], [noFindings, 24]);
    for (const [i, values] of days.slice(600, 640).entries())
      series.push({ seriesId: "a", timeMs: (600 + i) * HOUR, values });
    assert.deepEqual(series.findings.seasons, [24, 168]);
  });

  test("that changed loses the season it no longer has when a training asks again", () => {
    const store = storeWith();
    pushAll(store, days);
    assert.equal(store.settingsOf("a").naiveSeason, 168);
    pushAll(
      store,
      Array.from({ length: 600 }, () => [random.normal()]),
      700,
    );
    assert.equal(store.settingsOf("a").naiveSeason, 168);
    assert.equal(store.reconsiderSeasons("a"), true);
    assert.equal(store.settingsOf("a").naiveSeason, undefined);
    assert.equal(store.reconsiderSeasons("a"), false);
    assert.equal(store.reconsiderSeasons("unknown"), false);
  });

  test("that is young is not decided about, also when a training asks", () => {
    const store = storeWith();
    const series = pushAll(store, days.slice(0, 60));
    assert.equal(store.reconsiderSeasons("a"), false);
    assert.equal(series.findings, noFindings);
  });

  test("whose interval is found gets the season and the history of that interval", () => {
    const series = pushAll(storeWith({ ...given, interval: "auto" }), days.slice(0, 20));
    assert.deepEqual([series.settings.season, series.settings.history], [24, 504]);
  });

  test("has a lower bound of zero only with evidence, in every channel", () => {
    const isBounded = (rows: readonly (readonly number[])[]) =>
      pushAll(storeWith(), rows).findings.isNonNegative;
    const rows = (steps: number, valueAt: (step: number) => number[]) =>
      Array.from({ length: steps }, (_, step) => valueAt(step));
    assert.equal(isBounded(rows(40, (step) => [step % 4])), true);
    assert.equal(isBounded(rows(23, (step) => [step % 4])), false, "too few observations");
    assert.equal(isBounded(rows(200, (step) => [step % 90])), false, "too few zeros");
    assert.equal(isBounded(rows(40, (step) => [step === 5 ? -1 : step % 4])), false, "one value below zero");
    assert.equal(isBounded(rows(40, (step) => [step % 4, 5 - (step % 9)])), false, "another channel");
    assert.equal(isBounded(rows(40, (step) => [step % 4, step % 3])), true);
  });

  test("whose late point is below zero loses the bound", () => {
    const store = storeWith();
    const series = pushAll(
      store,
      Array.from({ length: 50 }, (_, step) => [step % 4]),
    );
    const before = series.settings;
    assert.equal(before.bounds?.min, 0);
    series.push({ seriesId: "a", timeMs: 30 * HOUR, values: [-3] });
    assert.equal(series.settings.bounds, undefined);
  });
});
