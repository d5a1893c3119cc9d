import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { History, SeriesSettings } from "../../../src/domain.ts";
import { coldForecastOf } from "../../../src/forecast/to-forecasts.ts";
import { createHoldout, type Judgement, judgeModels, type Scores } from "../../../src/gate/judge.ts";
import { createFamilies } from "../../../src/models/families.ts";
import type { Distribution, Model } from "../../../src/models/family.ts";
import type { Engine } from "../../../src/models/forecastnet/engine.ts";
import type { ForecastNetModel } from "../../../src/models/forecastnet/model.ts";
import { seasonalErrorsBefore } from "../../../src/models/score-on-folds.ts";
import { scoreLevels } from "../../../src/models/scores.ts";
import { Series } from "../../../src/window/series.ts";
import {
  historyOf,
  horizon,
  hourMs,
  noise,
  openEngine,
  season,
  sideBySide,
  stillModel,
  wave,
} from "./still-models.ts";

const engine = openEngine();
const families = createFamilies(engine);
const baseline = families.baselineFor("s", { horizon, season, channels: 1 });
const spanAfter = (step: number) => ({ afterMs: step * hourMs, horizon, season, baseline });

async function judgeAll(models: readonly Model[], histories: readonly History[], after: number) {
  return judgeModels(families, models, histories, spanAfter(after));
}

function fit(judgement: Judgement): Scores {
  assert.equal(judgement.fitness, "fit", JSON.stringify(judgement));
  return judgement as Scores;
}

function reasonOf(judgement: Judgement): string {
  assert.equal(judgement.fitness, "unfit", JSON.stringify(judgement));
  return (judgement as { reason: string }).reason;
}

/** Pairs of an origin and a target after it, when nothing is missing. */
const pairsIn = (tail: number) =>
  Array.from({ length: tail }, (_, i) => Math.min(horizon, tail - i)).reduce((sum, one) => sum + one, 0);

describe("judging", () => {
  test("gives known scores for forecasts that are known", async () => {
    // It alternates between 1 and 3, and the mean of every window is 2: one naive step is 2, one error is 1.
    const history = historyOf(Array.from({ length: 60 }, (_, t) => 1 + 2 * (t % 2)));
    const [model, naive] = await judgeAll([stillModel({ spread: 1e-3 }), baseline], [history], 47);
    assert.ok(Math.abs(fit(model).mase - 0.5) < 1e-6, `MASE ${fit(model).mase}`);
    assert.ok(Math.abs(fit(model).crps - 0.5) < 1e-3, `CRPS ${fit(model).crps}`);
    assert.equal(fit(model).coverage80, 0);
    assert.deepEqual([fit(naive).mase, fit(naive).crps, fit(naive).coverage80], [0, 0, 1]);
  });

  test("counts every target after the span begins, once for each origin before it", async () => {
    const [model, naive] = await judgeAll([stillModel(), baseline], [historyOf(noise(80))], 67);
    assert.deepEqual([fit(model).points, fit(model).steps], [pairsIn(12), 12]);
    assert.deepEqual([fit(naive).points, fit(naive).steps], [pairsIn(12), 12]);
  });

  test("says that there is nothing to judge on when the span is empty", async () => {
    const [model] = await judgeAll([stillModel()], [historyOf(noise(80))], 79);
    assert.deepEqual(model, { fitness: "fit", mase: 0, crps: 0, coverage80: 0, points: 0, steps: 0 });
  });

  test("an honest spread covers what it states and has a better CRPS than one too narrow", async () => {
    const [honest, narrow] = await judgeAll(
      [stillModel(), stillModel({ spread: 0.05 })],
      [historyOf(noise(700))],
      499,
    );
    assert.ok(Math.abs(fit(honest).coverage80 - 0.8) < 0.1, `covers ${fit(honest).coverage80}`);
    assert.ok(fit(narrow).coverage80 < 0.2);
    assert.ok(fit(honest).crps < 0.9 * fit(narrow).crps);
    assert.ok(Math.abs(fit(honest).mase - fit(narrow).mase) < 0.01);
  });

  test("asks for about sixty origins of a long span, evenly, the same of all, a few at a time", async () => {
    const models = [stillModel(), stillModel({ level: "last" })];
    const asked = new Map<ForecastNetModel, Float64Array[]>(models.map((model) => [model, []]));
    const counting: Engine = {
      ...engine,
      forecast: (tasks, options) => {
        assert.ok(tasks.length <= 8, "the fleet's forecasts would wait for so many");
        for (const { model, window } of tasks) asked.get(model)?.push(window);
        return engine.forecast(tasks, options);
      },
    };
    await judgeModels(createFamilies(counting), models, [historyOf(noise(1000))], spanAfter(499));
    const [one, other] = asked.values();
    assert.equal(one.length, 60);
    assert.deepEqual(one, other);
  });

  test("is not moved by what lies before the span and beyond every window", async () => {
    const values = noise(400);
    const other = values.map((value, t) => (t < 200 ? 1000 - 3 * value : value));
    const models = [stillModel(), stillModel({ level: "last" }), baseline];
    const before = (await judgeAll(models, [historyOf(values)], 369)).map(fit);
    const after = (await judgeAll(models, [historyOf(other)], 369)).map(fit);
    const unit = before[0].mase / after[0].mase;
    assert.ok(unit > 1, "the naive error is that of the whole past");
    for (const [i, scores] of after.entries()) {
      assert.ok(Math.abs((scores.mase * unit) / before[i].mase - 1) < 1e-9);
      assert.ok(Math.abs((scores.crps * unit) / before[i].crps - 1) < 1e-9);
      assert.equal(scores.points, before[i].points);
    }
  });
});

