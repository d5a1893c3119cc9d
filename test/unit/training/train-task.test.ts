// A training task on the SIMD kernel, without threads.

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { openInProcessEngine } from "../../../src/engine/in-process-engine.ts";
import { createHoldout } from "../../../src/gate/judge.ts";
import { createFamilies, Families } from "../../../src/models/families.ts";
import type { Model, ModelFamily } from "../../../src/models/family.ts";
import type { Engine } from "../../../src/models/forecastnet/engine.ts";
import { decodeModel, encodeModel } from "../../../src/models/forecastnet/model-bytes.ts";
import { lineOf } from "../../../src/models/life.ts";
import { naiveErrorOf } from "../../../src/models/scores.ts";
import { trainTask } from "../../../src/training/train-task.ts";
import type { TrainingPlan, TrainingTask } from "../../../src/training/training-task.ts";
import {
  challengersOf,
  firstTimeMs,
  historyOf,
  hourMs,
  season,
  type TrainedNet,
  taskOf,
  waveOf,
  weightsOf,
} from "./support/training-tasks.ts";

let engine: Engine;
let families: Families;
before(async () => {
  engine = await openInProcessEngine({ kind: "simd" });
  families = createFamilies(engine);
});

const never = new AbortController().signal;
const train = async (task: TrainingTask) => challengersOf(await trainTask(families, task, never));

async function forecast(model: Parameters<Engine["forecast"]>[0][0]["model"], window: Float64Array) {
  const [answer] = await engine.forecast([{ model, window }], { paths: 50, levels: [0.5] });
  assert.ok(!(answer instanceof Error));
  return answer.mean;
}

describe("a trained model", () => {
  test("is the same to the byte when its task is trained again, and another for another task", async () => {
    const history = historyOf(waveOf({ steps: 240 }));
    const [[one], [again], [other]] = [
      await train(taskOf([history])),
      await train(taskOf([history])),
      await train(taskOf([history], {}, "task-2")),
    ];
    assert.deepEqual(encodeModel(again.model), encodeModel(one.model));
    assert.notEqual(other.model.version, one.model.version);
    assert.notDeepEqual(weightsOf(other.model), weightsOf(one.model));
  });

  test("bears its key, and a version that begins with the newest time it has seen", async () => {
    const [{ model, trainedFromMs, trainedToMs }] = await train(
      taskOf([historyOf(waveOf({ steps: 240 }))], { holdBack: 12 }),
    );
    const { key, version } = decodeModel(encodeModel(model), "test");
    assert.equal(key, "s");
    // 228 hours from the first of May at midnight: the last is the tenth at eleven.
    assert.match(version, /^20240510T110000Z-[0-9a-f]{8}$/);
    assert.equal(trainedFromMs, firstTimeMs);
    assert.equal(trainedToMs, firstTimeMs + 227 * hourMs);
  });

  test("knows nothing of the steps held back", async () => {
    const values = waveOf({ steps: 240 });
    const shifted = values.map((value, t) => (t < 222 ? value : 1_000 + t));
    const [[one], [other]] = [
      await train(taskOf([historyOf(values)], { holdBack: 18 })),
      await train(taskOf([historyOf(shifted)], { holdBack: 18 })),
    ];
    assert.deepEqual(encodeModel(other.model), encodeModel(one.model));
    assert.deepEqual([other.folds, other.naiveErrors], [one.folds, one.naiveErrors]);
    const [seen] = await train(taskOf([historyOf(shifted)], { holdBack: 17 }));
    assert.notDeepEqual(seen.model.scaler, one.model.scaler);
  });

  test("is scored on what its twins had not seen, in units of the naive error", async () => {
    const values = waveOf({ steps: 300 });
    const [{ folds, naiveErrors }] = await train(taskOf([historyOf(values)]));
    assert.ok(folds.mase < 0.5 && folds.crps < folds.mase, `MASE ${folds.mase}, CRPS ${folds.crps}`);
    assert.ok(folds.points > 100);
    assert.deepEqual(naiveErrors, [naiveErrorOf(values, 0, 300)]);
  });

  test("has its times on a calendar, where the series has one", async () => {
    const history = historyOf(waveOf({ steps: 120 }), { interval: "P1M", firstTimeMs: Date.UTC(2010, 0) });
    const [{ trainedToMs }] = await train(taskOf([history]));
    assert.equal(trainedToMs, Date.UTC(2019, 11));
  });

  test("is judged on no step that it was trained on, on months that are shifted back", async () => {
    const monthMs = (month: number) => Date.UTC(2000, month) - 2 * hourMs;
    const history = historyOf(waveOf({ steps: 240 }), { interval: "P1M", firstTimeMs: monthMs(0) });
    const task = taskOf([history], { family: "seasonal-naive", holdBack: 41 });
    const result = await trainTask(families, task, never);
    assert.ok(result.outcome === "trained");
    const [{ trainedFromMs, trainedToMs }] = result.challengers;
    // Slot 198 stands for July 2016.
    assert.deepEqual([trainedFromMs, trainedToMs], [monthMs(0), monthMs(198)]);
    // The worker judges on what it has then: a history that starts later, here with the shorter February.
    for (const firstKept of [0, 1, 2]) {
      const later = {
        ...history,
        firstTimeMs: monthMs(firstKept),
        values: history.values.slice(firstKept),
      };
      const span = { afterMs: trainedToMs, horizon: season, season };
      const { origins } = createHoldout(later, span, { longest: 12, origins: 240 });
      assert.equal(origins[0] + firstKept, 199, `with slots from ${firstKept} on`);
    }
  });

  for (const form of ["FN", "FN2"] as const) {
    test(`is the paper's ${form} when that is asked for`, async () => {
      const [{ model, folds }] = await train(taskOf([historyOf(waveOf({ steps: 200 }))], { form }));
      assert.equal(model.members.length, 1);
      const [{ spec }] = model.members;
      assert.deepEqual([spec.inputLength, spec.shortcut], [2 * season, "none"]);
      assert.equal(spec.output, form === "FN" ? "gaussian" : "linear");
      assert.ok(folds.mase < 0.8, `MASE ${folds.mase}`);
    });
  }
});

