import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { loadConfig } from "../../../../src/runtime/config/load.ts";
import { seriesRules } from "../../../../src/runtime/config/series-rules.ts";

function rulesOf(series: object) {
  return seriesRules(
    loadConfig({ argv: ["--config=c.json"], env: {}, readFile: () => JSON.stringify({ series }) }).series,
  );
}

test("without overrides all series share the defaults, with every 0 resolved", () => {
  const settingsOf = rulesOf({ horizon: 10 });
  assert.deepEqual(settingsOf("a"), {
    interval: "auto",
    horizon: 10,
    season: 10,
    history: 600,
    every: 1,
    gapPolicy: "seasonal",
    gapMax: 6,
    offsetMs: 0,
    cohort: "",
    family: "auto",
    form: "auto",
    driftRatio: 2.25,
    driftBound: 0,
    forgetAfter: "never",
    derived: { season: true, history: true, min: true },
  });
  assert.equal(settingsOf("a"), settingsOf("b"));
  assert.ok(Object.isFrozen(settingsOf("a")));
});

test("every matching override applies in order, and a later one wins", () => {
  const settingsOf = rulesOf({
    every: 2,
    overrides: [
      { match: "pump-*", horizon: 12, every: 3 },
      { match: "*-test", every: 4, gapPolicy: "none" },
    ],
  });
  const pick = (id: string) => {
    const { horizon, season, history, every, gapPolicy } = settingsOf(id);
    return [horizon, season, history, every, gapPolicy];
  };
  assert.deepEqual(pick("fan"), [24, 24, 1440, 2, "seasonal"]);
  assert.deepEqual(pick("pump-1"), [12, 12, 720, 3, "seasonal"]);
  assert.deepEqual(pick("fan-test"), [24, 24, 1440, 4, "none"]);
  assert.deepEqual(pick("pump-test"), [12, 12, 720, 4, "none"]);
});

test("series with the same matches share one object", () => {
  const settingsOf = rulesOf({
    overrides: [
      { match: "a*", every: 2 },
      { match: "*z", every: 3 },
    ],
  });
  assert.equal(settingsOf("a1"), settingsOf("a2"));
  assert.equal(settingsOf("az"), settingsOf("a-z"));
  assert.notEqual(settingsOf("a1"), settingsOf("az"));
  const distinct = new Set(Array.from({ length: 10_000 }, (_, i) => settingsOf(`${"abz"[i % 3]}${i}`)));
  assert.equal(distinct.size, 2);
});

test("contradicting overrides get the history they need", () => {
  const settingsOf = rulesOf({
    overrides: [
      { match: "a*", history: 96, gapMax: 90 },
      { match: "*z", horizon: 48, gapMax: 2000 },
    ],
  });
  const { history, gapMax } = settingsOf("az");
  assert.deepEqual({ history, gapMax }, { history: 192, gapMax: 191 });
});

test("what is derived from a series is stated until its grid is known", () => {
  const settingsOf = rulesOf({
    season: 0,
    min: "none",
    overrides: [
      { match: "a*", season: "auto", history: 500 },
      { match: "b*", season: 7, min: "auto", max: 9 },
      { match: "c*", min: 3, max: 8 },
      { match: "d*", min: "auto", max: -1 },
    ],
  });
  const pick = (id: string) => {
    const { season, history, bounds, derived } = settingsOf(id);
    return { season, history, bounds, derived };
  };
  const none = Number.NEGATIVE_INFINITY;
  assert.deepEqual(pick("z"), { season: 24, history: 1440, bounds: undefined, derived: undefined });
  assert.deepEqual(pick("a"), {
    ...{ season: 24, history: 500, bounds: undefined },
    derived: { season: true, history: false, min: false },
  });
  assert.deepEqual(pick("b"), {
    ...{ season: 7, history: 1440, bounds: { min: none, max: 9 } },
    derived: { season: false, history: false, min: true },
  });
  assert.deepEqual(pick("c").bounds, { min: 3, max: 8 });
  // Zero would contradict this upper bound.
  assert.deepEqual([pick("d").bounds, pick("d").derived], [{ min: none, max: -1 }, undefined]);
});

test("bounds of several overrides that leave no value are dropped", () => {
  const settingsOf = rulesOf({
    overrides: [
      { match: "a*", min: 10 },
      { match: "*z", max: 5 },
    ],
  });
  assert.equal(settingsOf("az").bounds, undefined);
});

test("a pattern matches as its recursive definition does", () => {
  const matches = (glob: readonly string[], id: readonly string[]): boolean => {
    if (glob.length === 0) return id.length === 0;
    if (glob[0] === "*") return matches(glob.slice(1), id) || (id.length > 0 && matches(glob, id.slice(1)));
    return id.length > 0 && (glob[0] === "?" || glob[0] === id[0]) && matches(glob.slice(1), id.slice(1));
  };
  const glyphs = (...all: string[]) => fc.array(fc.constantFrom(...all), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(
      glyphs("a", "b", ".", "\\", "(", "😀", "*", "?"),
      glyphs("a", "b", ".", "\\", "(", "😀"),
      (glob, id) => {
        const settingsOf = rulesOf({ every: 1, overrides: [{ match: glob.join(""), every: 2 }] });
        assert.equal(settingsOf(id.join("")).every === 2, matches(glob, id));
      },
    ),
    { numRuns: 500 },
  );
});

test("a hostile id does not make a pattern with many stars slow", () => {
  const settingsOf = rulesOf({ every: 1, overrides: [{ match: "*a*a*a*a*a*a*a*a*b", every: 2 }] });
  const started = process.cpuUsage();
  assert.equal(settingsOf("a".repeat(256)).every, 1);
  // Backtracking over nine stars would take years, so the bound can be generous.
  assert.ok(process.cpuUsage(started).user < 1_000_000);
});

test("the series of a probe is forgotten soon, whatever is configured", () => {
  const settingsOf = rulesOf({ overrides: [{ match: "*", forgetAfter: "P30D" }] });
  assert.equal(settingsOf("forecastnet-probe-1").forgetAfter, "PT10M");
  assert.equal(settingsOf("probe-1").forgetAfter, "P30D");
  assert.equal(settingsOf("forecastnet-probe-2"), settingsOf("forecastnet-probe-1"));
});

for (const forgetAfter of ["30D", "P0D", "P1M", "PT5S", "P", "PT", "P1DT", ""]) {
  test(`series.forgetAfter refuses "${forgetAfter}"`, () => {
    assert.throws(() => rulesOf({ forgetAfter }), /series\.forgetAfter: .*never, or an ISO 8601 duration/);
  });
}