describe("what counts as a target", () => {
  test("is what was observed: a filled slot is seen by windows and scored by nobody", async () => {
    const values = noise(80);
    const filled = new Uint8Array(80);
    filled[70] = 1;
    const [whole] = await judgeAll([stillModel()], [historyOf(values)], 67);
    const [holed] = await judgeAll([stillModel()], [historyOf(values, { filled })], 67);
    // Step 70 is ahead of the origins 68, 69 and 70.
    assert.equal(fit(holed).points, fit(whole).points - 3);
    assert.equal(fit(holed).steps, 11);
    const wild = values.map((value, t) => (t === 70 ? value + 1e6 : value));
    const [judged] = await judgeAll([stillModel({ level: "last" })], [historyOf(wild, { filled })], 69);
    assert.ok(fit(judged).mase > 100, "the origin after it saw it");
  });

  test("is not there in a gap, nor is an origin until windows are whole again", async () => {
    const values = noise(200);
    values[150] = Number.NaN;
    const [model] = await judgeAll([stillModel()], [historyOf(values)], 139);
    // 140 … 150 forecast from before the gap, what follows only once twelve steps are whole: from 163 on.
    const early = Array.from({ length: 11 }, (_, i) => 140 + i).reduce((sum, origin) => {
      return sum + (origin + horizon > 150 && origin <= 150 ? horizon - 1 : horizon);
    }, 0);
    assert.equal(fit(model).points, early + pairsIn(200 - 163));
  });

  test("is the same for a model with a short window as for the one with the longest", async () => {
    const models = [stillModel(), stillModel({ inputLength: 48 })];
    const judged = (await judgeAll(models, [historyOf(noise(60))], 39)).map(fit);
    assert.deepEqual([judged[0].points, judged[1].points], [pairsIn(12), pairsIn(12)]);
  });

  test("lies after the span's beginning on a grid of months that is shifted back, too", () => {
    const months = (count: number) => Date.UTC(2020, count) - hourMs;
    const history = historyOf(noise(60), { interval: "P1M", firstTimeMs: months(0) });
    const reach = { longest: 12, origins: 60 };
    // Step 50 stands for March and is stamped at the end of February, the shortest month.
    const { origins } = createHoldout(history, { afterMs: months(50), horizon, season }, reach);
    assert.equal(origins[0], 51);
    const before = createHoldout(history, { afterMs: months(49), horizon, season }, reach);
    assert.equal(before.origins[0], 50);
    // Models of earlier releases say that they were trained to two days before.
    const early = createHoldout(history, { afterMs: months(50) - 48 * hourMs, horizon, season }, reach);
    assert.equal(early.origins[0], 51);
  });
});

describe("a cohort", () => {
  test("is judged with every history in units of its own, averaged over points", async () => {
    const quiet = historyOf(noise(300, 1));
    const loud = historyOf(noise(310, 2).map((value) => 1e6 * value));
    const model = stillModel({ scale: "deviation" });
    for (const judged of [model, baseline]) {
      const one = fit((await judgeAll([judged], [quiet], 259))[0]);
      const other = fit((await judgeAll([judged], [loud], 259))[0]);
      const both = fit((await judgeAll([judged], [quiet, loud], 259))[0]);
      const points = one.points + other.points;
      assert.equal(both.points, points);
      assert.equal(both.steps, one.steps + other.steps);
      assert.ok(Math.abs(both.mase - (one.mase * one.points + other.mase * other.points) / points) < 1e-9);
      assert.ok(other.mase < 2, `the loud one counts ${other.mase}`);
    }
  });

  test("of many members is asked at fewer origins of each", async () => {
    const histories = Array.from({ length: 300 }, (_, i) => historyOf(noise(60, i)));
    const [naive] = await judgeAll([baseline], histories, 19);
    assert.ok(fit(naive).points <= 300 * 10 * horizon && fit(naive).points > 300 * 8 * horizon);
  });
});