describe("a model in half precision", () => {
  const request = {
    key: "s",
    channels: 1,
    seed: 3,
    series: [{ values: waveOf({ steps: 240 }), filled: null }],
  };
  const { plan } = taskOf([]);

  test("is what training gives, with no number that its bytes do not hold", async () => {
    const task = taskOf([historyOf(waveOf({ steps: 240 }))], { family: "auto" });
    const result = await trainTask(families, task, never);
    assert.ok(result.outcome === "trained");
    for (const { model, storage } of result.challengers) {
      const family = families.of(model);
      assert.equal(storage, "float16");
      const read = family.decode(family.encode(model, storage), "the test");
      assert.deepEqual(family.encode(read, "float32"), family.encode(model, "float32"), family.name);
    }
  });

  test("forecasts within a fiftieth of a deviation of what was trained", async () => {
    for (const name of ["linear", "forecastnet"]) {
      const family = families.named(name);
      const trained = await family.train({ ...request, plan: { ...plan, family: name } }, never);
      assert.ok(trained.outcome === "trained");
      const exact = { ...trained.model, version: "v1" };
      const rounded = family.decode(family.encode(exact, "float16"), "the test");
      const values = waveOf({ steps: 240, seed: 2 }).slice(-family.shapeOf(exact).inputSteps);
      const input = {
        values,
        channels: 1,
        originStep: 0,
        settings: { horizon: season, season },
        seasonalErrors: null,
      };
      const tasks = [exact, rounded].map((model) => ({ model, input }));
      const [one, other] = await family.forecast(tasks, { levels: [0.5], paths: 100 });
      assert.ok(!(one instanceof Error) && !(other instanceof Error));
      for (let h = 0; h < season; h++) {
        const moved = Math.abs(one.mean[h] - other.mean[h]) / one.standardDeviation[h];
        assert.ok(moved < 0.02, `${name}, step ${h}: moved by ${moved} deviations`);
      }
    }
  });

  test("gives way to single precision where a number is too large for it", async () => {
    const linear = families.named("linear");
    const large: ModelFamily = {
      ...linear,
      name: "large",
      train: async (...given) => {
        const result = await linear.train(...given);
        if (result.outcome !== "trained") return result;
        const shape = { length: season, horizon: season, channels: 1 };
        const weights = new Float32Array(season * season).fill(1e5);
        return {
          ...result,
          model: { ...result.model, family: "large", shape, weights, week: null } as Model,
        };
      },
    };
    const result = await trainTask(
      new Families([large]),
      taskOf([historyOf(waveOf({ steps: 240 }))], { family: "large" }),
      never,
    );
    assert.ok(result.outcome === "trained", JSON.stringify(result));
    assert.equal(result.challengers[0].storage, "float32");
  });
});

