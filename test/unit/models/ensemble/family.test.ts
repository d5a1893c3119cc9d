// What the battery does not show: how the forecasts of the members become one, and when there is a single member.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createEnsemble, type EnsembleModel, simplestOf } from "../../../../src/models/ensemble/family.ts";
import { Families } from "../../../../src/models/families.ts";
import type { Distribution, FamilyResult, Model, ModelFamily } from "../../../../src/models/family.ts";
import { ForecastnetError } from "../../../../src/runtime/errors.ts";
import { taskOf } from "../family-battery.ts";

const never = new AbortController().signal;
const input = {
  values: new Float64Array(4),
  channels: 1,
  settings: { horizon: 1, season: 1 },
  originStep: 0,
  seasonalErrors: null,
};

/** Forecasts N(level, spread²) by three quantiles around the level. */
function member(name: string, level: number, result?: FamilyResult): ModelFamily {
  return {
    name,
    shapeOf: () => ({ horizon: 1, channels: 1, targets: [0], inputSteps: level }),
    describe: () => "{}",
    forecast: (tasks, { levels }) =>
      tasks.map(() => ({
        mean: [level],
        standardDeviation: [2],
        quantiles: levels.map((one) => [level + 10 * (one - 0.5)]),
      })),
    train: async () => result ?? { outcome: "failed", reason: "it is a stub" },
    encode: () => new Uint8Array(0),
    decode: () => ({ family: name, key: "s", version: "v1" }),
    release: () => undefined,
  };
}

const modelOf = (family: string): Model => ({ family, key: "s", version: "v1" });

function ensembleOf(members: readonly ModelFamily[]): ModelFamily<EnsembleModel> {
  const all = new Families(members);
  return createEnsemble(
    () => all,
    members.map(({ name }) => name),
  );
}

const average: EnsembleModel = {
  ...modelOf("ensemble"),
  members: [
    { model: modelOf("low"), share: 0.75 },
    { model: modelOf("high"), share: 0.25 },
  ],
  width: 2,
};

describe("an ensemble", () => {
  const ensemble = ensembleOf([member("low", 2), member("high", 6)]);

  test("averages the quantiles of its members by their shares, and widens them about the median", async () => {
    const [answer] = await ensemble.forecast([{ model: average, input }], {
      levels: [0.1, 0.5, 0.9],
      paths: 1,
    });
    const { mean, standardDeviation, quantiles } = answer as Distribution;
    assert.deepEqual([mean[0], standardDeviation[0]], [3, 4]);
    assert.deepEqual(
      quantiles.map((values) => values[0]),
      [3 - 8, 3, 3 + 8],
    );
  });

  test("gives just the levels that were asked for, the median or not", async () => {
    const [answer] = await ensemble.forecast([{ model: average, input }], { levels: [0.1, 0.9], paths: 1 });
    assert.deepEqual(
      (answer as Distribution).quantiles.map((values) => values[0]),
      [-5, 11],
    );
  });

  test("needs the longest window of its members", () => {
    assert.equal(ensemble.shapeOf(average).inputSteps, 6);
  });

  test("is refused where a member is", async () => {
    const refusing = { ...member("high", 6), forecast: () => [new ForecastnetError("WINDOW_UNFIT", "torn")] };
    const [answer] = await ensembleOf([member("low", 2), refusing]).forecast([{ model: average, input }], {
      levels: [0.5],
      paths: 1,
    });
    assert.ok(answer instanceof ForecastnetError && answer.message === "torn");
  });
});

describe("training an ensemble", () => {
  const trained = (family: string, crps: number): FamilyResult => ({
    outcome: "trained",
    model: modelOf(family),
    folds: { mase: 1, crps, points: 10 },
  });

  test("takes the best family where they cannot be weighed, and stores its model as itself", async () => {
    const families = [member("low", 2, trained("low", 0.9)), member("high", 6, trained("high", 0.8))];
    const result = await ensembleOf(families).train(taskOf([]), never);
    assert.ok(result.outcome === "trained");
    assert.deepEqual(result.model.members, [{ model: modelOf("high"), share: 1 }]);
    assert.equal(simplestOf(result.model).family, "high");
  });

  test("leaves out a family that cannot be trained, and fails with all reasons when none can be", async () => {
    const one = await ensembleOf([member("low", 2, trained("low", 1)), member("high", 6)]).train(
      taskOf([]),
      never,
    );
    assert.ok(one.outcome === "trained" && one.model.members[0].model.family === "low");
    const none = await ensembleOf([member("low", 2), member("high", 6)]).train(taskOf([]), never);
    assert.deepEqual(none, { outcome: "failed", reason: "low: it is a stub; high: it is a stub" });
  });
});

test("training an ensemble hands every family its own member of the one that serves", async () => {
  const given: (string | undefined)[] = [];
  const noting = (name: string): ModelFamily => ({
    ...member(name, 1),
    train: async ({ champion }) => {
      given.push(champion?.family);
      return { outcome: "failed", reason: "it is a stub" };
    },
  });
  const families = ensembleOf([noting("low"), noting("high")]);
  await families.train(taskOf([], { champion: average }), never);
  await families.train(taskOf([], { champion: modelOf("high") }), never);
  await families.train(taskOf([]), never);
  assert.deepEqual(given, ["low", "high", undefined, "high", undefined, undefined]);
});
