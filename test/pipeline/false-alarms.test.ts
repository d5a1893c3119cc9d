// Noisy but stationary series are left alone: with the default thresholds hardly any of their models is called stale.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Outgoing } from "../../src/domain.ts";
import { modelRecordCodec, toModelRecord } from "../../src/log/codec/model-record.ts";
import { createFamilies, storedFamilies } from "../../src/models/families.ts";
import type { TrainedModel } from "../../src/models/family.ts";
import { createRandom } from "../../src/runtime/random.ts";
import { trainTask } from "../../src/training/train-task.ts";
import { Fleet } from "./support/fleet.ts";
import { at, DAWN_MS, HOUR_MS } from "./support/readings.ts";
import { eventsOf, openEngine } from "./support/retraining.ts";

const seriesCount = 200;
const steps = 1_000;
const horizon = 6;
const partitions = 2;
const seriesIds = Array.from({ length: seriesCount }, (_, i) => `${i % 2 === 0 ? "a" : "b"}-${i}`);

/** A season, autocorrelated noise (0.5 at lag one), and occasional large shocks. */
function stationary(seed: number, length: number): Float64Array {
  const random = createRandom(seed);
  let carried = 0;
  return Float64Array.from({ length }, (_, hour) => {
    const shock = random.uniform() < 0.02 ? 4 : 1;
    carried = 0.5 * carried + shock * random.normal();
    return 20 + 3 * Math.sin((2 * Math.PI * hour) / 6) + carried;
  });
}

/** A model of the process that all series follow. */
async function trainOne(family: string): Promise<TrainedModel> {
  const engine = await openEngine();
  const history = { seriesId: "past", interval: "PT1H", channels: 1, filled: null, firstTimeMs: 0 };
  const plan = {
    horizon,
    season: 6,
    family,
    form: "auto",
    effort: "quick",
    members: 1,
  } as const;
  const task = { id: "past/0", modelKey: "past", reason: "new", requestedAtMs: 0 } as const;
  const result = await trainTask(
    createFamilies(engine),
    {
      ...task,
      histories: [{ ...history, values: stationary(999, 360) }],
      plan: { ...plan, holdBack: 0, recentFromMs: null },
    },
    new AbortController().signal,
  );
  await engine.close();
  assert.equal(result.outcome, "trained");
  return (result as { challengers: readonly TrainedModel[] }).challengers[0];
}

function stored(trained: TrainedModel, key: string): Outgoing {
  const model = { ...trained.model, key };
  const before = { trainedFromMs: DAWN_MS - 360 * HOUR_MS, trainedToMs: DAWN_MS - HOUR_MS };
  const facts = { requestId: null, trainedAtMs: DAWN_MS };
  const value = modelRecordCodec.encode(
    toModelRecord({ ...trained, ...before, model }, facts, storedFamilies),
  );
  const partition = key.startsWith("a") ? 0 : 1;
  return { topic: "forecastnet.models", partition, key: Buffer.from(key), value };
}

for (const family of ["forecastnet", "linear"])
  test(`at most four of 200 stationary series with ${family} models are trained again within 1,000 steps`, async (t) => {
    const trained = await trainOne(family);
    const requested: string[] = [];
    const fleet = Fleet.emptyFor(t, {
      partitions,
      openEngine,
      // Requests are noted and refused: the serving models stay.
      openTrainer: async () => ({
        train: async (tasks) => {
          requested.push(
            ...tasks.filter(({ reason }) => reason !== "refresh").map(({ modelKey }) => modelKey),
          );
          return tasks.map(() => ({ outcome: "failed", reason: "this test only counts" }) as const);
        },
        close: async () => {},
      }),
      settings: {
        ...{ "series.horizon": horizon, "series.season": 6, "series.history": 360, "engine.paths": 16 },
        ...{ "output.levels": [0.025, 0.1, 0.5, 0.9, 0.975], "retrain.where": "worker" },
        ...{
          "series.family": family,
          "retrain.maxAgeHours": 0,
          "retrain.perCycle": seriesCount,
          "retrain.inFlight": seriesCount,
        },
      },
    });
    const settings = { "max.message.bytes": "16777216" };
    await fleet.log.createTopics([{ topic: "forecastnet.models", partitions, compacted: true, settings }]);
    await fleet.log.append(seriesIds.map((id) => stored(trained, id)));
    fleet.start();
    const values = seriesIds.map((_, i) => stationary(i + 1, steps));
    for (let hour = 0; hour < steps; hour += horizon) {
      for (let ahead = hour; ahead < Math.min(steps, hour + horizon); ahead++) {
        await fleet.play(...seriesIds.map((id, i) => at(id, ahead, values[i][ahead])));
      }
      await fleet.play("settle", "turn");
    }
    const forecasts = await fleet.forecasts();
    const byModel = forecasts.filter(({ tier }) => tier === "MODEL").length;
    // The cold tier serves until the window of the model is full: up to eight seasons of six steps.
    assert.ok(byModel >= seriesCount * (steps - 48), `${byModel} forecasts were made by models`);
    const drifted = new Set(
      (await eventsOf(fleet)).filter(({ kind }) => kind === "DRIFTED").map(({ modelKey }) => modelKey),
    );
    t.diagnostic(`${drifted.size} of ${seriesCount} series were called stale`);
    assert.ok(drifted.size <= 0.02 * seriesCount, `called stale: ${[...drifted].join(", ")}`);
    assert.ok(requested.length <= 0.02 * seriesCount, `trained again: ${requested.join(", ")}`);
  });