describe("a plan for any family", () => {
  const trainedOf = async (steps: number, plan: Partial<TrainingPlan> = {}) => {
    const task = taskOf([historyOf(waveOf({ steps }))], { family: "auto", ...plan });
    const result = await trainTask(families, task, never);
    assert.ok(result.outcome === "trained", JSON.stringify(result));
    assert.equal(result.challengers.length, 1);
    return result;
  };

  test("gives the one model that validates best, and tells what it cost", async () => {
    const { challengers, cpuSeconds } = await trainedOf(240);
    assert.ok(["linear", "forecastnet", "ensemble"].includes(challengers[0].model.family));
    assert.ok(cpuSeconds !== undefined && cpuSeconds > 0, `${cpuSeconds} s`);
  });

  test("gives a linear model, as itself, where the history is too short for nets", async () => {
    const { challengers } = await trainedOf(24);
    assert.equal(challengers[0].model.family, "linear");
  });

  test("that refreshes a model gives one of the same line", async () => {
    const { challengers } = await trainedOf(240, {
      family: "linear",
      refreshes: "20240101T000000Z-abc+older",
    });
    const { version } = challengers[0].model;
    assert.equal(lineOf(version), "20240101T000000Z-abc");
    assert.match(version, /\+\d{8}T\d{6}Z-[0-9a-f]{8}$/);
  });

  test("fails with the reasons of all families when none can be trained", async () => {
    const result = await trainTask(
      families,
      taskOf([historyOf(waveOf({ steps: 10 }))], { family: "auto" }),
      never,
    );
    assert.equal(result.outcome, "failed");
    const reasons = result.outcome === "failed" ? result.reason.split("; ") : [];
    assert.ok(reasons.length >= 2, `the reasons are ${reasons.join(" | ")}`);
  });
});

test("weights that training has spoilt are never served", async () => {
  const spoiling: Engine = {
    ...engine,
    fit: async (tasks, signal) => {
      const results = await engine.fit(tasks, signal);
      // The net that would serve, the last of the three, has lost its way; its twins have not.
      return results.map((result, i) =>
        result.outcome === "fitted" && i === 2
          ? { ...result, epochs: result.epochs.map((weights) => weights.map(() => Number.NaN)) }
          : result,
      );
    },
  };
  const task = taskOf([historyOf(waveOf({ steps: 240 }))]);
  const [{ model }] = challengersOf(await trainTask(createFamilies(spoiling), task, never));
  assert.ok(weightsOf(model).flat().every(Number.isFinite));
});

describe("a series that has changed", () => {
  /** Six steps a round, and after the change nine. */
  const changed = Float64Array.from([...waveOf({ steps: 300 }), ...waveOf({ steps: 240, period: 9 })]);
  const recentFromMs = firstTimeMs + 300 * hourMs;

  /** The mean over forecasts of steps that were held back. */
  async function errorOnChanged({ model }: TrainedNet): Promise<number> {
    let sum = 0;
    for (let origin = 528; origin + season <= 540; origin++) {
      const mean = await forecast(model, changed.slice(0, origin));
      for (let h = 0; h < season; h++) sum += Math.abs(mean[h] - changed[origin + h]) / season;
    }
    return sum / 7;
  }

  test("gets a second challenger, which has learnt the new ways only", async () => {
    const challengers = await train(taskOf([historyOf(changed)], { recentFromMs, holdBack: 12 }));
    assert.deepEqual(
      challengers.map(({ basis, trainedFromMs }) => [basis, trainedFromMs]),
      [
        ["whole", firstTimeMs],
        ["recent", recentFromMs],
      ],
    );
    assert.notEqual(challengers[0].model.version, challengers[1].model.version);
    const [former] = await train(taskOf([historyOf(changed.slice(0, 300))]));
    const [ofRecent, ofFormer] = await Promise.all([challengers[1], former].map(errorOnChanged));
    // The noise alone is off by a third.
    assert.ok(ofRecent < 0.5, `the recent one is off by ${ofRecent}`);
    assert.ok(ofFormer > 3 * ofRecent, `one that knows the old ways only by ${ofFormer}`);
  });

  test("gets one challenger while what followed is too short, or when all of it followed", async () => {
    for (const since of [firstTimeMs + 510 * hourMs, firstTimeMs + 9_000 * hourMs, firstTimeMs]) {
      const challengers = await train(taskOf([historyOf(changed)], { recentFromMs: since }));
      assert.deepEqual(
        challengers.map(({ basis }) => basis),
        ["whole"],
      );
    }
  });
});

