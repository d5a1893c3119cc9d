// A slow log slows the whole lane down: the batches read ahead of the commits are bounded, and visible as a metric.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Fleet } from "./support/fleet.ts";
import { hourly } from "./support/readings.ts";
import { turns, until } from "./support/turns.ts";

const ramp = (length: number) => Array.from({ length }, (_, i) => i);

for (const bufferedBatches of [1, 3]) {
  test(`a lane with a buffer of ${bufferedBatches} reads no more batches than that while a commit hangs, and loses none`, async (t) => {
    const settings = { "pipeline.maxBatchRecords": 2, "pipeline.bufferedBatches": bufferedBatches };
    const fleet = Fleet.openFor(t, { settings });
    await fleet.play("settle");
    const release = fleet.connection.hold("commit");
    await fleet.play(...hourly("a", 0, ramp(100)));
    // The batch whose commit hangs, and those in the buffer.
    const bound = 1 + bufferedBatches;
    await until(() => fleet.connection.takenBatches === bound, "the buffer to fill");
    await turns(200);
    assert.equal(fleet.connection.takenBatches, bound);
    const metrics = (await fleet.page("/metrics")).body;
    assert.match(metrics, new RegExp(`^forecastnet_buffered_batches ${bufferedBatches}$`, "m"));
    assert.match(metrics, new RegExp(`^forecastnet_lag_records ${100 - 2 * bound}$`, "m"));
    release();
    await fleet.play("settle");
    assert.equal((await fleet.forecasts()).length, 99);
    assert.match((await fleet.page("/metrics")).body, /^forecastnet_buffered_batches 0$/m);
  });
}
