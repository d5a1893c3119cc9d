import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { openInProcessEngine } from "../../../../src/engine/in-process-engine.ts";
import type { FamilyTask, Model, ModelFamily } from "../../../../src/models/family.ts";
import { foldsOf } from "../../../../src/models/folds.ts";
import type { Engine } from "../../../../src/models/forecastnet/engine.ts";
import { createForecastNet } from "../../../../src/models/forecastnet/family.ts";
import type { ForecastNetModel } from "../../../../src/models/forecastnet/model.ts";
import { candidatesFor } from "../../../../src/models/forecastnet/training/candidates.ts";
import { crpsOf } from "../../../../src/models/held-out.ts";
import { season, waveOf } from "../../training/support/training-tasks.ts";

let engine: Engine;
let family: ModelFamily<ForecastNetModel>;
before(async () => {
  engine = await openInProcessEngine({ kind: "simd" });
  family = createForecastNet(engine);
});
after(() => engine.close());

const series = [{ values: waveOf({ steps: 240 }), filled: null }];

async function train(effort: FamilyTask["plan"]["effort"], champion?: Model) {
  const trained: string[] = [];
  const watched = createForecastNet({
    ...engine,
    fit: (tasks, signal) => {
      trained.push(...tasks.map(({ spec }) => `${spec.inputLength / season}${spec.framing.level[0]}`));
      return engine.fit(tasks, signal);
    },
  });
  const plan = { family: "forecastnet", horizon: season, season, form: "auto", effort, members: 2 } as const;
  const task = { key: "s", plan, channels: 1, series, seed: 1, ...(champion && { champion }) };
  const result = await watched.train(task, new AbortController().signal);
  assert.ok(result.outcome === "trained");
  return { ...result, trained: [...new Set(trained)] };
}

describe("a model of nets", () => {
  test("hands out forecasts of the folds that score as it says", async () => {
    const { heldOut, folds, model } = await train("quick");
    assert.ok(heldOut !== undefined);
    const reach = { horizon: season, channels: 1, longest: family.shapeOf(model).inputSteps };
    const origins = foldsOf(series, reach).flatMap((fold) => fold.origins);
    assert.deepEqual(heldOut.origins, origins);
    assert.equal(heldOut.starts[origins.length], heldOut.actual.length);
    assert.equal(heldOut.actual.length, origins.length * season);
    // Other levels than those of the scores.
    const crps = crpsOf(heldOut);
    assert.ok(Math.abs(crps - folds.crps) < 0.05 * folds.crps, `${crps} against ${folds.crps}`);
  });

  test("lets its nets compete again when it is to be replaced, without another race", async () => {
    const { model, trained } = await train("quick");
    assert.deepEqual(trained, ["2n", "8l"]);
    const shape = { horizon: season, season, channels: 1, targets: [0] };
    const spec = candidatesFor(shape, series[0].values.length).find(
      ({ inputLength, framing }) => inputLength === 8 * season && framing.level === "mean",
    );
    const champion = { ...model, members: [{ ...model.members[0], spec }] };
    const again = await train("quick", champion as Model);
    assert.deepEqual(again.trained, ["8m"]);
  });

  test("is raced for when the model to be replaced is of another family", async () => {
    const { trained } = await train("normal", { family: "linear", key: "s", version: "1" });
    assert.deepEqual(trained, ["2n", "2l", "8l"]);
  });
});