describe("a history", () => {
  test("of several channels gives a model of all of them, none drowned by a louder one", async () => {
    const [quiet, loud] = [waveOf({ steps: 240 }), waveOf({ steps: 240, seed: 2, scale: 1e5 })];
    const values = Float64Array.from({ length: 480 }, (_, i) => (i % 2 === 0 ? quiet : loud)[i >> 1]);
    const [{ model, naiveErrors, folds }] = await train(taskOf([historyOf(values, { channels: 2 })]));
    assert.deepEqual(model.members[0].spec.targets, [0, 1]);
    assert.deepEqual(naiveErrors, [naiveErrorOf(quiet, 0, 240), naiveErrorOf(loud, 0, 240)]);
    assert.ok(folds.mase < 0.6, `MASE ${folds.mase}`);
    const mean = await forecast(model, values);
    for (let h = 0; h < season; h++) {
      // A whole number of seasons: what comes is what came.
      const angle = (phase: number) => Math.sin((2 * Math.PI * (h + phase)) / season);
      assert.ok(Math.abs(mean[h] - (20 + 3 * angle(1))) < 1, `quiet step ${h}: ${mean[h]}`);
      assert.ok(Math.abs(mean[season + h] / 1e5 - (20 + 3 * angle(2))) < 1, `loud step ${h}`);
    }
  });

  test("that never moves is forecast as it stands, with finite scores", async () => {
    const [{ model, folds, naiveErrors }] = await train(taskOf([historyOf(new Float64Array(200).fill(7))]));
    assert.deepEqual(naiveErrors, [1]);
    assert.ok(Number.isFinite(folds.mase) && Number.isFinite(folds.crps));
    for (const value of await forecast(model, new Float64Array(60).fill(7))) {
      assert.ok(Math.abs(value - 7) < 0.05, `forecast ${value}`);
    }
  });

  test("with filled slots is scored on the observed ones only", async () => {
    const values = waveOf({ steps: 240 });
    const filled = Uint8Array.from({ length: 240 }, (_, t) => (t % 4 === 0 ? 1 : 0));
    const [[observed], [part]] = [
      await train(taskOf([historyOf(values)])),
      await train(taskOf([historyOf(values, { filled })])),
    ];
    assert.ok(Math.abs(part.folds.points / observed.folds.points - 0.75) < 0.05, `${part.folds.points}`);
  });

  test("with gaps is learnt from around them, by windows that fit between", async () => {
    const torn = waveOf({ steps: 400 }).map((value, t) => (t % 40 === 0 ? Number.NaN : value));
    const [{ model, folds }] = await train(taskOf([historyOf(torn)], { effort: "normal", members: 16 }));
    const longest = Math.max(...model.members.map(({ spec }) => spec.inputLength));
    assert.ok(longest + season < 40, `${longest} steps do not fit`);
    assert.ok(folds.mase < 0.6, `MASE ${folds.mase}`);
  });
});

test("a training that is cancelled ends as cancelled, wherever it is", async () => {
  const task = taskOf([historyOf(waveOf({ steps: 400 }))], { effort: "thorough" });
  assert.deepEqual(await trainTask(families, task, AbortSignal.abort()), { outcome: "cancelled" });
  const stop = new AbortController();
  const fitting = {
    ...engine,
    fit: async (...[tasks, signal]: Parameters<Engine["fit"]>) => {
      stop.abort();
      return engine.fit(tasks, signal);
    },
  };
  assert.deepEqual(await trainTask(createFamilies(fitting), task, stop.signal), { outcome: "cancelled" });
});
