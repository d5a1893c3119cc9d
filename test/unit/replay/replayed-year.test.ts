// What a replay promises of its output and of its speed: the same bytes every time, and a year in seconds.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { configOf, digests, hourly, hourMs, openReplay, startMs } from "./hourly-history.ts";

describe("two replays of 60 days with retraining", () => {
  test("write the same bytes to every topic, and the second half of them comes from models", async (t) => {
    // Small models, trained seldom: what is compared is the same, and takes less time.
    const config = configOf("--retrain.members=1", "--engine.paths=32", "--retrain.maxAgeHours=480");
    const written: Awaited<ReturnType<typeof digests>>[] = [];
    for (let run = 0; run < 2; run++) {
      const replay = await openReplay(t, config);
      await replay.feed(hourly("a", 60 * 24));
      written.push(await digests(replay, config));
      const forecasts = await replay.forecasts();
      assert.equal(forecasts.length, 60 * 24 - 1);
      const late = forecasts.slice(forecasts.length / 2);
      assert.ok(
        late.every(({ tier }) => tier === "MODEL"),
        "forecasts of the second half are the model's",
      );
      const kinds = (await replay.events()).map(({ kind }) => kind);
      assert.deepEqual(kinds.slice(0, 3), ["REQUESTED", "PROMOTED", "CONFIRMED"]);
      const serving = (await replay.models()).get("a");
      assert.equal(serving?.version, forecasts.at(-1)?.modelVersion);
    }
    assert.deepEqual(written[0], written[1]);
  });
});

describe("a year of one hourly series", () => {
  test("is replayed in full, and every observation but the first has its forecast", async (t) => {
    const replay = await openReplay(t, configOf("--retrain.where=off"));
    await replay.feed(hourly("a", 365 * 24));
    assert.equal(replay.clock.nowMs(), startMs + (365 * 24 - 1) * hourMs);
    const origins = (await replay.forecasts()).map(({ origin }) => origin);
    assert.deepEqual(
      origins,
      Array.from({ length: 365 * 24 - 1 }, (_, i) => startMs + (i + 1) * hourMs),
    );
  });
});
