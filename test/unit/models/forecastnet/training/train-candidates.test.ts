import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { openInProcessEngine } from "../../../../../src/engine/in-process-engine.ts";
import type { Engine } from "../../../../../src/models/forecastnet/engine.ts";
import { decodeModel, encodeModel } from "../../../../../src/models/forecastnet/model-bytes.ts";
import { specOf } from "../../../../../src/models/forecastnet/spec.ts";
import {
  candidatesFor,
  schedules,
  stepsNeeded,
} from "../../../../../src/models/forecastnet/training/candidates.ts";
import { assembleModel } from "../../../../../src/models/forecastnet/training/ensemble.ts";
import { trainCandidates } from "../../../../../src/models/forecastnet/training/train-candidates.ts";
import { createRandom } from "../../../../../src/runtime/random.ts";

const season = 8;
const task = { horizon: season, season, channels: 1, targets: [0] };
/** Two are enough to see that they are chosen among. */
const specs = candidatesFor(task, 300)
  .filter(({ inputLength }) => inputLength === 2 * season)
  .slice(0, 2);

const wanted = { seed: 1, schedule: schedules.normal, members: 2 };

let engine: Engine;
before(async () => {
  engine = await openInProcessEngine({ kind: "simd" });
});
after(() => engine.close());

/** A season with noise around a level that wanders. */
function wanderingSeason(steps: number, seed = 1): Float64Array {
  const random = createRandom(seed);
  let level = 20;
  return Float64Array.from({ length: steps }, (_, t) => {
    level += 0.05 * random.normal();
    return level + 3 * Math.sin((2 * Math.PI * t) / season) + 0.4 * random.normal();
  });
}

async function train(history: Float64Array, signal?: AbortSignal) {
  const series = [{ values: history, filled: null }];
  const request = { specs, series, ...wanted, ...(signal && { signal }) };
  return { request, result: await trainCandidates(engine, request) };
}