describe("several channels", () => {
  test("are each in units of their own", async () => {
    const values = sideBySide(
      noise(300),
      noise(300, 7).map((value) => 1000 * value),
    );
    const model = stillModel({ channels: 2, scale: "deviation" });
    const both = fit((await judgeAll([model], [historyOf(values, { channels: 2 })], 259))[0]);
    const [left, right] = await Promise.all(
      [0, 1].map(async (channel) => {
        const own = historyOf(values.filter((_, i) => i % 2 === channel));
        return fit((await judgeAll([stillModel({ scale: "deviation" })], [own], 259))[0]);
      }),
    );
    assert.equal(both.points, 2 * left.points);
    assert.ok(Math.abs(both.mase - (left.mase + right.mase) / 2) < 1e-6);
  });
});

describe("an unfit model", () => {
  const history = historyOf(noise(80));

  test("is one whose weights are no numbers; the others are judged all the same", async () => {
    const [broken, sound] = await judgeAll([stillModel({ weight: Number.NaN }), stillModel()], [history], 67);
    assert.match(reasonOf(broken), /still@still-1: forecast has no finite value/);
    assert.equal(fit(sound).points, pairsIn(12));
  });

  test("is one that answers with something else than numbers", async () => {
    const lying: Engine = {
      ...engine,
      forecast: async (tasks, options) =>
        (await engine.forecast(tasks, options)).map((answer) => {
          if (answer instanceof Error) return answer;
          return { ...answer, quantiles: answer.quantiles.map((own) => Array.from(own, () => Number.NaN)) };
        }),
    };
    const [judged] = await judgeModels(createFamilies(lying), [stillModel()], [history], spanAfter(67));
    assert.match(reasonOf(judged), /not finite/);
  });

  test("is one of another shape, and does not shorten what the others are judged on", async () => {
    const [far, wide, long, sound] = await judgeAll(
      [
        stillModel({ horizon: 5 }),
        stillModel({ channels: 2 }),
        stillModel({ inputLength: 80 }),
        stillModel(),
      ],
      [history],
      67,
    );
    assert.equal(reasonOf(far), "it forecasts 5 steps instead of 6");
    assert.equal(reasonOf(wide), "it forecasts 2 of 2 channels, the series has 1 channels");
    assert.equal(reasonOf(long), "it needs 80 steps, and the history has 80");
    assert.equal(fit(sound).points, pairsIn(12));
  });

  test("is not what a broken engine makes of all of them", async () => {
    const broken: Engine = { ...engine, forecast: () => Promise.reject(new Error("no memory")) };
    await assert.rejects(
      judgeModels(createFamilies(broken), [stillModel()], [history], spanAfter(67)),
      /no memory/,
    );
  });
});

test("a series that never moves has finite scores, in its own units", async () => {
  const history = historyOf(new Array(80).fill(7));
  const [model, naive] = await judgeAll([stillModel({ spread: 1 }), baseline], [history], 67);
  assert.ok(fit(model).mase < 1e-6 && fit(model).crps > 0.1);
  assert.deepEqual([fit(naive).mase, fit(naive).crps], [0, 0]);
});

test("seasonal-naive says at every origin what the cold tier said there", async () => {
  const settings: SeriesSettings = {
    ...{ interval: "PT1H", offsetMs: 0, horizon, season, history: 400, every: 1, gapPolicy: "linear" },
    ...{
      gapMax: 3,
      cohort: "",
      family: "forecastnet",
      form: "auto",
      driftRatio: 2,
      driftBound: 0,
      forgetAfter: "never",
    },
  };
  const series = new Series("s", settings);
  const said = new Map<number, readonly (readonly number[])[]>();
  for (const [t, value] of wave(300).entries()) {
    if (t % 37 === 5) continue;
    series.push({ seriesId: "s", timeMs: t * hourMs, values: [value] });
    const forecast = coldForecastOf(series.takeWindow(scoreLevels), scoreLevels);
    if (forecast !== null)
      said.set(
        t + 1,
        forecast.quantiles.map(({ values }) => values),
      );
  }
  const history = series.history() as History;
  const holdout = createHoldout(history, spanAfter(20), { longest: 12, origins: 1000 });
  const tasks = holdout.origins.map((origin) => ({
    model: baseline,
    input: {
      values: history.values.subarray(origin - 2 * season, origin),
      channels: 1,
      settings: { horizon, season },
      originStep: origin - 1,
      seasonalErrors: seasonalErrorsBefore(history, { origin, season, channels: 1, levels: scoreLevels }),
    },
  }));
  const answers = await families.forecast(tasks, { levels: scoreLevels, paths: 1 });
  let compared = 0;
  for (const [i, origin] of holdout.origins.entries()) {
    const expected = said.get(origin);
    // At an origin that is itself a gap the worker said nothing.
    if (expected === undefined) continue;
    // A gap is filled by what surrounds it; the window at its end did not know the later side.
    if (Array.from({ length: season }, (_, back) => origin - 1 - back).some((t) => t % 37 === 5)) continue;
    assert.deepEqual((answers[i] as Distribution).quantiles, expected);
    compared++;
  }
  assert.ok(compared > 200, `compared at ${compared} origins`);
});
