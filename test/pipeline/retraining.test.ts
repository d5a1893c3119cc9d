// The retraining loop in a worker on the embedded log, with a clock moved by hand: real training, real gate, real engine.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TrainingTask } from "../../src/training/training-task.ts";
import { netOf } from "../rig/random-model.ts";
import type { Fleet } from "./support/fleet.ts";
import { hourOf } from "./support/readings.ts";
import {
  eventsOf,
  feed,
  horizon,
  kindsOf,
  noisy,
  retrainingFleet,
  trainerWith,
  wave,
} from "./support/retraining.ts";

const forecastsOf = async (fleet: Fleet, seriesId: string) =>
  (await fleet.forecasts()).filter((forecast) => forecast.seriesId === seriesId);

describe("a series with enough history", () => {
  test("is trained, passes the gate, and is served by its model from the next forecast on", async (t) => {
    const fleet = retrainingFleet(t);
    await feed(fleet, { a: noisy(wave(3, 8), 0.5, 1) }, 0, 120);
    const [requested, promoted, confirmed] = await eventsOf(fleet, "a");
    assert.deepEqual(kindsOf([requested, promoted, confirmed]), ["REQUESTED", "PROMOTED", "CONFIRMED"]);
    assert.ok(promoted.numbers.challengerMase < 0.5 * promoted.numbers.naiveMase);
    const forecasts = await forecastsOf(fleet, "a");
    const first = forecasts.findIndex(({ tier }) => tier === "MODEL");
    assert.ok(first > 0);
    for (const { tier, modelVersion } of forecasts.slice(first)) {
      assert.deepEqual([tier, modelVersion], ["MODEL", promoted.toVersion]);
    }
    const live = forecasts.at(-1)?.scores?.mase ?? Number.NaN;
    assert.ok(live < 0.5 * promoted.numbers.naiveMase, `live MASE is ${live}`);
  });

  test("stays on seasonal-naive if that is best, and the event says so", async (t) => {
    const fleet = retrainingFleet(t);
    const exact = (hour: number) => 10 + [0, 5, 2, 9, 1, 4][hour % 6];
    await feed(fleet, { a: exact }, 0, 110);
    const events = await eventsOf(fleet, "a");
    assert.deepEqual(kindsOf(events.slice(0, 2)), ["REQUESTED", "REFUSED"]);
    assert.match(events[1].reason, /seasonal-naive is best/);
    assert.ok((await forecastsOf(fleet, "a")).every(({ tier }) => tier === "COLD"));
    const { body } = await fleet.page("/models/a");
    assert.match(JSON.parse(body).verdict, /^refused: seasonal-naive is best/);
  });

  test("whose challenger is sabotaged keeps its forecaster, and the refusal has the numbers", async (t) => {
    const openTrainer = trainerWith({
      tamper: (trained) => {
        const net = netOf(trained.model);
        const [member] = net.members;
        const weights = member.weights.map((weight, i) => (i % 3 === 0 ? -4 * weight + 0.7 : weight));
        return { ...trained, model: { ...net, members: [{ ...member, weights }] } };
      },
    });
    const fleet = retrainingFleet(t, { openTrainer });
    await feed(fleet, { a: noisy(wave(3, 8), 0.5, 1) }, 0, 96);
    const [, refused] = await eventsOf(fleet, "a");
    assert.equal(refused.kind, "REFUSED");
    assert.ok(refused.numbers.challengerCrps > refused.numbers.naiveCrps);
    assert.ok((await forecastsOf(fleet, "a")).every(({ tier }) => tier === "COLD"));
  });
});

describe("a series whose amplitude and period change", () => {
  test("is called stale, trained again, promoted, and recovers; other series are left alone", async (t) => {
    const fleet = retrainingFleet(t);
    const change = 240;
    const before = noisy(wave(3, 8), 0.5, 1);
    const after = noisy(wave(9, 11), 0.5, 1);
    const laws = {
      a: (hour: number) => (hour < change ? before : after)(hour),
      b: noisy(wave(2, 9), 0.3, 2),
      c: noisy(wave(5, 12), 0.8, 3),
    };
    await feed(fleet, laws, 0, 420);
    const drifts = (await eventsOf(fleet, "a")).slice(3);
    assert.deepEqual(drifts.map(({ kind }) => kind).slice(0, 2), ["DRIFTED", "REQUESTED"]);
    const promoted = drifts.filter(({ kind }) => kind === "PROMOTED").at(-1);
    assert.ok(promoted !== undefined, "no challenger was promoted after the change");
    const { numbers } = drifts[0];
    assert.ok(numbers.rollingMase > 2.25 * numbers.validationMase);
    const last = (await forecastsOf(fleet, "a")).at(-1);
    assert.equal(last?.modelVersion, promoted.toVersion);
    const { body } = await fleet.page("/models/a");
    const { phase, scores, validationMase } = JSON.parse(body);
    assert.equal(phase, "champion");
    assert.ok(scores.mase < 2.25 * validationMase, `live MASE ${scores.mase}, validated ${validationMase}`);
    for (const other of ["b", "c"]) {
      assert.deepEqual(kindsOf(await eventsOf(fleet, other)), ["REQUESTED", "PROMOTED", "CONFIRMED"]);
    }
  });

  test("and change back after the new model is promoted gets its old model back", async (t) => {
    const usual = noisy(wave(8, 8), 0.4, 1);
    const spell = noisy(wave(3, 2.5), 0.4, 1);
    const begin = 240;
    // The model trained during the spell sees only the spell.
    const blind = (task: TrainingTask): TrainingTask => {
      if (task.reason !== "drift") return task;
      const histories = task.histories.map((history) => ({
        ...history,
        values: history.values.map((value, i) => {
          const hour = hourOf(history.firstTimeMs) + i;
          return hour < begin ? spell(hour) : value;
        }),
      }));
      return { ...task, histories };
    };
    const fleet = retrainingFleet(t, {
      openTrainer: trainerWith({ blind }),
      settings: { "retrain.probationSteps": 18 },
    });
    let end = Number.POSITIVE_INFINITY;
    const law = (hour: number) => (hour >= begin && hour < end ? spell : usual)(hour);
    await feed(fleet, { a: law }, 0, begin);
    const [, champion] = await eventsOf(fleet, "a");
    for (let hour = begin; hour < 390; hour += horizon) {
      await feed(fleet, { a: law }, hour, hour + horizon);
      const serving = (await forecastsOf(fleet, "a")).at(-1)?.modelVersion;
      if (serving !== champion.toVersion) end = Math.min(end, hour + horizon);
    }
    const events = await eventsOf(fleet, "a");
    const rollback = events.find(({ kind }) => kind === "ROLLED_BACK");
    assert.ok(rollback !== undefined, `no rollback in ${kindsOf(events)}`);
    assert.equal(rollback.toVersion, champion.toVersion);
    assert.ok(rollback.numbers.modelMase > rollback.numbers.predecessorMase);
    assert.equal((await forecastsOf(fleet, "a")).at(-1)?.modelVersion, champion.toVersion);
  });
});