describe("training the model of a series", () => {
  test("yields a model that knows the season, and says how good it is", async () => {
    const { request, result } = await train(wanderingSeason(260));
    assert.equal(result.outcome, "trained");
    const { model, validation } = assembleModel(request, result.candidates, {
      key: "s",
      version: "1",
      members: 2,
    });
    assert.ok(model.members.length <= 2);
    assert.ok(Math.abs(model.members.reduce((sum, { share }) => sum + share, 0) - 1) < 1e-9);
    assert.ok(validation.mase < 0.6, `validation MASE ${validation.mase}`);
    assert.ok(validation.coverage80 > 0.6 && validation.coverage80 < 0.97, `cover ${validation.coverage80}`);
    const fresh = wanderingSeason(260);
    const [answer] = await engine.forecast([{ model, window: fresh }], {
      paths: 100,
      levels: [0.1, 0.5, 0.9],
    });
    assert.ok(!(answer instanceof Error));
    const peak = answer.mean.indexOf(Math.max(...answer.mean));
    // Step h lies h + 1 after the history; the sine peaks at a quarter of the season.
    assert.equal((260 + peak) % season, season / 4);
  });

  for (const form of ["FN2", "FN"] as const) {
    test(`trains ${form} as the paper has it, and gives it an honest distribution`, async () => {
      const history = wanderingSeason(400);
      const series = [{ values: history, filled: null }];
      const request = { specs: [specOf(form, season)], series, ...wanted };
      const result = await trainCandidates(engine, request);
      assert.ok(result.outcome === "trained");
      const assembly = { key: "s", version: "1", members: 1 };
      const { model, validation } = assembleModel(request, result.candidates, assembly);
      const { residuals } = model.members[0];
      if (form === "FN") assert.equal(residuals, null);
      else assert.ok(residuals !== null && residuals.length % season === 0 && residuals[0] < residuals[10]);
      assert.ok(validation.mase < 0.7, `validation MASE ${validation.mase}`);
      assert.ok(
        validation.coverage80 > 0.65 && validation.coverage80 < 0.95,
        `cover ${validation.coverage80}`,
      );
      const decoded = decodeModel(encodeModel(model), "test");
      const options = { paths: 100, levels: [0.1, 0.5, 0.9] };
      const [answer] = await engine.forecast([{ model: decoded, window: history }], options);
      assert.ok(!(answer instanceof Error));
      for (let h = 0; h < season; h++) {
        assert.ok(
          answer.quantiles[0][h] < answer.quantiles[1][h] && answer.quantiles[1][h] < answer.quantiles[2][h],
        );
      }
    });
  }

  test("gives the same bytes for the same seed", async () => {
    const [one, other] = [await train(wanderingSeason(160)), await train(wanderingSeason(160))];
    assert.ok(one.result.outcome === "trained" && other.result.outcome === "trained");
    assert.deepEqual(one.result.candidates[0].weights, other.result.candidates[0].weights);
  });

  test("refuses a history that is too short, and says so", async () => {
    const { result } = await train(wanderingSeason(30));
    assert.equal(result.outcome, "failed");
    assert.match(
      result.outcome === "failed" ? result.reason : "",
      /30 steps in all, do not each hold 16 \+ 8 unbroken steps/,
    );
  });

  test("trains around a gap, and refuses a history that is full of them", async () => {
    const gapped = wanderingSeason(260);
    gapped.fill(Number.NaN, 100, 104);
    assert.equal((await train(gapped)).result.outcome, "trained");
    const torn = wanderingSeason(260).map((value, t) => (t % 20 === 0 ? Number.NaN : value));
    const { result } = await train(torn);
    assert.equal(result.outcome, "failed");
    assert.match(result.outcome === "failed" ? result.reason : "", /unbroken steps/);
  });

  test("can model a series that never moves", async () => {
    const { request, result } = await train(new Float64Array(200).fill(7));
    assert.equal(result.outcome, "trained");
    const { model, validation } = assembleModel(request, result.candidates, {
      key: "s",
      version: "1",
      members: 2,
    });
    assert.ok(Number.isFinite(validation.mase) && Number.isFinite(validation.crps));
    const [answer] = await engine.forecast([{ model, window: new Float64Array(80).fill(7) }], {
      paths: 20,
      levels: [0.5],
    });
    assert.ok(!(answer instanceof Error));
    for (const value of answer.mean) assert.ok(Math.abs(value - 7) < 0.05, `forecast ${value}`);
  });

  test("stops when it is told to", async () => {
    const stop = new AbortController();
    const training = train(wanderingSeason(260), stop.signal);
    stop.abort();
    assert.equal((await training).result.outcome, "cancelled");
  });
});

describe("the candidates of a series", () => {
  test("see from one season to eight, as far as the history allows", () => {
    const lengths = (steps: number) => [
      ...new Set(candidatesFor(task, steps).map(({ inputLength }) => inputLength)),
    ];
    assert.deepEqual(lengths(1_000), [8, 16, 32, 64]);
    assert.deepEqual(lengths(100), [8, 16]);
    assert.deepEqual(lengths(60), [8]);
    assert.deepEqual(lengths(50), []);
  });

  test("see at least half a horizon where the season is short", () => {
    const specs = candidatesFor({ horizon: 12, season: 1, channels: 1, targets: [0] }, 1_000);
    assert.deepEqual([...new Set(specs.map(({ inputLength }) => inputLength))], [6, 12, 24, 48]);
  });

  test("see no more than a closed-form start can be had for", () => {
    const wide = { horizon: 96, season: 96, channels: 3, targets: [0, 1, 2] };
    const specs = candidatesFor(wide, 10_000);
    assert.deepEqual([...new Set(specs.map(({ inputLength }) => inputLength))], [96, 192]);
  });

  test("of a cohort need the rows of all members together", () => {
    const each = candidatesFor(task, 50);
    assert.equal(each.length, 0);
    assert.ok(candidatesFor(task, 50, 50, 50).length > 0);
  });

  test("exist from the number of steps on that is said to be needed", () => {
    for (const shape of [task, { ...task, season: 3 }, { ...task, horizon: 2 }]) {
      const needed = stepsNeeded(shape);
      assert.ok(candidatesFor(shape, needed).length > 0, `${needed} steps`);
    }
    assert.equal(candidatesFor(task, stepsNeeded(task) - 1).length, 0);
  });
});
