// A replay runs the product's pipeline at the times of its observations.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Replay } from "../../../src/replay/replay.ts";
import { ForecastnetError } from "../../../src/runtime/errors.ts";
import { configOf, digests, hourly, hourMs, openReplay, startMs } from "./hourly-history.ts";

const dayMs = 24 * hourMs;

describe("a replay", () => {
  const config = configOf("--retrain.where=off");

  test("dates records by its own clock, which follows the observations", async (t) => {
    const replay = await openReplay(t, config);
    await replay.feed(hourly("a", 5));
    const times = (await replay.read("forecasts")).map(({ timestampMs }) => timestampMs);
    assert.deepEqual(
      times,
      [1, 2, 3, 4].map((hour) => startMs + hour * hourMs),
    );
  });

  test("settles the observations of one time together, and takes late ones at the time of the clock", async (t) => {
    const replay = await openReplay(t, config);
    const [, , late] = [...hourly("b", 3)];
    await replay.feed([...hourly("a", 3), ...hourly("b", 2, 1), late]);
    const forecasts = await replay.forecasts();
    assert.deepEqual(
      forecasts.map(({ seriesId, origin }) => [seriesId, (origin - startMs) / hourMs]),
      [
        ["a", 1],
        ["a", 2],
        ["b", 2],
      ],
    );
    assert.equal(replay.clock.nowMs(), startMs + 2 * hourMs);
  });

  test("goes on where it was, feed after feed", async (t) => {
    const whole = await openReplay(t, config);
    await whole.feed(hourly("a", 48));
    const inParts = await openReplay(t, config);
    await inParts.feed(hourly("a", 20));
    await inParts.feed(hourly("a", 28, 20));
    assert.deepEqual(await digests(inParts, config), await digests(whole, config));
  });

  test("uses the configured formats of no topic: a registry is not asked", async (t) => {
    const inputs = "--topics.inputs=[{ topic: elsewhere, format: confluent }]";
    const registry = ["--registry.url=http://127.0.0.1:9", "--output.format=confluent"];
    const replay = await openReplay(t, configOf("--retrain.where=off", inputs, ...registry));
    await replay.feed(hourly("a", 3));
    assert.equal((await replay.forecasts()).length, 2);
  });

  test("lets periodic duties come round while nothing is fed: a silent series is forgotten in time", async (t) => {
    const replay = await openReplay(t, configOf("--retrain.where=off", "--series.forgetAfter=P2D"));
    await replay.feed(hourly("a", 30));
    const lastMs = replay.clock.nowMs();
    await replay.advanceTo(lastMs + 2 * dayMs - hourMs);
    assert.deepEqual(await replay.events(), []);
    await replay.advanceTo(lastMs + 2 * dayMs + hourMs);
    const [{ kind, time }] = await replay.events();
    assert.equal(kind, "FORGOTTEN");
    assert.ok(time - lastMs - 2 * dayMs < 10 * 60_000, "within ten minutes of its time");
  });

  test("decides before the next observation what the schedule finds after one", async (t) => {
    const short = configOf(
      "--series.horizon=6",
      "--series.season=6",
      "--retrain.members=1",
      "--engine.paths=32",
    );
    const replay = await openReplay(t, short);
    await replay.feed(hourly("a", 120));
    const [requested, promoted] = await replay.events();
    assert.deepEqual([requested.kind, promoted.kind], ["REQUESTED", "PROMOTED"]);
    const first = (await replay.forecasts()).find(({ tier }) => tier === "MODEL");
    assert.equal((first?.origin ?? 0) - Math.floor(promoted.time / hourMs) * hourMs, hourMs);
  });

  test("spreads trainings by its seed", async (t) => {
    const times: number[] = [];
    for (const seed of [1, 1, 2]) {
      const flags = [
        "--series.horizon=6",
        "--series.season=6",
        "--retrain.members=1",
        "--retrain.jitterMs=7200000",
      ];
      const replay = await openReplay(t, configOf(...flags), { seed });
      await replay.feed(hourly("a", 84));
      times.push((await replay.events())[0].time);
    }
    assert.equal(times[0], times[1]);
    assert.notEqual(times[0], times[2]);
  });

  test("cannot be opened when its worker fails, and says why", async () => {
    const broken = new ForecastnetError("ENGINE_FAILED", "no memory");
    const opening = Replay.open({ config, startMs, openEngine: () => Promise.reject(broken) });
    await assert.rejects(opening, broken);
  });
});
